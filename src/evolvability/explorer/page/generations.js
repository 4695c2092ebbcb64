// The generation that is shown, and what surrounds it: history, curves, metrics, configuration; live during training.

import { askArrays, askTable, isStatic, remembering } from "explorer/answers";
import { axesOf } from "explorer/axes";
import { chart, historyMap, labeled } from "explorer/charts";
import { css, kind } from "explorer/colors";
import { element } from "explorer/elements";
import { $, addressOf, fail, generationNow, redraw } from "explorer/state";
import { rows, scene, seedOf, shownOf, state } from "explorer/state";

const LOOK_AGAIN = 2000; // milliseconds between looks at runs that are still training
const RESTS = 350; // milliseconds after which a slider is said to rest
const CURVES = ["entropy", "variance", "distance", "fitness_mean"];

const cloudOf = remembering(48);
const centerOf = remembering(64);

export function setSteps() {
  state.steps = [...new Set(state.runs.flatMap((run) => run.recorded))].toSorted((a, b) => a - b);
  $("generation").max = state.steps.length - 1;
}

export async function showGeneration() {
  const asked = state.step;
  $("generation").value = asked;
  $("now").replaceChildren("generation", element("b", generationNow().toLocaleString()));
  const clouds = await Promise.all(state.runs.map((run) => cloudOf(`cloud?${addressOf(run, shownOf(run))}`)));
  if (asked !== state.step) return; // the slider has moved on
  clouds.forEach((cloud, index) => showCloud(state.runs[index], cloud));
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

// A file has the mutations of its last center alone.
export const freshGeneration = (run) =>
  run.rebuildable.includes(shownOf(run)) && !isStatic ? shownOf(run) : run.rebuildable.at(-1);

// Why members of the generation shown cannot be watched; empty if they can, or if nobody knows yet.
export function obstacle(run) {
  const generation = shownOf(run);
  if (run.playable === false) return `Mutations of this run cannot be evaluated here: ${run.why}`;
  if (!run.rebuildable.length) return "No center of this run was kept, so its mutations cannot be rebuilt and watched.";
  const fresh = `fresh mutations of the center of generation ${freshGeneration(run)}`;
  if (isStatic) return run.embedded ? "" : `No recorded generation's center was kept: this file has ${fresh} only.`;
  if (run.rebuildable.includes(generation)) return "";
  return `The center of generation ${generation} was not kept, so its members cannot be watched; ${fresh} can.`;
}

// Says so before somebody clicks.
export function showRemark() {
  const remarks = state.runs.map((run) => obstacle(run) || run.note);
  $("remark").textContent = [...new Set(remarks.filter(Boolean))].join(" ");
  $("clicks").hidden = !state.runs.some((run) => run.playable !== false && run.rebuildable.length);
}

function showCloud(run, cloud) {
  const { index, embedded } = run;
  if (scene.views[index].cloud !== cloud) scene.views[index].chosen = null; // it was of another cloud
  scene.setCloud(index, cloud, $("color").value);
  const view = scene.views[index];
  const [members, all] = [cloud.index.data, cloud.members.data[0]];
  const count = members.length.toLocaleString() + (members.length < all ? ` of ${all.toLocaleString()}` : "");
  view.subtitle = `generation ${shownOf(run).toLocaleString()} · ${count} mutations`;
  Object.assign(view, { centers: [], hover: null, marked: [] });
  if (embedded?.generation === shownOf(run))
    view.marked = embedded.members.map((member) => scene.spot(index, members.indexOf(member)));
}

// The center is simulated once the slider rests. A file has the last one alone.
export async function markCenters() {
  const asked = state.step;
  for (const run of state.runs) {
    const shown = shownOf(run);
    const generation = isStatic && shown === run.recorded.at(-1) ? run.rebuildable.at(-1) : shown;
    if (!run.playable || !run.rebuildable.includes(generation)) continue;
    const answer = await centerOf(`center?${addressOf(run, generation)}`).catch(() => null);
    if (!answer || asked !== state.step) return;
    scene.views[run.index].centers = rows(answer.behavior);
    redraw();
  }
}

export async function refreshCurves() {
  for (const run of state.runs) run.curves = await askArrays(`curves?run=${run.index}`);
  $("legend").replaceChildren(...(state.runs.length > 1 ? state.runs.map(named) : []));
  drawCurves();
  showNow();
  listMetrics();
}

const named = (run) => element("span", run.name, { style: `color:${css(kind(run.index))}` });
const lastGeneration = () => Math.max(1, state.steps.at(-1), ...state.runs.map((run) => run.generations - 1));

export function drawCurves() {
  const shown = CURVES.filter((metric) => state.runs.some((run) => run.curves?.[metric]));
  const how = { seed: state.seed, last: lastGeneration() };
  $("curves").replaceChildren(...shown.map((metric) => chart(metric, state.runs, how)));
}

export async function refreshHistory() {
  const answers = state.runs.map((run) => askArrays(`history?run=${run.index}&seed=${seedOf(run)}`));
  const histories = await Promise.all(answers);
  $("timeline").replaceChildren(...histories.map((history, k) => historyOf(state.runs[k], history)), element("i", ""));
  showNow();
}

function historyOf({ name, flat, unit, behavior }, history) {
  const reach = `${Number(history.reach.data[0].toPrecision(2))}${unit}`;
  const high = `${flat ? behavior[0].replace(/ \(.+\)$/, "") : "distance"} ${reach}`;
  const low = flat ? `−${reach}` : `0${unit}`;
  const map = historyMap(history, state.steps[0], state.steps.at(-1));
  return labeled("history", { high, low, name: state.runs.length > 1 ? name : "" }, map);
}

// Moves the cursors of timeline and curves to the generation shown.
function showNow() {
  const [first, last, now] = [state.steps[0], state.steps.at(-1), generationNow()];
  $("timeline").style.setProperty("--now", (now - first + 0.5) / (last - first + 1));
  $("curves").style.setProperty("--now", now / lastGeneration());
}

// Every metric of the generation shown, of the seed shown.
function listMetrics() {
  const runs = state.runs.filter((run) => run.curves?.generation.data.length);
  const { generation, ...metrics } = Object.assign({}, ...runs.map((run) => run.curves));
  const line = (name) => [name.replaceAll("_", " ")].concat(runs.map((run) => valueNow(run, name)));
  const lines = Object.keys(metrics).toSorted().map(line);
  $("metrics").replaceChildren(table(runs, lines));
}

function valueNow(run, name) {
  const generations = run.curves.generation.data;
  const point = Math.max(0, generations.findLastIndex((generation) => generation <= generationNow()));
  const value = run.curves[name]?.data[seedOf(run) * generations.length + point];
  return Number.isFinite(value) ? value.toLocaleString(undefined, { maximumSignificantDigits: 5 }) : "";
}

// Tables within tables become lines with dots in their names.
const flattened = (values, prefix = "") =>
  Object.entries(values).flatMap(([key, value]) =>
    value?.constructor === Object ? flattened(value, `${prefix}${key}.`) : [[prefix + key, value]],
  );

export function describe() {
  const text = state.runs.map((run) => {
    const done = run.done ? "complete" : `training: generation ${run.recorded.at(-1) + 1} of ${run.generations}`;
    return `${run.config.task_options?.env || run.task} · ${run.method} · ${done}`;
  });
  $("status").replaceChildren(...[...new Set(text)].map((line) => element("div", line)));
  const settings = (run) => flattened(run.config).concat(flattened(run.environment, "made with "));
  const tables = state.runs.map((run) => new Map(settings(run)));
  const keys = [...new Set(tables.flatMap((one) => [...one.keys()]))];
  const lines = keys.map((key) => [key, ...tables.map((one) => String(one.get(key) ?? ""))]);
  $("config").replaceChildren(table(state.runs, lines));
}

function table(runs, lines) {
  const line = (cells, tag) => element("tr", "", {}, cells.map((cell) => element(tag, cell)));
  const head = runs.length > 1 ? [line(["", ...runs.map((run) => run.name)], "th")] : [];
  return element("table", "", {}, [...head, ...lines.map((cells) => line(cells, "td"))]);
}

// While a run trains, its new generations appear; a slider at the end stays at the end.
export function follow() {
  setTimeout(async () => {
    if (!document.hidden) await lookAgain().catch(fail);
    if (!state.runs.every((run) => run.done)) follow();
  }, LOOK_AGAIN);
}

async function lookAgain() {
  const { runs } = await askTable("overview");
  const before = state.steps.length;
  runs.forEach(({ recorded, rebuildable, done, reach, ranges }, k) =>
    Object.assign(state.runs[k], { recorded, rebuildable, done, reach, ranges }),
  );
  setSteps();
  describe();
  const { reach } = axesOf(state.runs, scene.chosen);
  // Not at every look: a scale that always changes is hard to read.
  if (reach > 1.25 * scene.reach || reach < 0.7 * scene.reach) scene.setAxes(scene.chosen);
  if (state.steps.length === before) return;
  if (state.step === before - 1) state.step = state.steps.length - 1;
  await Promise.all([showGeneration(), refreshCurves(), refreshHistory()]);
}
