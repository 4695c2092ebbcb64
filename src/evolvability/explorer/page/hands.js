// What hands do: turn, move, zoom, click, drag, press.

import { remove } from "explorer/actors";
import { steer } from "explorer/camera";
import { pick } from "explorer/clicks";
import { drawCurves, obstacle, refreshHistory, showGeneration } from "explorer/generations";
import { duration, restart, setPlaying, setSize, setTouring } from "explorer/playing";
import { saveFilm, savePicture } from "explorer/saving";
import { $, fail, nearestOf, place, redraw, row, scene, state } from "explorer/state";

export function listen() {
  steer($("scene"), scene, {
    click: (x, y) => state.runs.length && pick(scene.viewAt(x, y), x, y).catch(fail),
    changed() {
      state.touched = true; // a view that somebody has chosen is left alone when the window changes
      redraw();
    },
    hover,
  });
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
