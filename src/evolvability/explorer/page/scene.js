// The scene: every run's cloud on a floor of its own, seen by one camera, and the mutations that walk on it.

import { axesOf, niceStep, spotOf } from "explorer/axes";
import { HEAT_SIDE, heatPicture, layout, mean, shades } from "explorer/clouds";
import { Painter, band, circle } from "explorer/drawing";
import { write } from "explorer/labels";
import { shapes } from "explorer/robots";

const WIDE = (38 * Math.PI) / 180;
const TELE = (11 * Math.PI) / 180; // keeps the stacks of a histogram upright
const PICK_PIXELS = 6;
const WHITE = [0.96, 0.97, 1];
const STANDING = [0.75, 0.79, 0.86];

const degrees = (radians) => (180 / Math.PI) * radians;

export class Scene {
  constructor(canvas, labels, actors) {
    Object.assign(this, { canvas, labels, actors, painter: new Painter(canvas), views: [], time: 0 });
    this.camera = { target: [0, 0, 0], yaw: 0, pitch: 0, distance: 1 };
    this.options = { show: "points", size: 1 };
  }

  // runs: [{name, reach, dimensions, flat, unit}]
  setRuns(runs, chosen = [0, 1]) {
    this.views = runs.map((run) => ({ run, places: null, heat: null, hover: null, marked: [], centers: [] }));
    this.setAxes(chosen);
  }

  // Which behaviors lie across, along and, if there are three, above the ground. Clouds are to be set anew.
  setAxes(chosen) {
    const runs = this.views.map(({ run }) => run);
    Object.assign(this, axesOf(runs, chosen), { chosen });
    for (const run of runs) run.axes = this.axes;
    this.lift = this.axes.length > 2 ? 0.42 * this.reach : 0;
    this.resetCamera();
  }

  resetCamera() {
    const { flat } = this.views[0].run;
    this.angle = flat ? TELE : WIDE;
    const { width, height } = this.frame(0);
    const across = ((flat ? 1.36 : 1.25) * this.reach) / (Math.tan(this.angle / 2) * (width / Math.max(1, height)));
    this.camera = {
      target: [0, (flat ? 0.12 : -0.06) * this.reach, 0],
      yaw: -Math.PI / 2,
      pitch: flat ? 0.75 : this.lift ? 0.4 : 0.88,
      distance: Math.max(across, (flat ? 4.4 : this.lift ? 3.9 : 3.15) * this.reach),
    };
  }

  setCloud(index, cloud, by) {
    const view = this.views[index];
    const { dimensions, flat } = view.run;
    view.cloud = cloud;
    const at = (behavior) => spotOf(view.run, behavior);
    view.places = layout(cloud.behavior.data, dimensions, this.reach, at);
    view.mean = mean(cloud.behavior.data, dimensions);
    this.paint(index, by);
    view.heat = null;
    if (flat || this.options.show === "points") return;
    view.heat = view.texture = this.painter.texture(HEAT_SIDE, heatPicture(view.places, this.reach), view.texture);
  }

  paint(index, by) {
    const view = this.views[index];
    view.shades = shades(view.cloud, by, view.run);
    const numbers = new Float32Array(2 * view.places.length);
    for (let k = 0; k < view.places.length / 3; k++) {
      numbers.set(view.places.subarray(3 * k, 3 * k + 3), 6 * k);
      const light = view.chosen?.rows.has(k) === false ? 0.3 : 1; // beside members that were selected, others dim
      numbers.set(view.shades.of(k).map((part) => light * part), 6 * k + 3);
    }
    view.points = this.painter.upload("point", numbers, view.points);
  }

  // Where a member of the cloud is drawn.
  spot(index, row) {
    return this.views[index].places.slice(3 * row, 3 * row + 3);
  }

  // Fresh mutations, as white points; of a single dimension beside the line, where the stacks leave room.
  setPool(index, behaviors) {
    const view = this.views[index];
    const at = (one) => (view.run.flat ? [one[0], 0.035 * this.reach, 0] : spotOf(view.run, one));
    view.fresh = behaviors;
    view.pool = this.painter.upload("point", behaviors.flatMap((one) => [...at(one), 1, 1, 1]), view.pool);
  }

  // The part of the page that a run's view covers, in CSS pixels: side by side, or lines above each other.
  frame(index) {
    const [width, height, number] = [this.canvas.clientWidth, this.canvas.clientHeight, this.views.length];
    if (this.views[0].run.flat) return { left: 0, top: (index * height) / number, width, height: height / number };
    return { left: (index * width) / number, top: 0, width: width / number, height };
  }

