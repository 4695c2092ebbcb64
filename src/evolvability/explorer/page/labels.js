// What is written over a run's view: distances, the behaviors' names, who is who, and what the colors mean.

import { spotOf } from "explorer/axes";
import { css, graded } from "explorer/colors";
import { BACKGROUND } from "explorer/drawing";

const FONT = "system-ui, sans-serif";
const [DIM, PALE, BRIGHT] = ["#8d99ae", "#aeb9cc", "#e8ecf4"];

export function write(scene, pen, { view, index, actors, matrix, spacing }) {
  const { left, top, width, height } = scene.frame(index);
  pen.save();
  pen.beginPath();
  pen.rect(left, top, width, height);
  pen.clip();
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const say = (text, point, { color = DIM, lower = 0, weight = "" } = {}) => {
    const at = scene.project(index, point, matrix);
    if (!at) return;
    pen.font = `${weight} 11px ${FONT}`;
    const x = Math.min(at[0], left + width - pen.measureText(text).width / 2 - 6); // an axis is named in any window
    outlined(pen, text, weight === "italic" ? x : at[0], at[1] + lower, color);
  };
  writeScale(say, scene, view.run, spacing);
  if (scene.lift) writeHeight(pen, say, scene, { run: view.run, index, matrix, spacing });
  for (const center of view.centers)
    say("center", spotOf(view.run, center), { color: "#ffffff", lower: -14, weight: "600" });
  const above = view.run.robot ? 1.5 * scene.options.size : 0.05 * scene.reach;
  for (const actor of view.run.moves && scene.walks ? actors : []) {
    const [x, y] = scene.position(actor) ?? [];
    const point = [x, y + scene.lane(view.run, actor.slot), above];
    if (actor.path) say(actor.label, point, { color: css(actor.color), lower: -4, weight: "700" });
  }
  writeTitle(pen, { ...view, unit: scene.unit }, left + 16, top, scene.options.show === "density" && view.heat);
  pen.fillStyle = "#2a3346"; // between views, a line
  if (index) pen.fillRect(left, top, left ? 1 : width, left ? height : 1);
  pen.restore();
}

function outlined(pen, text, x, y, color) {
  pen.lineWidth = 3;
  pen.strokeStyle = css(BACKGROUND, 0.75);
  pen.strokeText(text, x, y);
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}

// What is said at a place along an axis.
const valueAt = ({ low, scale }, place) => String(Number((low + place / scale).toPrecision(3)));

function writeScale(say, { axes: [across, along], isOwn, reach, unit }, { flat, behavior }, spacing) {
  for (let r = spacing; r <= reach * 1.25; r += spacing) {
    const text = `${Number(r.toPrecision(3))}${unit}`;
    const ahead = r * Math.SQRT1_2; // on the diagonal, where no axis is
    if (isOwn)
      for (const at of [-r, r]) {
        say(valueAt(across, at), [at, -1.3 * reach]);
        say(valueAt(along, at), [-1.3 * reach, at]);
      }
    else if (!flat) say(text, [ahead, -ahead]);
    else for (const [sign, x] of [["", r], ["−", -r]]) say(sign + text, [x, 0], { lower: 13 });
  }
  if (flat) say("0", [0, 0], { lower: 13 });
  say(`${behavior[across.at]} →`, [1.22 * reach, flat ? -0.12 * reach : 0], { color: PALE, weight: "italic" });
  if (!flat) say(`${behavior[along.at]} ↑`, [0, 1.22 * reach], { color: PALE, weight: "italic" });
}

// A third behavior goes upwards, beside the cloud.
function writeHeight(pen, say, scene, { run, index, matrix, spacing }) {
  const { reach, axes: [, , axis] } = scene;
  const at = (z) => [-1.15 * reach, 1.15 * reach, z];
  const ends = [0, reach].map((z) => scene.project(index, at(z), matrix));
  if (!ends.every(Boolean)) return;
  Object.assign(pen, { strokeStyle: DIM, lineWidth: 1 });
  pen.beginPath();
  for (const end of ends) pen.lineTo(...end);
  pen.stroke();
  for (let z = 0; z <= reach; z += spacing) say(valueAt(axis, z), [-1.28 * reach, 1.15 * reach, z]);
  say(`${run.behavior[axis.at]} ↑`, at(1.08 * reach), { color: PALE, weight: "italic" });
}

function writeTitle(pen, { run, subtitle, shades, unit }, x, top, isDense) {
  const line = (text, font, color, across, y) => {
    pen.font = `${font} ${FONT}`;
    pen.fillStyle = color;
    pen.fillText(text, across, y);
  };
  pen.textAlign = "left";
  line(run.name, "600 14px", BRIGHT, x, top + 22);
  line(subtitle, "12px", PALE, x, top + 41);
  if (!isDense && shades?.high === undefined) return; // kinds have no scale
  for (let k = 0; k < 100; k++) {
    pen.fillStyle = css(graded(k / 99));
    pen.fillRect(x + k, top + 60, 1.5, 6);
  }
  const [low, high] = [shades.low, shades.high].map((value) => Number(value?.toPrecision(2)));
  const name = run.behavior[shades.label] ?? shades.label;
  const range = `${name} ${low} to ${high}${shades.label === "distance" ? unit : ""}`;
  const meaning = isDense ? "density, of the densest place" : range;
  line(meaning, "11px", PALE, x + 108, top + 63.5);
}
