// The scene: every run's cloud on a floor of its own, seen by one camera, and the mutations that walk on it.

import { axesOf, niceStep, spotOf } from "explorer/axes";
import { heatPicture, layout, mean, shades } from "explorer/clouds";
import { Painter } from "explorer/drawing";
import { showPictures, write } from "explorer/labels";
import { degrees, shapes } from "explorer/robots";

const WIDE = (38 * Math.PI) / 180;
const TELE = (11 * Math.PI) / 180; // keeps the stacks of a histogram upright
const PICK_PIXELS = 6;
const STANDING = [0.75, 0.79, 0.86];

export class Scene {
  // stage: {actors, time}, of which others take care.
  constructor(canvas, labels, stage) {
    Object.assign(this, { canvas, labels, stage, painter: new Painter(canvas), views: [], camera: {}, hover: null });
    this.options = { show: "points", color: "distance", size: 1 };
  }

  // runs: [{name, behavior, dimensions, flat, reach, ranges}]; what is drawn of them is kept with them.
  setRuns(runs) {
    this.views = runs.map((run) => Object.assign(run, { centers: [] }));
    const { dimensions } = runs[0];
    this.setAxes([0, 1, 2].slice(0, dimensions > 3 ? 2 : dimensions));
  }

  // Which behaviors lie across, along and, if there are three, above the ground.
  setAxes(chosen) {
    Object.assign(this, axesOf(this.views, chosen), { chosen });
    for (const view of this.views) view.axes = this.axes;
    this.lift = this.axes.length > 2 ? 0.42 * this.reach : 0;
    this.resetCamera();
    this.setClouds();
  }

  resetCamera() {
    const [{ flat }] = this.views;
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

  // What is known is laid out and painted anew, as axes and options now are.
  setClouds() {
    this.views.forEach(({ cloud, fresh, freshColors }, index) => {
      if (cloud) this.setCloud(index, cloud);
      if (fresh) this.setPool(index, fresh, freshColors);
    });
  }

  // cloud: {behavior, fitness, component} of all members.
  setCloud(index, cloud) {
    const view = this.views[index];
    const { data } = cloud.behavior;
    const places = layout(data, view, this.reach);
    const colors = shades(cloud, this.options.color, { ...view, places });
    const numbers = new Float32Array(2 * places.length);
    for (let k = 0; k < places.length / 3; k++) {
      const isDim = view.dimmed || view.chosen?.rows.has(k) === false; // beside those that were selected
      const light = isDim ? 0.3 : 1;
      numbers.set([...places.subarray(3 * k, 3 * k + 3), ...colors.of(k).map((part) => light * part)], 6 * k);
    }
    const points = this.painter.upload("point", numbers, view.points);
    const isHeated = !view.flat && this.options.show !== "points";
    const heat = isHeated ? this.painter.texture(heatPicture(places, this.reach)) : null;
    const middle = data.length ? mean(data, view.dimensions) : null;
    Object.assign(view, { cloud, places, points, heat, shades: colors, mean: middle });
  }

  // Where a member of the cloud is drawn.
  spot(index, row) {
    return this.views[index].places.subarray(3 * row, 3 * row + 3);
  }

  // Fresh mutations, as points, white ones by default; of a single dimension beside the line, where stacks leave room.
  setPool(index, fresh, freshColors = fresh.map(() => [1, 1, 1])) {
    const view = this.views[index];
    const at = (one) => (view.flat ? [one[0], 0.035 * this.reach, 0] : spotOf(view, one));
    const pool = this.painter.upload("point", fresh.flatMap((one, k) => [...at(one), ...freshColors[k]]), view.pool);
    Object.assign(view, { fresh, freshColors, pool });
  }

  // The part of the page that a run's view covers, in CSS pixels: side by side, or lines above each other.
  frame(index) {
    const [width, height, number] = [this.canvas.clientWidth, this.canvas.clientHeight, this.views.length];
    if (this.views[0].flat) return { left: 0, top: (index * height) / number, width, height: height / number };
    return { left: (index * width) / number, top: 0, width: width / number, height };
  }

  viewAt(x, y) {
    const share = this.views[0].flat ? y / this.canvas.clientHeight : x / this.canvas.clientWidth;
    return Math.min(this.views.length - 1, Math.max(0, Math.floor(share * this.views.length)));
  }

  // From the world to what is seen, -1 to 1 in each direction. The camera looks down along its z-axis from a distance.
  matrix(index) {
    const { target: [x, y], yaw, pitch, distance } = this.camera;
    const { width, height } = this.frame(index);
    const [near, far, f] = [distance / 100, distance * 12, 1 / Math.tan(this.angle / 2)];
    const [depth, shift] = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const perspective = [(f * height) / width, 0, 0, 0, 0, f, 0, 0, 0, 0, depth, -1, 0, 0, shift, 0];
    const tilted = new DOMMatrix(perspective).translate(0, 0, -distance).rotateAxisAngle(1, 0, 0, degrees(pitch) - 90);
    return tilted.rotateAxisAngle(0, 0, 1, -90 - degrees(yaw)).translate(-x, -y, -this.lift);
  }

  // From the world to places on the page, in CSS pixels.
  pageMatrix(index) {
    const { left, top, width, height } = this.frame(index);
    const page = new DOMMatrix().translate(left + width / 2, top + height / 2).scale(width / 2, -height / 2);
    return page.multiply(this.matrix(index));
  }

  // Where a point of the world is on the page; not a number behind the camera. By hand: it is asked for every member.
  project(index, [x, y, z = 0], m = this.pageMatrix(index).toFloat32Array()) {
    const along = (k) => m[k] * x + m[k + 4] * y + m[k + 8] * z + m[k + 12];
    const w = along(3) > 0 ? along(3) : NaN;
    return [along(0) / w, along(1) / w];
  }

  // Where on the ground the page is touched; null above the horizon.
  groundAt(index, x, y) {
    const onGround = { m13: 0, m23: 0, m33: 1, m43: 0, m31: 0, m32: 0, m34: 0 }; // where there is no height
    const at = Object.assign(this.pageMatrix(index), onGround).inverse().transformPoint({ x, y });
    return at.w > 0 ? [at.x / at.w, at.y / at.w] : null;
  }

  // The member drawn nearest to a place on the page, if it is near enough.
  memberAt(index, x, y) {
    const { places } = this.views[index];
    if (!places || this.options.show === "density") return null;
    const matrix = this.pageMatrix(index).toFloat32Array();
    let [nearest, found] = [PICK_PIXELS, null];
    for (let row = 0; row < places.length / 3; row++) {
      const [u, v] = this.project(index, this.spot(index, row), matrix);
      const away = Math.hypot(u - x, v - y);
      if (away < nearest) [nearest, found] = [away, row];
    }
    return found;
  }

  draw() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((side) => Math.round(side * ratio));
    for (const canvas of [this.canvas, this.labels]) // to set a size clears a canvas, even if it is the old one
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = this.labels.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.views.forEach((view, index) => this.drawView(view, index, ratio, pen));
    showPictures(pen, this);
  }

