// What is written about runs beside the scene: history, learning curves, metrics and configuration.

import { css, graded, kind } from "explorer/clouds";
import { askArrays, generationNow, seedOf } from "explorer/runs";
import { $, element, state } from "explorer/stage";

const CURVES = ["entropy", "variance", "distance", "repeatability", "fitness_mean"];
const WIDTH = 1200; // pixels of a history, stretched to what the page has

const short = (value) => String(Number(value.toPrecision(Math.abs(value) < 0.1 ? 1 : 3)));
const lastGeneration = () => Math.max(1, state.steps.at(-1), ...state.runs.map((run) => run.generations - 1));

// A picture and what is written on it; the style sheet says where.
function labeled(kind, texts, picture) {
  const labels = Object.entries(texts).map(([place, text]) => element("span", text, { class: place }));
  return element("div", "", { class: kind }, [picture, ...labels]);
}

export async function refreshHistory() {
  const answers = state.runs.map((run) => askArrays(`history?run=${run.index}&seed=${seedOf(run)}`));
  $("timeline").replaceChildren(...(await Promise.all(answers)).map(historyOf));
  showNow();
}

function historyOf(history, index) {
  const { name, flat, unit, behavior } = state.runs[index];
  const reach = `${Number(history.reach.data[0].toPrecision(2))}${unit}`;
  const high = `${flat ? behavior[0].replace(/ \(.+\)$/, "") : "distance"} ${reach}`;
  const low = flat ? `−${reach}` : `0${unit}`;
  return labeled("history", { high, low, name: state.runs.length > 1 ? name : "" }, historyMap(history));
}

// A heat map, one column per recorded generation: behavior (one dimension) or its distance from the start upwards.
function historyMap({ share: { data, shape: [, bins] }, generation: { data: generations } }) {
  const [first, last] = [state.steps[0], state.steps.at(-1)];
  const canvas = element("canvas", "", { width: WIDTH, height: bins });
  const pen = canvas.getContext("2d");
  const across = (generation) => Math.round(((generation - first + 0.5) / (last - first + 1)) * WIDTH);
  generations.forEach((generation, k) => {
    const neighbors = [generations[k - 1] ?? generation - 1, generations[k + 1] ?? generation + 1];
    const [from, to] = neighbors.map((neighbor) => across((generation + neighbor) / 2)); // they need not lie evenly
    const shares = data.subarray(k * bins, (k + 1) * bins);
    const most = Math.max(...shares);
    shares.forEach((share, bin) => {
      pen.fillStyle = css(graded(Math.sqrt(share / most)));
      if (share > 0) pen.fillRect(from, bins - 1 - bin, to - from, 1);
    });
  });
  return canvas;
}

export async function refreshCurves() {
  for (const run of state.runs) run.curves = await askArrays(`curves?run=${run.index}`);
  const named = (run) => element("span", run.name, { style: `color:${css(kind(run.index))}` });
  $("legend").replaceChildren(...(state.runs.length > 1 ? state.runs.map(named) : []));
  drawCurves();
  showNow();
}

export function drawCurves() {
  const shown = CURVES.filter((metric) => state.runs.some((run) => run.curves?.[metric]));
  $("curves").replaceChildren(...shown.map(chart));
  listMetrics();
}

// One metric over all generations, one curve per run; the other seeds' are thin beside the one shown.
function chart(metric) {
  const runs = state.runs.filter((run) => run.curves?.[metric]);
  const values = runs.flatMap((run) => Array.from(run.curves[metric].data).filter(Number.isFinite));
  const [low, high] = [Math.min, Math.max].map((pick) => values.reduce((a, b) => pick(a, b)));
  const last = lastGeneration();
  const curve = (run, seed) => {
    const generations = Array.from(run.curves.generation.data);
    const height = (k) => 1 - (run.curves[metric].data[seed * generations.length + k] - low) / (high - low || 1);
    const points = generations.map((generation, k) => [generation / last, height(k)]);
    const known = points.filter(([, y]) => Number.isFinite(y)).join(" ");
    const look = { stroke: css(kind(run.index)), class: seed === seedOf(run) ? "" : "other" };
    return element("polyline", "", { points: known, ...look });
  };
  const curves = runs.flatMap((run) => run.seeds.map((_, seed) => curve(run, seed)));
  const plot = element("svg", "", { viewBox: "0 0 1 1", preserveAspectRatio: "none" }, curves); // all of the room
  const texts = { title: metric.replace("_", " "), high: short(high), low: short(low), first: "0", last: String(last) };
  return labeled("chart", texts, element("div", "", { class: "plot" }, [plot]));
}

// Moves the cursors of timeline and curves to the generation shown.
export function showNow() {
  const [first, last, now] = [state.steps[0], state.steps.at(-1), generationNow()];
  $("timeline").style.setProperty("--now", (now - first + 0.5) / (last - first + 1));
  $("curves").style.setProperty("--now", now / lastGeneration());
}

// Every metric of the generation shown, of the seed shown.
export function listMetrics() {
  const runs = state.runs.filter((run) => run.curves?.generation.data.length);
  const { generation, ...metrics } = Object.assign({}, ...runs.map((run) => run.curves));
  const line = (name) => [name.replaceAll("_", " "), ...runs.map((run) => valueNow(run, name))];
  $("metrics").replaceChildren(table(runs, Object.keys(metrics).toSorted().map(line)));
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
    const done = run.done ? "complete" : `training: ${run.recorded.at(-1) + 1} of ${run.generations} generations`;
    return `${run.config.task_options?.env || run.task} · ${run.method} · ${done}`;
  });
  $("status").textContent = [...new Set(text)].join("\n");
  const tables = state.runs.map(({ config, environment }) => Object.fromEntries(flattened({ ...config, environment })));
  const line = (key) => [key, ...tables.map((one) => one[key] ?? "")];
  $("config").replaceChildren(table(state.runs, Object.keys(Object.assign({}, ...tables)).map(line)));
}

function table(runs, lines) {
  const line = (cells, tag) => element("tr", "", {}, cells.map((cell) => element(tag, cell)));
  const head = runs.length > 1 ? [line(["", ...runs.map((run) => run.name)], "th")] : [];
  return element("table", "", {}, [...head, ...lines.map((cells) => line(cells, "td"))]);
}
