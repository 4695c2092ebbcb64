// What hands do: turn, move, zoom, click, drag, press.

import { remove } from "explorer/actors";
import { behaviorOf, pick } from "explorer/clicks";
import { drawCharts, refreshHistory, showGeneration } from "explorer/generations";
import { duration, restart, setPlaying, setSize, setTouring } from "explorer/playing";
import { saveFilm, savePicture } from "explorer/saving";
import { $, fail, nearestOf, place, redraw, scene, state } from "explorer/state";

export function listen() {
  listenToScene($("scene"));
  listenToTimeline($("timeline"));
  listenToControls();
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName)) return;
    if (event.key === " ") $("play").click();
    if (event.key === "ArrowRight") goTo(Math.min(state.steps.length - 1, state.step + 1));
    if (event.key === "ArrowLeft") goTo(Math.max(0, state.step - 1));
  });
  new ResizeObserver(() => {
    redraw();
    if (!state.steps.length) return;
    if (!state.touched) scene.resetCamera();
    drawCharts();
  }).observe($("stage"));
}

function listenToScene(canvas) {
  const fingers = new Map();
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    held = { x: event.offsetX, y: event.offsetY, moved: fingers.size > 1, pan: event.shiftKey || event.button !== 0 };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return hover(event.offsetX, event.offsetY);
    if (fingers.size === 2) return pinch(fingers, event);
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(held, { moved: true, x: event.offsetX, y: event.offsetY });
    (held.pan ? shift : turn)(dx, dy, canvas);
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    const isClick = held && !held.moved && event.button === 0 && event.type === "pointerup";
    if (!fingers.size) held = null;
    if (isClick && state.runs.length) pick(scene.viewAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY).catch(fail);
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, release);
  canvas.addEventListener("pointerleave", () => hover(-100, -100));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0011));
  }, { passive: false });
}

function turn(dx, dy) {
  const { camera } = scene;
  camera.yaw -= dx * 0.006;
  camera.pitch = Math.min(1.56, Math.max(0.06, camera.pitch + dy * 0.006));
  touched();
}

function shift(dx, dy, canvas) {
  const { camera } = scene;
  const unit = camera.distance / canvas.clientHeight;
  const [c, s] = [Math.cos(camera.yaw), Math.sin(camera.yaw)];
  camera.target = [camera.target[0] + unit * (s * dx - c * dy), camera.target[1] - unit * (c * dx + s * dy), 0];
  touched();
}

function zoom(factor) {
  const { camera } = scene;
  camera.distance = Math.min(8 * scene.reach, Math.max(0.02 * scene.reach, camera.distance * factor));
  touched();
}

function pinch(fingers, event) {
  const apart = () => {
    const [one, other] = [...fingers.values()];
    return Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);
  };
  const before = apart();
  fingers.set(event.pointerId, event);
  zoom(before / Math.max(1, apart()));
}

// A view that somebody has chosen is left alone when the window changes.
function touched() {
  state.touched = true;
  redraw();
}

function listenToTimeline(timeline) {
  const drag = (event) => {
    if (!event.buttons) return;
    const share = event.offsetX / timeline.clientWidth;
    const wanted = state.steps[0] + share * (state.steps.at(-1) - state.steps[0] + 1) - 0.5;
    goTo(state.steps.indexOf(nearestOf(state.steps, wanted)));
  };
  for (const name of ["pointerdown", "pointermove"]) timeline.addEventListener(name, drag);
  $("generation").addEventListener("input", () => goTo(Number($("generation").value)));
  $("generations").onclick = () => {
    if (!state.touring && state.step === state.steps.length - 1) state.step = 0;
    setTouring(!state.touring);
    if (state.touring) showGeneration().catch(fail);
  };
}

function listenToControls() {
  $("color").onchange = () => {
    scene.views.forEach((_, index) => scene.paint(index, $("color").value));
    redraw();
  };
  $("show").onchange = () => {
    scene.options.show = $("show").value;
    showGeneration().catch(fail);
  };
  $("seed").onchange = () => {
    state.seed = Number($("seed").value);
    Promise.all([showGeneration(), refreshHistory()]).catch(fail);
  };
  $("size").oninput = setSize;
  $("play").onclick = () => (state.time >= duration() ? restart() : setPlaying(!state.playing));
  $("time").addEventListener("input", () => {
    setPlaying(false);
    state.time = Number($("time").value);
  });
  $("follow").onchange = () => ($("follow").checked ? comeNear() : goHome());
  $("clear").onclick = () => {
    [...state.actors].forEach(remove);
    scene.views.forEach((view) => (view.pool = null));
    redraw();
  };
  $("home").onclick = goHome;
  $("png").onclick = () => savePicture().catch(fail);
  for (const format of ["mp4", "gif"]) $(format).onclick = () => saveFilm(format).catch(fail);
}

// Near enough to see how it walks, yet with some of the ground around it.
function comeNear() {
  scene.camera.distance = Math.min(scene.camera.distance, 1.3 * scene.reach * (scene.views[0].run.dimensions === 1 ? 2.5 : 1));
  redraw();
}

function goHome() {
  $("follow").checked = false;
  state.touched = false;
  scene.resetCamera();
  redraw();
}

function goTo(step) {
  if (step === state.step) return;
  setTouring(false);
  state.step = step;
  showGeneration().catch(fail);
}

function hover(x, y) {
  if (!scene.views.length) return;
  const index = scene.viewAt(x, y);
  const row = x < 0 ? null : scene.memberAt(index, x, y);
  $("tooltip").hidden = row === null;
  scene.views.forEach((view, k) => {
    const hovered = k === index ? row : null;
    if (view.hover !== hovered) redraw();
    view.hover = hovered;
  });
  if (row === null) return;
  const view = scene.views[index];
  const { cloud } = view;
  $("tooltip").textContent = `member ${cloud.index.data[row]} at ${place(view.run, behaviorOf(view, row))}\nfitness ${cloud.fitness.data[row].toFixed(2)}`;
  Object.assign($("tooltip").style, { left: `${Math.min(x + 14, $("stage").clientWidth - $("tooltip").clientWidth - 4)}px`, top: `${y + 12}px` });
}