  drawView(view, index, ratio, pen) {
    const { painter, reach, walks, isOwn, options: { show, size }, stage: { actors, time } } = this;
    const { left, top, width, height } = this.frame(index);
    const box = [left, this.canvas.clientHeight - top - height, width, height].map((side) => Math.round(side * ratio));
    const spacing = niceStep(reach / 3.4);
    painter.begin(box, this.matrix(index).toFloat32Array());
    painter.floor({ extent: reach * 6, spacing, reach, rings: !view.flat && !isOwn, heat: view.heat });
    const side = Math.max(2.2, Math.min(7, 325 / Math.sqrt(view.points.count))); // many members, small points
    if (show !== "density" || view.flat) painter.points(view.points, ratio * side, this.lift);
    if (view.pool) painter.points(view.pool, ratio * 6, this.lift);
    const own = actors.filter((actor) => actor.run === index);
    const walkers = walks ? own.filter(({ poses, path }) => poses || (view.moves && path)) : [];
    for (const { ribbon, color } of walkers)
      if (ribbon) painter.draw(ribbon, { now: time, color, width: 0.008 * reach });
    const drawn = walkers.map((actor) => this.solid(view, actor));
    const standing = { size, ground: [0, 0], aside: 0, color: STANDING };
    if (walks && view.robot && !actors.length) drawn.push(shapes(view.robot, view.robot.start, standing));
    painter.solids(drawn.flatMap(({ solids }) => solids), this.meshesOf(view.robot, drawn));
    write(this, pen, { view, index, actors: own, walkers, spacing });
  }

  // The meshes of robots, each with all the places that it is drawn in.
  meshesOf(robot, drawn) {
    if (!robot) return [];
    const triangles = ({ vertices, faces }) => faces.flatMap((face) => face.flatMap((corner) => vertices[corner]));
    robot.painted ??= robot.meshes.map((mesh) => this.painter.mesh(triangles(mesh)));
    const all = drawn.flatMap(({ meshes }) => meshes);
    return robot.painted.map((made, k) => [made, all.filter(({ mesh }) => mesh === k).flatMap(({ row }) => row)]);
  }

  // A runner of one dimension has a lane of its own, as it could not step aside.
  lane(view, slot) {
    return view.flat ? -(0.055 + 0.055 * slot) * this.reach : 0;
  }

  setRibbon(actor) {
    const aside = this.lane(this.views[actor.run], actor.slot);
    const at = (k) => [actor.path[2 * k], actor.path[2 * k + 1] + aside, actor.times[k]];
    const pieces = Array.from(actor.times.subarray(1), (_, k) => [...at(k), ...at(k + 1)]);
    actor.ribbon = this.painter.upload("ribbon", pieces.flat());
  }

  // The moment of an episode that is shown now, the next one, and the share of the way to it.
  moment({ times }) {
    const { time } = this.stage;
    const after = times.findIndex((one) => one > time);
    if (after <= 0) return after ? [times.length - 1, times.length - 1, 0] : [0, 0, 0];
    return [after - 1, after, (time - times[after - 1]) / (times[after] - times[after - 1])];
  }

  // Numbers of an episode, so many per moment, as they are now.
  now(actor, numbers, width) {
    const [a, b, share] = this.moment(actor);
    const blend = (j) => numbers[width * a + j] * (1 - share) + numbers[width * b + j] * share;
    return Array.from({ length: width }, (_, j) => blend(j));
  }

  // Where on the ground an actor is now.
  position(actor) {
    const [x, y] = this.now(actor, actor.path, 2);
    return [x, y + this.lane(this.views[actor.run], actor.slot)];
  }

  // Numbers that draw an actor: its robot, or a ball where there is only a place.
  solid(view, actor) {
    const { poses, color, slot, broken } = actor;
    const [x, y] = this.position(actor);
    if (poses) {
      const aside = this.lane(view, slot);
      const pose = this.now(actor, poses, view.robot.rest.length);
      return shapes(view.robot, pose, { size: this.options.size, ground: [x, y - aside], aside, color, broken });
    }
    const radius = 0.016 * this.reach;
    const ball = new DOMMatrix().translate(x, y, radius).scale3d(radius);
    return { solids: [...ball.toFloat32Array(), ...color, 0], meshes: [] };
  }
}
