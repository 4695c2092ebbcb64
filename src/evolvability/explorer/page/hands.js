// What hands do: turn, move, zoom, click, drag, press.

import { remove } from "explorer/actors";
import { pick } from "explorer/clicks";
import { drawCurves, obstacle, refreshHistory, showGeneration } from "explorer/generations";
import { duration, restart, setPlaying, setSize, setTouring } from "explorer/playing";
import { saveFilm, savePicture } from "explorer/saving";
import { $, fail, nearestOf, place, redraw, row, scene, state } from "explorer/state";

const CLICK_PIXELS = 4; // a hand that moves less has clicked

export function listen() {
  listenToScene($("scene"));
  listenToTimeline($("timeline"));
  listenToControls();
  document.addEventListener("keydown", ({ key, target }) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(target.tagName)) return; // they have keys of their own
    if (key === " ") $("play").click();
    if (key === "s") $("select").click();
    if (key === "ArrowRight") goTo(state.step + 1);
    if (key === "ArrowLeft") goTo(state.step - 1);
  });
  new ResizeObserver(() => {
    if (state.steps.length && !state.touched) scene.resetCamera();
    redraw();
  }).observe($("stage"));
}

function listenToScene(canvas) {
  const fingers = new Map();
  let held = null;
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    held = { x: event.offsetX, y: event.offsetY, moved: fingers.size > 1, pan: event.shiftKey || event.button !== 0 };
  };
  canvas.onpointermove = (event) => {
    if (!held) return hover(event.offsetX, event.offsetY);
    if (fingers.size === 2) return pinch(fingers, event);
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < CLICK_PIXELS) return;
    Object.assign(held, { moved: true, x: event.offsetX, y: event.offsetY });
    (held.pan ? shift : turn)(dx, dy);
  };
  canvas.onpointerup = canvas.onpointercancel = ({ type, button, pointerId, offsetX, offsetY }) => {
    fingers.delete(pointerId);
    const isClick = held && !held.moved && button === 0 && type === "pointerup";
    if (!fingers.size) held = null;
    if (isClick && state.runs.length) pick(scene.viewAt(offsetX, offsetY), offsetX, offsetY).catch(fail);
  };
  canvas.onpointerleave = () => hover(-100, -100);
  canvas.oncontextmenu = (event) => event.preventDefault(); // the right button moves
  canvas.onwheel = (event) => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0011));
  };
}

// A view that somebody has chosen is left alone when the window changes.
function setCamera(values) {
  Object.assign(scene.camera, values);
  state.touched = true;
  redraw();
}

function turn(dx, dy) {
  const { yaw, pitch } = scene.camera;
  setCamera({ yaw: yaw - dx * 0.006, pitch: Math.min(1.56, Math.max(0.06, pitch + dy * 0.006)) });
}

function shift(dx, dy) {
  const { target: [x, y], yaw, distance } = scene.camera;
  const unit = distance / $("scene").clientHeight;
  const [c, s] = [unit * Math.cos(yaw), unit * Math.sin(yaw)];
  setCamera({ target: [x + s * dx - c * dy, y - c * dx - s * dy, 0] });
}

function zoom(factor) {
  const { reach, camera } = scene;
  setCamera({ distance: Math.min(8 * reach, Math.max(0.02 * reach, camera.distance * factor)) });
}

const apart = ([one, other]) => Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);

function pinch(fingers, event) {
  const before = apart([...fingers.values()]);
  fingers.set(event.pointerId, event);
  zoom(before / Math.max(1, apart([...fingers.values()])));
}

function listenToTimeline(timeline) {
  timeline.onpointerdown = timeline.onpointermove = (event) => {
    if (!event.buttons) return;
    const [first, last] = [state.steps[0], state.steps.at(-1)];
    const wanted = first + (event.offsetX / timeline.clientWidth) * (last - first + 1) - 0.5;
    goTo(state.steps.indexOf(nearestOf(state.steps, wanted)));
  };
  $("generation").oninput = () => goTo(Number($("generation").value));
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
    drawCurves();
    Promise.all([showGeneration(), refreshHistory()]).catch(fail);
  };
  $("size").oninput = setSize;
  $("play").onclick = () => (state.time >= duration() ? restart() : setPlaying(!state.playing));
  $("time").oninput = () => {
    setPlaying(false);
    state.time = Number($("time").value);
  };
  $("follow").onchange = () => ($("follow").checked ? comeNear() : goHome());
  $("clear").onclick = () => {
    [...state.actors].forEach(remove);
    scene.views.forEach((_, index) => scene.setPool(index, []));
  };
  $("home").onclick = goHome;
  $("png").onclick = () => savePicture().catch(fail);
  for (const format of ["mp4", "gif"]) $(format).onclick = () => saveFilm(format).catch(fail);
}

// Near enough to see how it walks, yet with some of the ground around it.
function comeNear() {
  const near = (state.runs[0].flat ? 3.25 : 1.3) * scene.reach;
  scene.camera.distance = Math.min(scene.camera.distance, near);
  redraw();
}

function goHome() {
  $("follow").checked = state.touched = false;
  scene.resetCamera();
  redraw();
}

function goTo(wanted) {
  const step = Math.min(state.steps.length - 1, Math.max(0, wanted));
  if (step === state.step) return;
  setTouring(false);
  state.step = step;
  showGeneration().catch(fail);
}

// Says who lies under the mouse, and marks it.
function hover(x, y) {
  if (!scene.views.length) return;
  const over = scene.viewAt(x, y);
  const found = x < 0 ? null : scene.memberAt(over, x, y);
  $("tooltip").hidden = found === null;
  for (const [index, view] of scene.views.entries()) {
    const hovered = index === over ? found : null;
    if (view.hover !== hovered) redraw();
    view.hover = hovered;
  }
  if (found === null) return;
  const { cloud, run } = scene.views[over];
  const who = `member ${cloud.index.data[found]} at ${place(run, row(cloud.behavior, found))}`;
  const only = obstacle(run) ? "\ncannot be watched" : "";
  $("tooltip").textContent = `${who}\nfitness ${cloud.fitness.data[found].toFixed(2)}${only}`;
  const left = Math.min(x + 14, $("stage").clientWidth - $("tooltip").clientWidth - 4);
  Object.assign($("tooltip").style, { left: `${left}px`, top: `${y + 12}px` });
}
