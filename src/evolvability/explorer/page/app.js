// The page: it starts here, and does what hands ask for.

import { remove, savePicture, saveVideo } from "explorer/actors";
import { axesOf, unitOfAll } from "explorer/axes";
import { follow, goTo, markCenters, setSteps, showGeneration, showRemark, tour, tourOrNot } from "explorer/generations";
import { describe, drawCurves, refreshCurves, refreshHistory } from "explorer/panel";
import { listenToSelection, pick, pickRow } from "explorer/picking";
import { ask, episodesOf, nearestOf, obstacle, place, row, spread } from "explorer/runs";
import { $, animate, goHome, redraw, scene, state, steer, zoom } from "explorer/stage";

const AXES = ["across", "along", "above"];

async function start() {
  const { runs, together, max_robots: most } = await (await ask("overview")).json();
  Object.assign(state, { together, most });
  state.runs = runs.map((run, index) => {
    const dimensions = run.behavior.length;
    return { ...run, index, dimensions, flat: dimensions === 1, unit: unitOfAll(run.behavior) };
  });
  const [run] = state.runs;
  offer(run);
  document.title = `${run.name} · Evolvability ES`;
  scene.setRuns(state.runs);
  showAxes();
  setSteps();
  state.step = state.steps.length - 1;
  await showGeneration();
  listen();
  animate(window.explorer, tour, draw);
  describe();
  await Promise.all([refreshCurves(), refreshHistory(), ...state.runs.map(prepareRobot)]);
  // Where nothing walks, the ground need not have one scale in both directions.
  const known = axesOf(state.runs, scene.chosen);
  if (["isOwn", "reach", "walks"].some((name) => known[name] !== scene[name])) scene.setAxes(scene.chosen);
  markCenters(); // the slider may have rested before the task was there
  follow();
}

// What can be chosen depends on the run.
function offer({ behavior, seeds, flat }) {
  if (flat) $("direction").remove();
  $("show").parentElement.hidden = flat;
  $("seeds").hidden = seeds.length < 2;
  $("axes").hidden = behavior.length < 3;
  for (const [at, seed] of seeds.entries()) $("seed").add(new Option(seed, at));
  for (const id of behavior.length < 3 ? [] : ["color", ...AXES])
    for (const [at, name] of behavior.entries()) $(id).add(new Option(name, at));
}

async function prepareRobot(run) {
  try {
    Object.assign(run, await (await ask(`robot?run=${run.index}`)).json(), { playable: true });
  } catch (error) {
    Object.assign(run, { playable: false, moves: false, why: error.message });
  }
  showRemark();
  const large = run.robot && Math.round(scene.reach / (9 * run.robot.extent));
  if (run.robot && $("sizes").hidden) setSize(Math.min(12, Math.max(1, large)));
  redraw();
}

function setSize(size) {
  scene.options.size = $("size").value = size;
  $("sized").textContent = `× ${size}`;
  $("sizes").hidden = false;
  redraw();
}

function draw() {
  const followed = state.actors.at(-1);
  if ($("follow").checked && followed?.path) scene.camera.target = scene.position(followed);
  scene.draw();
}

function listen() {
  steer(pick, hover);
  listenToTimeline($("timeline"));
  listenToSelection();
  document.addEventListener("keydown", press);
  for (const id of ["color", "show"])
    $(id).onchange = () => {
      scene.options[id] = $(id).value;
      scene.setClouds();
      redraw();
    };
  for (const [k, id] of AXES.entries()) $(id).onchange = () => chooseAxis(k);
  $("seed").onchange = () => {
    state.seed = Number($("seed").value);
    drawCurves();
    showGeneration();
    refreshHistory();
  };
  $("size").oninput = () => setSize(Number($("size").value));
  $("clear").onclick = () => {
    state.actors.forEach(remove);
    scene.views.forEach((_, index) => scene.setPool(index, []));
  };
  $("home").onclick = () => {
    $("follow").checked = false;
    goHome();
  };
  $("follow").onchange = () => ($("follow").checked ? zoom(0.5) : goHome());
  $("png").onclick = savePicture;
  for (const format of ["mp4", "gif"]) $(format).onclick = () => saveVideo(format);
}

function listenToTimeline(timeline) {
  timeline.onpointerdown = timeline.onpointermove = (event) => {
    if (!event.buttons) return;
    const [first, last] = [state.steps[0], state.steps.at(-1)];
    const wanted = first + (event.offsetX / timeline.clientWidth) * (last - first + 1) - 0.5;
    goTo(state.steps.indexOf(nearestOf(state.steps, wanted)));
  };
  $("generation").oninput = () => goTo(Number($("generation").value));
  $("generations").onclick = tourOrNot;
}

function press({ key, target }) {
  if (["INPUT", "SELECT", "BUTTON"].includes(target.tagName)) return; // they have keys of their own
  if (key === " ") $("play").click();
  if (key === "s") $("select").click();
  if (key === "ArrowRight") goTo(state.step + 1);
  if (key === "ArrowLeft") goTo(state.step - 1);
}

const showAxes = () => AXES.forEach((id, k) => ($(id).value = scene.chosen[k] ?? ""));

// No behavior lies along two axes: the one that had it takes what this one had before, or what is free.
function chooseAxis(k) {
  const wanted = AXES.map((id) => $(id).value);
  const other = wanted.findIndex((value, j) => j !== k && value === wanted[k]);
  const free = Array.from($("across").options, ({ value }) => value).find((value) => !wanted.includes(value));
  if (other >= 0) wanted[other] = scene.chosen[k] ?? free;
  scene.setAxes(wanted.filter((value) => value !== "").map(Number));
  showAxes();
  for (const actor of state.actors) actor.target = null; // a place on another ground
  redraw();
}

// Says who lies under the mouse, and marks it.
function hover(x, y) {
  const run = state.runs[scene.viewAt(x, y)];
  const k = scene.memberAt(run.index, x, y);
  if (k !== (scene.hover?.row ?? null)) redraw();
  const episodes = k === null ? [] : episodesOf(run.cloud, k);
  scene.hover = k === null ? null : { run: run.index, row: k, text: whoIs(run, k, episodes), episodes };
}

function whoIs(run, k, episodes) {
  const { behavior, index, fitness } = run.cloud;
  const apart = episodes.length ? `, ${spread(run, episodes)}` : "";
  const only = obstacle(run) ? ", cannot be watched" : "";
  const where = `member ${index.data[k]} at ${place(run, row(behavior, k))}`;
  return `${where}, fitness ${fitness.data[k].toFixed(2)}${apart}${only}`;
}

// For a console, and for tests: what is shown and where.
window.explorer = { state, scene, pick: pickRow, frames: 0 };
start();
