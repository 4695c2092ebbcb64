// Charts on plain canvases: the run's history, which is also the timeline, and its learning curves.

import { css, graded, kind } from "explorer/colors";

function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [pen, width, height];
}

// A heat map a run, generations from left to right: behavior (one dimension) or its distance from the start upwards.
export function historyPicture({ share, generation }) {
  const [columns, bins] = share.shape;
  const first = generation.data[0];
  const length = generation.data[columns - 1] - first + 1;
  const wide = Math.min(1200, Math.max(columns, 1));
  const canvas = new OffscreenCanvas(wide, bins);
  const pen = canvas.getContext("2d");
  const picture = pen.createImageData(wide, bins);
  let column = 0;
  for (let i = 0; i < wide; i++) {
    const wanted = first + ((i + 0.5) / wide) * length - 0.5;
    while (column < columns - 1 && Math.abs(generation.data[column + 1] - wanted) <= Math.abs(generation.data[column] - wanted)) column++;
    const most = Math.max(1e-9, ...share.data.subarray(column * bins, (column + 1) * bins));
    for (let j = 0; j < bins; j++) {
      const value = share.data[column * bins + j];
      const level = Math.sqrt(Math.min(1, value / most));
      const color = value > 0 ? graded(level) : [0.075, 0.09, 0.125];
      const at = 4 * ((bins - 1 - j) * wide + i);
      picture.data.set([...color.map((c) => 255 * c), 255], at);
    }
  }
  pen.putImageData(picture, 0, 0);
  return canvas;
}

export function drawTimeline(canvas, runs, { first, last, now, label, reach, dimensions, unit }) {
  const [pen, width, height] = prepared(canvas);
  pen.clearRect(0, 0, width, height);
  const rows = runs.length;
  const gap = 3;
  const high = (height - gap * (rows - 1)) / rows;
  const across = (generation) => ((generation - first + 0.5) / (last - first + 1)) * width;
  pen.imageSmoothingEnabled = false;
  runs.forEach((run, row) => {
    const top = row * (high + gap);
    pen.fillStyle = "#131722";
    pen.fillRect(0, top, width, high);
    if (run.picture) {
      const from = across(run.from - 0.5);
      pen.drawImage(run.picture, from, top, across(run.to + 0.5) - from, high);
    }
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = "rgba(232,236,244,0.85)";
    pen.textBaseline = "top";
    const text = Number(reach.toPrecision(2));
    pen.fillText(`${label} ${text}${unit}`, 5, top + 3);
    pen.textBaseline = "bottom";
    pen.fillText(dimensions === 1 ? `−${text}${unit}` : `0${unit}`, 5, top + high - 2);
    if (rows > 1) {
      pen.textAlign = "right";
      pen.fillText(run.name, width - 5, top + high - 2);
      pen.textAlign = "left";
    }
  });
  const x = across(now);
  pen.fillStyle = "rgba(255,255,255,0.95)";
  pen.fillRect(x - 1, 0, 2, height);
}

// One curve a run (its seeds thin beside the one shown), over generations.
export function drawCurves(canvas, metric, runs, { seed, now }) {
  const [pen, width, height] = prepared(canvas);
  pen.clearRect(0, 0, width, height);
  const frame = { left: 40, right: 8, top: 18, bottom: 16 };
  const shown = runs.filter((run) => run.curves?.[metric]);
  const values = shown.flatMap((run) => Array.from(run.curves[metric].data).filter(Number.isFinite));
  if (!values.length) return;
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const last = Math.max(1, ...shown.map((run) => Math.max(run.generations - 1, run.curves.generation.data.at(-1) ?? 1)));
  const x = (generation) => frame.left + (generation / last) * (width - frame.left - frame.right);
  const y = (value) => height - frame.bottom - ((value - low) / (high - low || 1)) * (height - frame.top - frame.bottom);
  pen.font = "600 11px system-ui, sans-serif";
  pen.fillStyle = "#cfd7e6";
  pen.fillText(metric.replace("_", " "), 2, 11);
  pen.font = "10px system-ui, sans-serif";
  pen.fillStyle = "#8d99ae";
  pen.textAlign = "right";
  for (const value of [low, high]) pen.fillText(String(Number(value.toPrecision(Math.abs(value) < 0.1 ? 1 : 3))), frame.left - 4, y(value) + 3);
  pen.fillText(String(last), width - frame.right, height - 3);
  pen.textAlign = "left";
  pen.fillText("0", frame.left, height - 3);
  pen.strokeStyle = "#262e3f";
  pen.strokeRect(frame.left + 0.5, frame.top - 0.5, width - frame.left - frame.right, height - frame.top - frame.bottom + 1);
  pen.strokeStyle = "rgba(255,255,255,0.35)";
  pen.beginPath();
  pen.moveTo(x(now), frame.top);
  pen.lineTo(x(now), height - frame.bottom);
  pen.stroke();
  shown.forEach((run) => {
    const [seeds, points] = run.curves[metric].shape;
    for (let s = 0; s < seeds; s++) {
      const mine = s === Math.min(seed, seeds - 1);
      pen.strokeStyle = css(kind(run.index), mine ? 1 : 0.25);
      pen.lineWidth = mine ? 1.6 : 0.8;
      pen.beginPath();
      for (let k = 0; k < points; k++) {
        const value = run.curves[metric].data[s * points + k];
        if (Number.isFinite(value)) pen.lineTo(x(run.curves.generation.data[k]), y(value));
      }
      pen.stroke();
    }
  });
  pen.lineWidth = 1;
}
