// What is written and marked over a run's view: distances, names, who is who, and what the colors mean.

import { spotOf } from "explorer/axes";
import { css, graded } from "explorer/clouds";
import { BACKGROUND } from "explorer/drawing";

const BEHIND = css(BACKGROUND, 0.75);
const FONT = "system-ui, sans-serif";
const [DIM, PALE, BRIGHT, WHITE] = ["#8d99ae", "#aeb9cc", "#e8ecf4", "#f5f7ff"];

// A line on a canvas along some points.
export function stroke(pen, points, color, width = 1) {
  Object.assign(pen, { strokeStyle: color, lineWidth: width, lineJoin: "round" });
  pen.beginPath();
  for (const point of points) pen.lineTo(...point);
  pen.stroke();
}

// What marks a place, as lines around it.
const RING = [Array.from({ length: 33 }, (_, k) => [Math.cos((Math.PI * k) / 16), Math.sin((Math.PI * k) / 16)])];
const CROSS = [[[-1, -1], [1, 1]], [[-1, 1], [1, -1]]];
const PLUS = [[[-1, 0], [1, 0]], [[0, -1], [0, 1]]];

// Writes and draws at points of the world. What lies behind the camera has no place, and is not drawn.
class Pen {
  constructor(pen, at, { left, width }) {
    Object.assign(this, { pen, at, left, right: left + width });
  }

  // What is italic is read in any window: it stays within the view.
  say(text, point, { color = DIM, lower = 0, weight = "", outline = 3 } = {}) {
    const { pen } = this;
    const [x, y] = this.at(point);
    Object.assign(pen, { font: `${weight} 11px ${FONT}`, fillStyle: color, strokeStyle: BEHIND, lineWidth: outline });
    const half = pen.measureText(text).width / 2 + 6;
    const place = weight === "italic" ? Math.max(this.left + half, Math.min(x, this.right - half)) : x;
    pen.strokeText(text, place, y + lower);
    pen.fillText(text, place, y + lower);
  }

  line(from, to, color) {
    stroke(this.pen, [this.at(from), this.at(to)], color);
  }

  mark(lines, size, point, color, width = 1.3) {
    const [x, y] = this.at(point);
    for (const line of lines) stroke(this.pen, line.map(([u, v]) => [x + size * u, y + size * v]), color, width);
  }
}

export function write(scene, canvas, { view, index, actors, walkers, spacing }) {
  const { left, top, width, height } = scene.frame(index);
  canvas.save();
  canvas.beginPath();
  canvas.rect(left, top, width, height);
  canvas.clip();
  Object.assign(canvas, { textAlign: "center", textBaseline: "middle" });
  const matrix = scene.pageMatrix(index).toFloat32Array();
  const pen = new Pen(canvas, (point) => scene.project(index, point, matrix), { left, width });
  writeScale(pen, scene, view, spacing);
  if (scene.lift) writeHeight(pen, scene, view, spacing);
  mark(pen, scene, view, actors);
  const above = view.robot ? 1.5 * view.robot.extent * scene.options.size : 0.05 * scene.reach;
  for (const actor of walkers)
    pen.say(actor.label, [...scene.position(actor), above], { color: css(actor.color), lower: -4, weight: "700" });
  writeTitle(canvas, { ...view, unit: scene.unit }, left + 16, top, scene.options.show === "density" && view.heat);
  canvas.fillStyle = "#2a3346"; // between views, a line
  if (index) canvas.fillRect(left, top, left ? 1 : width, left ? height : 1);
  canvas.restore();
}

// Members that can be played, the mean, centers, what was clicked and what was recorded.
function mark(pen, scene, view, actors) {
  const { index, flat, mean, centers, chosen, aim } = view;
  if (mean) pen.mark(RING, 4.5, spotOf(view, mean), css([1, 1, 1], 0.65));
  if (chosen) pen.mark(RING, 8, spotOf(view, chosen.mean), WHITE, 2);
  if (aim) pen.mark(CROSS, 5, spotOf(view, aim), WHITE, 2);
  for (const center of centers) {
    pen.mark(PLUS, 8, spotOf(view, center), WHITE, 2);
    pen.say("center", spotOf(view, center), { color: WHITE, lower: -16, weight: "600" });
  }
  for (const { target, behavior, recorded, spot, color, poses, slot, episodes } of actors) {
    if (target) pen.mark(CROSS, 5, target, css(color), 2);
    if (target && behavior) {
      const [x, y] = spotOf(view, behavior);
      pen.line(target, [x, y + (poses ? scene.lane(view, slot) : 0)], css(color, 0.7));
    }
    if (episodes) pen.line(spot, spotOf(view, recorded), css(color, 0.7)); // from the mean that was clicked
    // One of a stack lies where it was clicked.
    if (recorded) pen.mark(RING, 6.5, (flat && !episodes && spot) || spotOf(view, recorded), css(color), 1.8);
  }
  if (scene.hover?.run !== index) return;
  const under = scene.spot(index, scene.hover.row);
  for (const episode of scene.hover.episodes) {
    pen.line(under, spotOf(view, episode), css([1, 1, 1], 0.6));
    pen.mark(CROSS, 3, spotOf(view, episode), WHITE);
  }
  pen.mark(RING, 4.5, under, WHITE);
  pen.say(scene.hover.text, under, { color: WHITE, lower: -14, weight: "italic", outline: 9 });
}

