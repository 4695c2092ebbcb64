// Members selected by a rectangle: how many they are, what they do on average, and how they walk.

import { remove } from "explorer/actors";
import { isStatic } from "explorer/answers";
import { pickRow } from "explorer/clicks";
import { mean } from "explorer/clouds";
import { obstacle } from "explorer/generations";
import { $, fail, place, redraw, row, say, scene, shownOf, state } from "explorer/state";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const STEP = 15; // pixels that an arrow moves the rectangle
const SMALLEST = 4; // a rectangle with a shorter side is a click

let corners = [[0, 0], [0, 0]];

export function listenToSelection() {
  const veil = $("veil");
  $("select").onclick = () => setSelecting(veil.hidden);
  $("unselect").onclick = () => select(0, []);
  veil.onpointerdown = ({ pointerId, offsetX, offsetY }) => {
    veil.setPointerCapture(pointerId);
    stretch([offsetX, offsetY], [offsetX, offsetY]);
  };
  veil.onpointermove = ({ buttons, offsetX, offsetY }) => buttons && stretch(corners[0], [offsetX, offsetY]);
  veil.onpointerup = finish;
  veil.onkeydown = (event) => {
    const { key, shiftKey } = event;
    const moved = (corner) => corner.map((side, j) => side + STEP * ARROWS[key][j]);
    if (key in ARROWS) stretch(shiftKey ? corners[0] : moved(corners[0]), moved(corners[1]));
    else if (key === "Enter") finish();
    else if (key === "Escape") setSelecting(false);
    else return;
    event.preventDefault();
    event.stopPropagation(); // arrows mean generations elsewhere
  };
}

function setSelecting(isOn) {
  $("veil").hidden = !isOn;
  $("select").setAttribute("aria-pressed", isOn);
  const { clientWidth: width, clientHeight: height } = $("stage");
  stretch([0.4 * width, 0.4 * height], [0.6 * width, 0.6 * height]); // to begin with, for arrows to move
  (isOn ? $("veil") : $("select")).focus();
}

function stretch(one, other) {
  corners = [one, other];
  const [left, top] = one.map((side, j) => `${Math.min(side, other[j])}px`);
  const [width, height] = one.map((side, j) => `${Math.abs(side - other[j])}px`);
  Object.assign($("rectangle").style, { left, top, width, height });
}

function finish() {
  const [low, high] = [Math.min, Math.max].map((pick) => [0, 1].map((j) => pick(corners[0][j], corners[1][j])));
  if (low.some((side, j) => high[j] - side < SMALLEST)) return say("Drag a rectangle around the members to select.");
  const index = scene.viewAt(...low);
  const matrix = scene.matrix(index).toFloat32Array();
  const isInside = (k) =>
    scene.project(index, scene.spot(index, k), matrix)?.every((side, j) => side >= low[j] && side <= high[j]);
  const found = [...scene.views[index].cloud.index.data.keys()].filter(isInside);
  if (!found.length) return say("No member is drawn in this rectangle.");
  setSelecting(false);
  select(index, found);
}

function select(index, found) {
  for (const view of scene.views) {
    const { run, cloud } = view;
    const own = run.index === index ? found : [];
    const behavior = own.flatMap((k) => row(cloud.behavior, k));
    view.chosen = own.length ? { rows: new Set(own), mean: mean(behavior, run.dimensions) } : null;
    scene.paint(run.index, $("color").value);
  }
  redraw();
  $("selection").hidden = !found.length;
  if (found.length) tell(scene.views[index], found);
}

function tell({ run, cloud, chosen }, found) {
  const number = found.length.toLocaleString();
  $("selected").textContent = `${number} of ${cloud.index.data.length.toLocaleString()}, generation ${shownOf(run)}`;
  const fitness = mean(found.map((k) => cloud.fitness.data[k]), 1)[0].toFixed(2);
  const isHeld = (k) => run.embedded?.generation === shownOf(run) && run.embedded.members.includes(cloud.index.data[k]);
  const able = obstacle(run) ? [] : isStatic ? found.filter(isHeld) : found;
  const why = able.length ? "" : obstacle(run) ? "They cannot be watched." : "This file has the motions of none.";
  $("summary").textContent = `Mean ${place(run, chosen.mean)}, mean fitness ${fitness}. ${why}`;
  const most = Math.min(state.most, able.length);
  const some = Array.from({ length: most }, (_, j) => able[Math.floor((j * able.length) / most)]); // evenly
  $("watch").textContent = most && most < found.length ? `watch ${most} of them` : "watch them";
  $("watch").disabled = !most;
  $("watch").onclick = () => {
    [...state.actors].forEach(remove);
    Promise.all(some.map((k) => pickRow(run.index, k))).catch(fail);
  };
}
