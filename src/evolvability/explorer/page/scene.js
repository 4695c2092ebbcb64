// The scene: every run's cloud on a floor of its own, seen by one camera, and the mutations that walk on it.

import { BACKGROUND, Painter, band, circle } from "explorer/drawing";
import { css, graded, hued, kind } from "explorer/colors";
import { shapes } from "explorer/robots";
import { add, cross, lookAt, normalize, perspective, product, scale, subtract } from "explorer/vectors";

const WIDE = (38 * Math.PI) / 180;
const TELE = (11 * Math.PI) / 180; // keeps the stacks of a histogram upright
const HEAT_SIDE = 128;
const PICK_PIXELS = 6;
const WHITE = [0.96, 0.97, 1];

// Where on the ground each member is drawn. Of a single dimension, members that behave alike stack up: a histogram.
export function layout(behavior, dimensions, reach) {
  const number = behavior.length / dimensions;
  const places = new Float32Array(2 * number);
  if (dimensions >= 2) {
    for (let k = 0; k < number; k++) {
      places[2 * k] = behavior[dimensions * k];
      places[2 * k + 1] = behavior[dimensions * k + 1];
    }
    return places;
  }
  const width = (2 * reach) / Math.min(180, Math.max(20, 3 * Math.sqrt(number))); // few members, wide bins
  const counts = new Map();
  const ranks = new Uint32Array(number);
  for (let k = 0; k < number; k++) {
    const bin = Math.round(behavior[k] / width);
    ranks[k] = counts.get(bin) ?? 0;
    counts.set(bin, ranks[k] + 1);
  }
  let tallest = 1;
  for (const count of counts.values()) tallest = Math.max(tallest, count);
  const step = Math.min(reach / 45, (0.6 * reach) / tallest);
  for (let k = 0; k < number; k++) {
    places[2 * k] = behavior[k];
    places[2 * k + 1] = 0.07 * reach + step * ranks[k];
  }
  return places;
}

// What colors stand for: numbers from 0 to 1, or kinds.
export function shades(cloud, by, dimensions) {
  const { behavior, fitness, component } = cloud;
  const number = component.data.length;
  if (by === "component") return { of: (k) => kind(component.data[k]), label: "component" };
  if (by === "direction" && dimensions >= 2)
    return { of: (k) => hued((360 + (180 / Math.PI) * Math.atan2(behavior.data[dimensions * k + 1], behavior.data[dimensions * k])) % 360), label: "direction" };
  const values = by === "fitness" ? fitness.data : distances(behavior.data, dimensions);
  const sorted = values.slice().sort();
  const low = by === "fitness" ? sorted[Math.floor(0.01 * number)] : 0;
  const high = sorted[Math.floor(0.99 * (number - 1))];
  return { of: (k) => graded((values[k] - low) / (high - low || 1)), label: by, low, high };
}

function distances(behavior, dimensions) {
  const found = new Float32Array(behavior.length / dimensions);
  for (let k = 0; k < found.length; k++) {
    let square = 0;
    for (let j = dimensions * k; j < dimensions * (k + 1); j++) square += behavior[j] * behavior[j];
    found[k] = Math.sqrt(square);
  }
  return found;
}

// A picture of how many members are where, smoothed, to lay on the floor.
export function heatPicture(places, reach) {
  let counts = new Float32Array(HEAT_SIDE * HEAT_SIDE);
  const extent = 2.6 * reach;
  for (let k = 0; k < places.length; k += 2) {
    const i = Math.floor((places[k] / extent + 0.5) * HEAT_SIDE);
    const j = Math.floor((places[k + 1] / extent + 0.5) * HEAT_SIDE);
    if (i >= 0 && i < HEAT_SIDE && j >= 0 && j < HEAT_SIDE) counts[j * HEAT_SIDE + i]++;
  }
  for (const stride of [1, HEAT_SIDE, 1, HEAT_SIDE]) {
    const smooth = new Float32Array(counts.length);
    for (let k = 0; k < counts.length; k++) smooth[k] = 0.25 * (counts[k - stride] ?? 0) + 0.5 * counts[k] + 0.25 * (counts[k + stride] ?? 0);
    counts = smooth;
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 1e-9);
  const bytes = new Uint8Array(4 * counts.length);
  for (let k = 0; k < counts.length; k++) {
    const share = Math.sqrt(counts[k] / most);
    bytes.set([...graded(share).map((c) => 255 * c), 235 * Math.min(1, 1.6 * share)], 4 * k);
  }
  return bytes;
}