  // From the world to the camera, which looks down along its z-axis from a distance.
  cameraMatrix() {
    const { target: [x, y], yaw, pitch, distance } = this.camera;
    const tilted = new DOMMatrix().translate(0, 0, -distance).rotateAxisAngle(1, 0, 0, degrees(pitch) - 90);
    return tilted.rotateAxisAngle(0, 0, 1, -90 - degrees(yaw)).translate(-x, -y, -this.lift);
  }

  // From the world to what is seen, -1 to 1 in each direction.
  matrix(index) {
    const { width, height } = this.frame(index);
    const [near, far] = [this.camera.distance / 100, this.camera.distance * 12];
    const f = 1 / Math.tan(this.angle / 2);
    const [depth, shift] = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const perspective = [(f * height) / width, 0, 0, 0, 0, f, 0, 0, 0, 0, depth, -1, 0, 0, shift, 0];
    return new DOMMatrix(perspective).multiply(this.cameraMatrix());
  }

  // Where a point of the world is on the page; null behind the camera. By hand, as it is asked for every member.
  project(index, [x, y, z = 0], m = this.matrix(index).toFloat32Array()) {
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    if (w <= 0) return null;
    const { left, top, width, height } = this.frame(index);
    const u = (m[0] * x + m[4] * y + m[8] * z + m[12]) / w;
    const v = (m[1] * x + m[5] * y + m[9] * z + m[13]) / w;
    return [left + ((u + 1) / 2) * width, top + ((1 - v) / 2) * height];
  }

  viewAt(x, y) {
    const share = this.views[0].run.flat ? y / this.canvas.clientHeight : x / this.canvas.clientWidth;
    return Math.min(this.views.length - 1, Math.max(0, Math.floor(share * this.views.length)));
  }

  // Where on the ground the page is touched; null above the horizon.
  groundAt(index, pageX, pageY) {
    const { left, top, width, height } = this.frame(index);
    const [u, v] = [(2 * (pageX - left)) / width - 1, 1 - (2 * (pageY - top)) / height];
    const back = this.matrix(index).inverse();
    const [near, far] = [-1, 1].map((depth) => {
      const { x, y, z, w } = back.transformPoint({ x: u, y: v, z: depth });
      return { x: x / w, y: y / w, z: z / w };
    });
    if (far.z >= near.z) return null;
    const share = near.z / (near.z - far.z);
    return [near.x + share * (far.x - near.x), near.y + share * (far.y - near.y)];
  }

  // The member drawn nearest to a place on the page, if it is near enough.
  memberAt(index, x, y) {
    const { places } = this.views[index];
    if (!places || this.options.show === "density") return null;
    const matrix = this.matrix(index).toFloat32Array();
    let [nearest, found] = [PICK_PIXELS, null];
    for (let k = 0; k < places.length / 3; k++) {
      const at = this.project(index, places.subarray(3 * k, 3 * k + 3), matrix);
      const away = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (away < nearest) [nearest, found] = [away, k];
    }
    return found;
  }

  draw() {
    if (!this.views.length) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((side) => Math.round(side * ratio));
    for (const canvas of [this.canvas, this.labels]) // to set a size clears a canvas, even if it is the old one
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = this.labels.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.views.forEach((view, index) => this.drawView(view, index, ratio, pen));
  }

  drawView(view, index, ratio, pen) {
    const { left, top, width, height } = this.frame(index);
    const box = [left, this.canvas.clientHeight - top - height, width, height].map((side) => Math.round(side * ratio));
    const { x, y, z } = this.cameraMatrix().inverse().transformPoint();
    const matrix = this.matrix(index).toFloat32Array();
    const { painter, reach, walks, isOwn } = this;
    const { flat, robot } = view.run;
    const spacing = niceStep(reach / 3.4);
    painter.begin(box, matrix, [x, y, z]);
    painter.floor({ extent: reach * 6, spacing, reach, rings: !flat && !isOwn, heat: view.heat });
    if (this.options.show !== "density" || flat) {
      const { count } = view.points;
      const size = Math.max(2.2, Math.min(7, 6.5 * Math.sqrt(2500 / Math.max(1, count)))); // many members, small points
      const alpha = count > 4000 ? 0.8 : 0.95;
      painter.points(view.points, size * ratio * (this.views.length > 2 ? 0.8 : 1), alpha, this.lift > 0);
    }
    if (view.pool) painter.points(view.pool, ratio * 6, 0.9, this.lift > 0);
    const actors = this.actors.filter((actor) => actor.run === index);
    this.marks = painter.upload("ribbon", this.marksOf(view, actors), this.marks);
    painter.draw("ribbon", this.marks, { now: 0 });
    for (const actor of walks ? actors : []) if (actor.ribbon) painter.draw("ribbon", actor.ribbon, { now: this.time });
    const solids = { sphere: [], cylinder: [] };
    for (const actor of walks ? actors : []) this.pose(view, actor, solids);
    const isAlone = walks && robot && !this.actors.length;
    if (isAlone) this.stand(view, { pose: robot.rest, ground: [0, 0], color: STANDING }, solids);
    painter.solids(solids);
    write(this, pen, { view, index, actors, matrix, spacing });
  }

