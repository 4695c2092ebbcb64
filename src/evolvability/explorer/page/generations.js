// The generation that is shown, and what surrounds it: history, curves, metrics, configuration; live while a run trains.

import { askArrays, askTable, isStatic, remembering } from "explorer/answers";
import { drawCurves, drawTimeline, historyPicture } from "explorer/charts";
import { css, kind } from "explorer/colors";
import { $, addressOf, element, generationNow, redraw, rows, say, scene, seedOf, shownOf, state } from "explorer/state";

const KEPT_CLOUDS = 48;
const LOOK_AGAIN = 2000; // milliseconds between looks at runs that are still training
const RESTS = 350; // milliseconds after which a slider is said to rest
const CURVES = ["entropy", "variance", "distance", "fitness_mean"];

const cloudOf = remembering(KEPT_CLOUDS, (question) => askArrays(question));
const centerOf = remembering(64, (question) => askArrays(question));

export function setSteps() {
  const all = new Set(state.runs.flatMap((run) => run.recorded));
  state.steps = [...all].sort((a, b) => a - b);
  $("generation").max = state.steps.length - 1;
}

export async function showGeneration() {
  const asked = state.step;
  $("generation").value = asked;
  $("now").replaceChildren("generation", element("b", generationNow().toLocaleString()));
  const clouds = await Promise.all(state.runs.map((run) => cloudOf(`cloud?${addressOf(run, shownOf(run))}`)));
  if (asked !== state.step) return; // the slider has moved on
  clouds.forEach((cloud, index) => showCloud(state.runs[index], cloud));
  state.drawn = asked;
  redraw();
  drawHistory();
  clearTimeout(state.resting);
  state.resting = setTimeout(() => {
    drawCharts();
    markCenters(asked);
  }, RESTS);
}

function showCloud(run, cloud) {
  const view = scene.views[run.index];
  scene.setCloud(run.index, cloud, $("color").value);
  const [count, all] = [cloud.index.data.length, cloud.members.data[0]];
  const some = count < all ? ` of ${all.toLocaleString()}` : "";
  Object.assign(view, { title: run.name, subtitle: `generation ${shownOf(run).toLocaleString()} · ${count.toLocaleString()}${some} mutations`, centers: null, hover: null, marked: [] });
  if (run.embedded && run.embedded.generation === shownOf(run)) {
    const held = new Set(run.embedded.members);
    cloud.index.data.forEach((member, row) => held.has(member) && view.marked.push([view.places[2 * row], view.places[2 * row + 1]]));
  }
}

// The center is simulated once the slider rests.
async function markCenters(asked) {
  for (const run of state.runs) {
    const generation = shownOf(run);
    const known = isStatic ? (generation === run.recorded.at(-1) ? run.rebuildable.at(-1) : null) : generation;
    if (!run.playable || !run.rebuildable.includes(known)) continue;
    try {
      const { behavior } = await centerOf(`center?${addressOf(run, known)}`);
      if (asked !== state.step) return;
      scene.views[run.index].centers = rows(behavior);
      redraw();
    } catch {
      return;
    }
  }
}

export async function refreshCurves() {
  for (const run of state.runs) run.curves = await askArrays(`curves?run=${run.index}`);
  $("legend").replaceChildren(...(state.runs.length > 1 ? state.runs.map((run) => element("span", run.name, { style: `color:${css(kind(run.index))}` })) : []));
  const shown = CURVES.filter((metric) => state.runs.some((run) => run.curves[metric]));
  if ($("curves").childElementCount !== shown.length)
    $("curves").replaceChildren(...shown.map((metric) => element("canvas", "", { "data-metric": metric })));
  drawCharts();
}

export async function refreshHistory() {
  for (const run of state.runs) {
    const history = await askArrays(`history?run=${run.index}&seed=${seedOf(run)}`);
    run.picture = historyPicture(history);
    run.from = history.generation.data[0];
    run.to = history.generation.data.at(-1);
    state.historyReach = history.reach.data[0];
  }
  drawCharts();
}

function drawHistory() {
  const [run] = state.runs;
  const label = run.dimensions === 1 ? run.behavior[0] : "distance";
  drawTimeline($("timeline"), state.runs, { first: state.steps[0], last: state.steps.at(-1), now: generationNow(), label, reach: state.historyReach ?? scene.reach, dimensions: run.dimensions, unit: run.unit });
}

export function drawCharts() {
  drawHistory();
  for (const canvas of $("curves").children) drawCurves(canvas, canvas.dataset.metric, state.runs, { seed: state.seed, now: generationNow() });
  listMetrics();
}

// Every metric of the generation shown, of the seed shown.
function listMetrics() {
  const runs = state.runs.filter((run) => run.curves?.generation.data.length);
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.curves)))].filter((name) => name !== "generation").sort();
  const value = (run, name) => {
    if (!run.curves[name]) return "";
    const generations = run.curves.generation.data;
    let point = generations.findLastIndex((generation) => generation <= generationNow());
    if (point < 0) point = 0;
    const found = run.curves[name].data[seedOf(run) * generations.length + point];
    return Number.isFinite(found) ? Number(found.toPrecision(5)).toLocaleString(undefined, { maximumSignificantDigits: 5 }) : "";
  };
  $("metrics").replaceChildren(table(runs, names.map((name) => [name.replaceAll("_", " "), ...runs.map((run) => value(run, name))])));
}

export function describe() {
  const text = state.runs.map((run) => {
    const done = run.done ? "complete" : `training: generation ${run.recorded.at(-1) + 1} of ${run.generations}`;
    return `${run.config.task_options?.env || run.task} · ${run.method} · ${done}`;
  });
  $("status").replaceChildren(...[...new Set(text)].map((line) => element("div", line)));
  const isTable = (value) => value && typeof value === "object" && !Array.isArray(value);
  const flat = (values, prefix = "") => Object.entries(values).flatMap(([key, value]) => (isTable(value) ? flat(value, `${prefix}${key}.`) : [[prefix + key, value]]));
  const tables = state.runs.map((run) => new Map([...flat(run.config), ...flat(run.environment, "made with ")]));
  const keys = [...new Set(tables.flatMap((one) => [...one.keys()]))];
  $("config").replaceChildren(table(state.runs, keys.map((key) => [key, ...tables.map((one) => String(one.get(key) ?? ""))])));
}

function table(runs, lines) {
  const head = runs.length > 1 ? [element("tr", "", {}, [element("th", ""), ...runs.map((run) => element("th", run.name))])] : [];
  return element("table", "", {}, [...head, ...lines.map((cells) => element("tr", "", {}, cells.map((cell) => element("td", cell))))]);
}

// While a run trains, its new generations appear; a slider at the end stays at the end.
export function follow() {
  setTimeout(async () => {
    if (!document.hidden) await lookAgain().catch((error) => say(error.message));
    if (!state.runs.every((run) => run.done)) follow();
  }, LOOK_AGAIN);
}

async function lookAgain() {
  const answer = await askTable("overview");
  const atEnd = state.step === state.steps.length - 1;
  const before = state.steps.length;
  answer.runs.forEach(({ recorded, rebuildable, done, reach }, index) => Object.assign(state.runs[index], { recorded, rebuildable, done, reach }));
  setSteps();
  describe();
  const reach = Math.max(...state.runs.map((run) => run.reach));
  if (reach > 1.25 * scene.reach || reach < 0.7 * scene.reach) {
    scene.reach = reach;
    scene.resetCamera();
  }
  if (state.steps.length === before) return;
  if (atEnd) state.step = state.steps.length - 1;
  await Promise.all([showGeneration(), refreshCurves(), refreshHistory()]);
}