// What is said at a place along an axis.
const valueAt = ({ low, scale }, place) => String(Number((low + place / scale).toPrecision(3))).replace("-", "−");

function writeScale(pen, { axes: [across, along], isOwn, reach, unit }, { flat, behavior }, spacing) {
  const beside = -1.3 * reach;
  for (let r = flat ? 0 : spacing; r <= reach * 1.25; r += spacing)
    for (const at of new Set([r, -r])) {
      if (isOwn) pen.say(valueAt(across, at), [at, beside]);
      if (isOwn) pen.say(valueAt(along, at), [beside, at]);
      else if (flat) pen.say(valueAt(across, at) + unit, [at, 0], { lower: 13 });
      else if (at > 0) pen.say(valueAt(across, at) + unit, [at * Math.SQRT1_2, -at * Math.SQRT1_2]); // where no axis is
    }
  pen.say(`${behavior[across.at]} →`, [1.22 * reach, flat ? -0.12 * reach : 0], { color: PALE, weight: "italic" });
  if (!flat) pen.say(`${behavior[along.at]} ↑`, [0, 1.22 * reach], { color: PALE, weight: "italic" });
}

// A third behavior goes upwards, beside the cloud.
function writeHeight(pen, { reach, axes: [, , axis] }, { behavior }, spacing) {
  const at = (z, aside = 1.15) => [-aside * reach, 1.15 * reach, z];
  pen.line(at(0), at(reach), DIM);
  for (let z = 0; z <= reach; z += spacing) pen.say(valueAt(axis, z), at(z, 1.28));
  pen.say(`${behavior[axis.at]} ↑`, at(1.08 * reach), { color: PALE, weight: "italic" });
}

function writeTitle(canvas, { name, behavior, subtitle, shades, unit }, x, top, isDense) {
  const line = (text, font, color, across, y) => {
    Object.assign(canvas, { font: `${font} ${FONT}`, fillStyle: color, textAlign: "left" });
    canvas.fillText(text, across, y);
  };
  line(name, "600 14px", BRIGHT, x, top + 22);
  line(subtitle, "12px", PALE, x, top + 41);
  if (!isDense && shades.high === undefined) return; // kinds have no scale
  for (let k = 0; k < 100; k++) {
    canvas.fillStyle = css(graded(k / 99));
    canvas.fillRect(x + k, top + 60, 1.5, 6);
  }
  const [low, high] = [shades.low, shades.high].map((value) => Number(value?.toPrecision(2)));
  const range = `${behavior[shades.label] ?? shades.label} ${low} to ${high}${shades.label === "distance" ? unit : ""}`;
  line(isDense ? "density, of the densest place" : range, "11px", PALE, x + 108, top + 63.5);
}

// Episodes that come as pictures, in the upper right corner.
export function showPictures(canvas, scene) {
  const drawn = scene.stage.actors.filter((actor) => actor.pictures);
  const columns = Math.ceil(Math.sqrt(drawn.length));
  const { clientWidth } = scene.canvas;
  const wide = Math.min(620, 0.44 * clientWidth) / columns;
  for (const [k, actor] of drawn.entries()) {
    const picture = actor.pictures[scene.moment(actor)[0]];
    const high = (wide * picture.height) / picture.width;
    const [x, y] = [clientWidth - 10 - wide * (columns - (k % columns)), 14 + high * Math.floor(k / columns)];
    canvas.drawImage(picture, x, y, wide - 4, high - 4);
    Object.assign(canvas, { strokeStyle: css(actor.color), lineWidth: 2 });
    canvas.strokeRect(x, y, wide - 4, high - 4);
  }
}
