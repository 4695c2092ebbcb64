// Charts: a run's history, which is also the timeline, and its learning curves. The browser lays them out.

import { css, graded, kind } from "explorer/colors";
import { element } from "explorer/elements";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1200; // pixels, stretched to what the page has

const short = (value) => String(Number(value.toPrecision(Math.abs(value) < 0.1 ? 1 : 3)));

// A heat map, one column per recorded generation: behavior (one dimension) or its distance from the start upwards.
export function historyMap({ share: { data, shape: [, bins] }, generation: { data: generations } }, first, last) {
  const canvas = element("canvas", "", { width: WIDTH, height: bins });
  const pen = canvas.getContext("2d");
  const across = (generation) => Math.round(((generation - first + 0.5) / (last - first + 1)) * WIDTH);
  generations.forEach((generation, k) => {
    // A column reaches halfway to its neighbors: they need not lie evenly.
    const from = across((generation + (generations[k - 1] ?? generation - 1)) / 2);
    const to = across((generation + (generations[k + 1] ?? generation + 1)) / 2);
    const shares = data.subarray(k * bins, (k + 1) * bins);
    const most = Math.max(...shares);
    shares.forEach((share, bin) => {
      pen.fillStyle = css(graded(Math.sqrt(share / most)));
      if (share > 0) pen.fillRect(from, bins - 1 - bin, to - from, 1);
    });
  });
  return canvas;
}

// One metric over generations from 0 to `last`, one curve per run; the other seeds' are thin beside the one shown.
export function chart(metric, runs, { seed, last }) {
  const shown = runs.filter((run) => run.curves?.[metric]);
  const values = shown.flatMap((run) => Array.from(run.curves[metric].data).filter(Number.isFinite));
  const [low, high] = [Math.min, Math.max].map((pick) => values.reduce((a, b) => pick(a, b)));
  const plot = document.createElementNS(SVG, "svg");
  plot.setAttribute("viewBox", "0 0 100 100"); // in percent of the room
  plot.setAttribute("preserveAspectRatio", "none");
  for (const run of shown) {
    const { data, shape: [seeds, points] } = run.curves[metric];
    const generations = run.curves.generation.data;
    for (let s = 0; s < seeds; s++) {
      const known = Array.from(generations.keys()).filter((k) => Number.isFinite(data[s * points + k]));
      const height = (k) => 100 - (100 * (data[s * points + k] - low)) / (high - low || 1);
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("points", known.map((k) => `${(100 * generations[k]) / last},${height(k)}`).join(" "));
      line.setAttribute("stroke", css(kind(run.index)));
      if (s !== Math.min(seed, seeds - 1)) line.setAttribute("class", "other");
      plot.append(line);
    }
  }
  const room = element("div", "", { class: "plot" }, [plot, element("i", "")]);
  const title = metric.replace("_", " ");
  return labeled("chart", { title, high: short(high), low: short(low), first: "0", last: String(last) }, room);
}

// A picture and what is written on it; the style sheet says where.
export function labeled(kind, texts, picture) {
  const labels = Object.entries(texts).map(([place, text]) => element("span", text, { class: place }));
  return element("div", "", { class: kind }, [picture, ...labels]);
}