  // Rings and crosses on the ground: members that can be played, the mean, centers, what was clicked and recorded.
  marksOf(view, actors) {
    const [mark, thin] = [0.024 * this.reach, 0.005 * this.reach];
    const { run, marked, mean: middle, centers, hover, chosen } = view;
    const numbers = marked.flatMap((spot) => circle(spot, 0.42 * mark, 0.8 * thin, WHITE, 0.8));
    const line = (from, to, color, width, { alpha = 1, height = 0.02 } = {}) =>
      numbers.push(...band([from, to], width * thin, color, { alpha, height }));
    const cross = ([x, y, z = 0], dx, dy, color, width) => {
      line([x - dx, y - dy], [x + dx, y + dy], color, width, { height: z + 0.02 });
      line([x - dy, y + dx], [x + dy, y - dx], color, width, { height: z + 0.02 });
    };
    if (middle) numbers.push(...circle(spotOf(run, middle), 0.55 * mark, thin, WHITE, 0.55));
    if (chosen) numbers.push(...circle(spotOf(run, chosen.mean), mark, 1.5 * thin, WHITE));
    if (view.aim) cross(spotOf(run, view.aim), 0.75 * mark, 0.75 * mark, WHITE, 1);
    for (const center of centers) cross(spotOf(run, center), mark, 0, WHITE, 1.5);
    for (const { target, behavior, recorded, spot, color, poses, slot } of actors) {
      if (target) {
        cross(target, 0.75 * mark, 0.75 * mark, color, 1.4);
        const [x, y] = behavior ? spotOf(run, behavior) : target;
        line(target, [x, y + (poses ? this.lane(run, slot) : 0)], color, 0.7, { alpha: 0.7 });
      }
      // One of a stack lies where it was clicked.
      const at = recorded && ((run.flat && spot) || spotOf(run, recorded));
      if (at) numbers.push(...circle(at, 0.8 * mark, 1.2 * thin, color));
    }
    if (hover !== null) numbers.push(...circle(this.spot(run.index, hover), 0.5 * mark, thin, WHITE));
    return numbers;
  }

  // A runner of one dimension has a lane of its own, as it could not step aside.
  lane(run, slot) {
    return run.flat ? -(0.055 + 0.055 * slot) * this.reach : 0;
  }

  setRibbon(actor) {
    const aside = this.lane(this.views[actor.run].run, actor.slot);
    const points = Array.from(actor.times, (_, k) => [actor.path[2 * k], actor.path[2 * k + 1] + aside]);
    const numbers = band(points, 0.008 * this.reach, actor.color, { alpha: 0.95, times: actor.times });
    actor.ribbon = this.painter.upload("ribbon", numbers);
  }

  // The moment of an episode that is shown now, the next one, and the share of the way to it.
  moment({ times }) {
    const after = times.findIndex((time) => time > this.time);
    if (after <= 0) return after ? [times.length - 1, times.length - 1, 0] : [0, 0, 0];
    return [after - 1, after, (this.time - times[after - 1]) / (times[after] - times[after - 1])];
  }

  // Numbers of an episode, so many per moment, as they are now.
  now(actor, numbers, width) {
    const [a, b, share] = this.moment(actor);
    const blend = (j) => numbers[width * a + j] * (1 - share) + numbers[width * b + j] * share;
    return Array.from({ length: width }, (_, j) => blend(j));
  }

  // Where on the ground an actor is now; null before its episode is known.
  position(actor) {
    return actor.path ? this.now(actor, actor.path, 2) : null;
  }

  // Adds an actor's shapes: a robot's, or a ball where there is only a place.
  pose(view, actor, solids) {
    const ground = this.position(actor);
    if (!ground) return;
    const { run } = view;
    const aside = this.lane(run, actor.slot);
    if (actor.poses) {
      const pose = this.now(actor, actor.poses, run.robot.rest.length);
      this.stand(view, { pose, ground, aside, color: actor.color }, solids);
    } else if (run.moves) {
      const radius = 0.016 * this.reach;
      const ball = new DOMMatrix().translate(ground[0], ground[1] + aside, radius).scale3d(radius);
      solids.sphere.push(...ball.toFloat32Array(), ...actor.color);
    }
  }

  stand(view, { pose, ground, aside = 0, color }, solids) {
    const found = shapes(view.run.robot, pose, { size: this.options.size, ground, aside });
    for (const [name, matrices] of Object.entries(found))
      for (const matrix of matrices) solids[name].push(...matrix, ...color);
  }
}
