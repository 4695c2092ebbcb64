// The generation that is shown, of every run; it stays at the end of runs that are still training.

import { axesOf } from "explorer/axes";
import { describe, listMetrics, refreshCurves, refreshHistory, showNow } from "explorer/panel";
import { addressOf, ask, askArrays, generationNow, obstacle, rows, shownOf } from "explorer/runs";
import { $, element, redraw, scene, state } from "explorer/stage";

const LOOK_AGAIN = 2000; // milliseconds between looks at runs that are still training
const RESTS = 350; // milliseconds after which a slider is said to rest
const GENERATIONS_PER_SECOND = 10; // that go by, if they do

export function setSteps() {
  state.steps = [...new Set(state.runs.flatMap((run) => run.recorded))].toSorted((a, b) => a - b);
  $("generation").max = state.steps.length - 1;
}

export async function showGeneration() {
  const asked = state.step;
  $("generation").value = asked;
  $("now").replaceChildren("generation", element("b", generationNow().toLocaleString()));
  const addresses = state.runs.map((run) => addressOf(run, shownOf(run)));
  const clouds = await Promise.all(addresses.map((address) => askArrays(`cloud?${address}`)));
  if (asked !== state.step) return; // the slider has moved on
  clouds.forEach((cloud, index) => showCloud(state.runs[index], cloud, addresses[index]));
  $("selection").hidden = !scene.views.some((view) => view.chosen);
  state.drawn = asked;
  redraw();
  showRemark();
  showNow();
  clearTimeout(state.resting);
  state.resting = setTimeout(() => {
    listMetrics();
    markCenters();
  }, RESTS);
}

function showCloud(run, cloud, address) {
  const view = scene.views[run.index];
  if (view.address !== address) view.chosen = null; // it was of another cloud
  const [members, all] = [cloud.index.data, cloud.members.data[0]];
  const count = members.length.toLocaleString() + (members.length < all ? ` of ${all.toLocaleString()}` : "");
  const subtitle = `generation ${shownOf(run).toLocaleString()} · ${count} mutations`;
  Object.assign(view, { address, subtitle, centers: [] });
  scene.hover = null;
  scene.setCloud(run.index, cloud);
}

// What cannot be watched is said before somebody clicks.
export function showRemark() {
  const remarks = state.runs.map((run) => obstacle(run) || run.note);
  $("remark").textContent = [...new Set(remarks.filter(Boolean))].join(" ");
  $("clicks").hidden = !state.runs.some((run) => run.playable !== false && run.rebuildable.length);
}

// The center is simulated once the slider rests.
export async function markCenters() {
  const asked = state.step;
  for (const run of state.runs) {
    const generation = shownOf(run);
    if (!run.playable || !run.rebuildable.includes(generation)) continue;
    const answer = await askArrays(`center?${addressOf(run, generation)}`).catch(() => null);
    if (!answer || asked !== state.step) return;
    scene.views[run.index].centers = rows(answer.behavior);
    redraw();
  }
}

export function goTo(wanted) {
  const step = Math.min(state.steps.length - 1, Math.max(0, wanted));
  if (step === state.step) return;
  setTouring(false);
  state.step = step;
  showGeneration();
}

function setTouring(touring) {
  state.touring = touring;
  $("generations").textContent = touring ? "❚❚" : "▶";
}

// Generations go by, from the first one if the last is shown, or rest.
export function tourOrNot() {
  if (!state.touring && state.step === state.steps.length - 1) goTo(0);
  setTouring(!state.touring);
}

let toured = 0;
export function tour(now) {
  if (!state.touring || state.drawn !== state.step || now - toured < 1000 / GENERATIONS_PER_SECOND) return;
  toured = now;
  goTo(state.step + 1);
  setTouring(state.step < state.steps.length - 1);
}

// While a run trains, its new generations appear; a slider at the end stays at the end.
export function follow() {
  const timer = setInterval(async () => {
    if (!document.hidden) await lookAgain();
    if (state.runs.every((run) => run.done)) clearInterval(timer);
  }, LOOK_AGAIN);
}

async function lookAgain() {
  const { runs } = await (await ask("overview")).json();
  const before = state.steps.length;
  runs.forEach((run, k) => Object.assign(state.runs[k], run));
  setSteps();
  describe();
  const { reach } = axesOf(state.runs, scene.chosen);
  // Not at every look: a scale that always changes is hard to read.
  if (reach > 1.25 * scene.reach || reach < 0.7 * scene.reach) scene.setAxes(scene.chosen);
  if (state.steps.length === before) return;
  if (state.step === before - 1) state.step = state.steps.length - 1;
  await Promise.all([showGeneration(), refreshCurves(), refreshHistory()]);
}