export class Scene {
  constructor(canvas, labels) {
    this.canvas = canvas;
    this.labels = labels;
    this.painter = new Painter(canvas);
    this.views = [];
    this.camera = { target: [0, 0, 0], yaw: -Math.PI / 2, pitch: 0.9, distance: 10 };
    this.options = { show: "points", size: 1, grounds: true };
    this.angle = WIDE;
    this.actors = [];
    this.time = 0;
  }

  // runs: [{name, reach, dimensions, unit}]
  setRuns(runs) {
    this.views = runs.map((run) => ({ run, cloud: null, places: null, buffer: null, count: 0, heat: null, marks: [], pool: null, title: run.name }));
    this.reach = Math.max(...runs.map((run) => run.reach));
    this.resetCamera();
  }

  resetCamera() {
    const flat = this.views[0].run.dimensions === 1;
    this.angle = flat ? TELE : WIDE;
    const { width, height } = this.frame(0);
    const across = ((flat ? 1.36 : 1.25) * this.reach) / (Math.tan(this.angle / 2) * (width / Math.max(1, height)));
    const distance = Math.max(across, (flat ? 4.4 : 3.15) * this.reach);
    Object.assign(this.camera, { target: [0, (flat ? 0.12 : -0.06) * this.reach, 0], yaw: -Math.PI / 2, pitch: flat ? 0.75 : 0.88, distance });
  }

  setCloud(index, cloud, by) {
    const view = this.views[index];
    const { dimensions } = view.run;
    view.cloud = cloud;
    view.places = layout(cloud.behavior.data, dimensions, this.reach);
    this.paint(index, by);
    const needed = dimensions >= 2 && this.options.show !== "points";
    view.heat = needed ? this.painter.texture(HEAT_SIDE, heatPicture(view.places, this.reach), view.heatTexture) : null;
    view.heatTexture = view.heat ?? view.heatTexture;
    view.mean = mean(cloud.behavior.data, dimensions);
  }

  paint(index, by) {
    const view = this.views[index];
    const { places } = view;
    view.shades = shades(view.cloud, by, view.run.dimensions);
    const numbers = new Float32Array((5 * places.length) / 2);
    for (let k = 0; k < places.length / 2; k++) {
      numbers[5 * k] = places[2 * k];
      numbers[5 * k + 1] = places[2 * k + 1];
      numbers.set(view.shades.of(k), 5 * k + 2);
    }
    this.painter.release(view.buffer);
    view.buffer = this.painter.buffer(numbers);
    view.count = places.length / 2;
  }

  // The part of the page that a run's view covers, in CSS pixels: side by side, or above each other where all is a line.
  frame(index) {
    const [width, height, number] = [this.canvas.clientWidth, this.canvas.clientHeight, this.views.length];
    if (this.views[0].run.dimensions === 1) return { left: 0, top: (index * height) / number, width, height: height / number };
    return { left: (index * width) / number, top: 0, width: width / number, height };
  }

  eye() {
    const { target, yaw, pitch, distance } = this.camera;
    return add(target, scale([Math.cos(yaw) * Math.cos(pitch), Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch)], distance));
  }

  matrix(index) {
    const { width, height } = this.frame(index);
    const { distance } = this.camera;
    const eye = this.eye();
    return product(perspective(this.angle, width / height, distance / 100, distance * 12), lookAt(eye, this.camera.target));
  }

  // Where a point of the world is on the page; null behind the camera.
  project(index, point, matrix = this.matrix(index)) {
    const [x, y, z] = [point[0], point[1], point[2] ?? 0];
    const w = matrix[3] * x + matrix[7] * y + matrix[11] * z + matrix[15];
    if (w <= 0) return null;
    const { left, top, width, height } = this.frame(index);
    const u = (matrix[0] * x + matrix[4] * y + matrix[8] * z + matrix[12]) / w;
    const v = (matrix[1] * x + matrix[5] * y + matrix[9] * z + matrix[13]) / w;
    return [left + ((u + 1) / 2) * width, top + ((1 - v) / 2) * height];
  }

  viewAt(x, y) {
    const share = this.views[0].run.dimensions === 1 ? y / this.canvas.clientHeight : x / this.canvas.clientWidth;
    return Math.min(this.views.length - 1, Math.max(0, Math.floor(share * this.views.length)));
  }

  // Where on the ground the page is touched; null above the horizon.
  groundAt(index, x, y) {
    const { left, top, width, height } = this.frame(index);
    const eye = this.eye();
    const ahead = normalize(subtract(this.camera.target, eye));
    const right = normalize(cross(ahead, [0, 0, 1]));
    const up = cross(right, ahead);
    const tan = Math.tan(this.angle / 2);
    const u = ((2 * (x - left)) / width - 1) * tan * (width / height);
    const v = (1 - (2 * (y - top)) / height) * tan;
    const ray = add(ahead, add(scale(right, u), scale(up, v)));
    if (ray[2] >= -1e-6) return null;
    const far = -eye[2] / ray[2];
    return [eye[0] + far * ray[0], eye[1] + far * ray[1]];
  }

  // The member drawn nearest to a place on the page, if it is near enough.
  memberAt(index, x, y) {
    const { places } = this.views[index];
    if (!places || this.options.show === "density") return null;
    const matrix = this.matrix(index);
    let nearest = PICK_PIXELS ** 2;
    let found = null;
    for (let k = 0; k < places.length / 2; k++) {
      const at = this.project(index, [places[2 * k], places[2 * k + 1]], matrix);
      if (!at) continue;
      const away = (at[0] - x) ** 2 + (at[1] - y) ** 2;
      if (away < nearest) [nearest, found] = [away, k];
    }
    return found;
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((side) => Math.max(1, Math.round(side * ratio)));
    for (const canvas of [this.canvas, this.labels])
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    return ratio;
  }

  draw() {
    if (!this.views.length) return;
    const ratio = this.resize();
    const pen = this.labels.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.labels.width, this.labels.height);
    this.views.forEach((_, index) => this.drawView(index, ratio, pen));
  }

  drawView(index, ratio, pen) {
    const view = this.views[index];
    const { left, top, width, height } = this.frame(index);
    const bottom = this.canvas.clientHeight - top - height;
    const [p, reach] = [this.painter, this.reach];
    const matrix = this.matrix(index);
    p.begin([Math.round(left * ratio), Math.round(bottom * ratio), Math.round(width * ratio), Math.round(height * ratio)], matrix, this.eye());
    const spacing = niceStep(reach / 3.4);
    const flat = view.run.dimensions === 1;
    const dense = this.options.show !== "points";
    p.floor({ extent: reach * 6, spacing, reach, rings: !flat, density: dense ? 0.9 : 0, heat: view.heat });
    if (this.options.show !== "density" || flat) {
      const size = ratio * Math.max(2.2, Math.min(7, 6.5 * Math.sqrt(2500 / Math.max(1, view.count)))) * (this.views.length > 2 ? 0.8 : 1);
      p.points(view.buffer, view.count, size, { alpha: view.count > 4000 ? 0.8 : 0.95 });
    }
    const actors = this.actors.filter((actor) => actor.run === index);
    this.drawMarks(view, actors, matrix, reach, ratio);
    const solids = { sphere: [], cylinder: [], box: [] };
    for (const actor of actors) this.pose(actor, view, solids);
    if (this.options.idle && !actors.some((actor) => actor.poses)) this.poseOf(view, this.options.idle, [0.75, 0.79, 0.86], 0, solids);
    p.solids(solids);
    this.write(index, view, actors, matrix, spacing, pen);
  }

  drawMarks(view, actors, matrix, reach, ratio) {
    const p = this.painter;
    if (view.pool) p.points(view.pool.buffer, view.pool.count, ratio * 6, { alpha: 0.9 });
    const numbers = [];
    const mark = 0.024 * reach;
    const at = (behavior) => (view.run.dimensions === 1 ? [behavior[0], 0] : [behavior[0], behavior[1]]);
    const thin = 0.005 * reach;
    for (const spot of view.marked ?? []) numbers.push(...circle(spot, 0.42 * mark, 0.8 * thin, WHITE, 0.8));
    if (view.mean) numbers.push(...circle(at(view.mean), 0.55 * mark, thin, WHITE, 0.55));
    for (const center of view.centers ?? []) {
      const [x, y] = at(center);
      numbers.push(...band([[x - mark, y], [x + mark, y]], 1.5 * thin, WHITE), ...band([[x, y - mark], [x, y + mark]], 1.5 * thin, WHITE));
    }
    for (const actor of actors) {
      if (actor.target) {
        const [x, y] = actor.target;
        const d = 0.75 * mark;
        numbers.push(...band([[x - d, y - d], [x + d, y + d]], 1.4 * thin, actor.color), ...band([[x - d, y + d], [x + d, y - d]], 1.4 * thin, actor.color));
        if (actor.behavior) numbers.push(...band([actor.target, this.place(view, actor, actor.behavior)], 0.7 * thin, actor.color, { alpha: 0.7 }));
      }
      if (actor.recorded) numbers.push(...circle(actor.spot ?? at(actor.recorded), 0.8 * mark, 1.2 * thin, actor.color));
    }
    if (view.hover !== null && view.hover !== undefined && view.places)
      numbers.push(...circle([view.places[2 * view.hover], view.places[2 * view.hover + 1]], 0.5 * mark, thin, WHITE));
    p.ribbon(new Float32Array(numbers));
    for (const actor of actors) if (actor.ribbon) p.ribbon(actor.ribbon, this.time);
  }

  // A runner of one dimension has a lane of its own, as it could not step aside.
  lane(view, actor) {
    return view.run.dimensions === 1 && view.run.planar ? -(0.055 + 0.055 * actor.slot) * this.reach : 0;
  }

  place(view, actor, behavior) {
    return view.run.dimensions === 1 ? [behavior[0], actor.poses ? this.lane(view, actor) : 0] : [behavior[0], behavior[1]];
  }

  setRibbon(actor) {
    const view = this.views[actor.run];
    const points = [];
    for (let k = 0; k < actor.path.length; k += 2) points.push([actor.path[k], actor.path[k + 1] + this.lane(view, actor)]);
    const numbers = new Float32Array(band(points, 0.008 * this.reach, actor.color, { alpha: 0.95, times: actor.times }));
    actor.ribbon = { buffer: this.painter.buffer(numbers), count: numbers.length / 8 };
  }

  // The moment of an episode that is shown now, and the share of the way to the next.
  moment(actor) {
    const last = actor.times.length - 1;
    let k = Math.min(last, Math.max(0, Math.floor((this.time / Math.max(1e-9, actor.times[last])) * last)));
    while (k > 0 && actor.times[k] > this.time) k--;
    while (k < last && actor.times[k + 1] <= this.time) k++;
    const share = k < last ? (this.time - actor.times[k]) / (actor.times[k + 1] - actor.times[k]) : 0;
    return [k, Math.min(last, k + 1), Math.min(1, Math.max(0, share))];
  }

  position(actor) {
    if (!actor.path) return null;
    const [a, b, share] = this.moment(actor);
    return [0, 1].map((j) => actor.path[2 * a + j] * (1 - share) + actor.path[2 * b + j] * share);
  }

  pose(actor, view, solids) {
    if (!actor.path) return;
    const position = this.position(actor);
    const offset = this.lane(view, actor);
    if (!actor.poses) {
      const r = 0.016 * this.reach;
      if (view.run.moves) solids.sphere.push(r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, position[0], position[1] + offset, r, 1, ...actor.color);
      return;
    }
    const size = view.run.robot.num_positions;
    const [a, b, share] = this.moment(actor);
    const pose = actor.poses.slice(size * a, size * (a + 1));
    for (let j = 0; j < size; j++) pose[j] += share * (actor.poses[size * b + j] - pose[j]);
    this.poseOf(view, pose, actor.color, offset, solids, position);
  }

  poseOf(view, pose, color, offset, solids, ground = [0, 0]) {
    if (!view.run.robot) return;
    const found = shapes(view.run.robot, pose, this.options.size, ground, offset);
    for (const [name, matrices] of Object.entries(found)) for (const matrix of matrices) solids[name].push(...matrix, ...color);
  }

  write(index, view, actors, matrix, spacing, pen) {
    const { left, top, width, height } = this.frame(index);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const say = (text, point, color, dy = 0, weight = "") => {
      const at = this.project(index, point, matrix);
      if (!at) return;
      pen.font = `${weight} 11px system-ui, sans-serif`;
      if (weight === "italic") at[0] = Math.min(at[0], left + width - pen.measureText(text).width / 2 - 6); // an axis is named in any window
      pen.lineWidth = 3;
      pen.strokeStyle = css(BACKGROUND, 0.75);
      pen.strokeText(text, at[0], at[1] + dy);
      pen.fillStyle = color;
      pen.fillText(text, at[0], at[1] + dy);
    };
    const { unit } = view.run;
    for (let r = spacing; r <= this.reach * 1.25; r += spacing) {
      const text = `${Number(r.toPrecision(3))}${unit}`;
      if (view.run.dimensions === 1) {
        say(text, [r, 0], "#8d99ae", 13);
        say(`−${text}`, [-r, 0], "#8d99ae", 13);
      } else say(text, [r * Math.cos(-Math.PI / 4), r * Math.sin(-Math.PI / 4)], "#8d99ae");
    }
    if (view.run.dimensions === 1) say("0", [0, 0], "#8d99ae", 13);
    const last = this.reach * 1.22;
    say(view.run.behavior[0] + " →", [last, view.run.dimensions === 1 ? -0.12 * this.reach : 0], "#aeb9cc", 0, "italic");
    if (view.run.dimensions >= 2) say(view.run.behavior[1] + " ↑", [0, last], "#aeb9cc", 0, "italic");
    for (const center of view.centers ?? []) say("center", view.run.dimensions === 1 ? [center[0], 0] : center, "#ffffff", -14, "600");
    for (const actor of actors) {
      const position = view.run.moves && this.position(actor);
      if (position) say(actor.label, [position[0], position[1] + this.lane(view, actor), view.run.robot ? 1.5 * this.options.size : 0.05 * this.reach], css(actor.color), -4, "700");
    }
    pen.textAlign = "left";
    pen.fillStyle = "#e8ecf4";
    pen.font = "600 14px system-ui, sans-serif";
    pen.fillText(view.title, left + 16, top + 22);
    pen.fillStyle = "#9aa6ba";
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(view.subtitle ?? "", left + 16, top + 41);
    this.legend(view, pen, left + 16, top + 60);
    if (index) {
      pen.fillStyle = "#2a3346";
      if (left) pen.fillRect(left, top, 1, height);
      else pen.fillRect(left, top, width, 1);
    }
    pen.restore();
  }

  legend(view, pen, x, y) {
    const isDense = this.options.show === "density" && view.heat;
    const found = view.shades;
    if (!isDense && found?.high === undefined) return;
    for (let k = 0; k < 100; k++) {
      pen.fillStyle = css(graded(k / 99));
      pen.fillRect(x + k, y, 1.5, 6);
    }
    pen.fillStyle = "#9aa6ba";
    pen.font = "11px system-ui, sans-serif";
    const number = (value) => Number(value.toPrecision(2)).toString();
    pen.fillText(isDense ? "density, of the densest place" : `${found.label} ${number(found.low)} to ${number(found.high)}${view.run.unit}`, x + 108, y + 3.5);
  }
}

function mean(behavior, dimensions) {
  const sums = new Array(dimensions).fill(0);
  for (let k = 0; k < behavior.length; k++) sums[k % dimensions] += behavior[k];
  return sums.map((sum) => sum / Math.max(1, behavior.length / dimensions));
}

export function niceStep(about) {
  const power = 10 ** Math.floor(Math.log10(about));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= about * 0.75) ?? 10);
}
