// What hands pick: by a click that very member, or on the ground the nearest of some fresh ones; by a rectangle many.

import { bringOn, remove } from "explorer/actors";
import { nearest, spotOf } from "explorer/axes";
import { mean, robotColor } from "explorer/clouds";
import { addressOf, askArrays, episodesOf, freshGeneration, obstacle } from "explorer/runs";
import { place, row, rows, shownOf } from "explorer/runs";
import { $, freeSlot, redraw, say, scene, state } from "explorer/stage";

const ARROWS = { ArrowLeft: [-15, 0], ArrowRight: [15, 0], ArrowUp: [0, -15], ArrowDown: [0, 15] }; // pixels
const SMALLEST = 4; // a rectangle with a shorter side is a click

export function pick(x, y) {
  const index = scene.viewAt(x, y);
  const run = state.runs[index];
  if (run.playable === false) return say(obstacle(run));
  const found = scene.memberAt(index, x, y);
  if (found !== null) return pickRow(index, found);
  const ground = scene.groundAt(index, x, y);
  if (!ground) return say("That is above the horizon. Click a point, or the ground.");
  return findNearest(run, [ground[0], run.flat ? 0 : ground[1]]);
}

// A member of the population, rebuilt from its address.
export function pickRow(index, found) {
  const run = state.runs[index];
  const { cloud } = scene.views[index];
  const [member, recorded] = [cloud.index.data[found], row(cloud.behavior, found)];
  const instead = () => findNearest(run, groundOf(run, recorded));
  const why = obstacle(run);
  if (!why) return playMember(run, member, { recorded, spot: scene.spot(index, found) }, episodesOf(cloud, found));
  const ended = `Member ${member} ended at ${place(run, recorded)}. ${why}`;
  say(ended, "find the nearest", run.rebuildable.length ? instead : null);
}

const groundOf = (run, behavior) => spotOf(run, behavior).slice(0, 2);

// A member walks in all of its episodes at once, in one color.
function playMember(run, member, about, episodes) {
  const generation = shownOf(run);
  const question = `replay?${addressOf(run, generation)}&member=${member}`;
  const who = { generation, what: `member.${member}`, label: `#${member}`, ...about };
  if (!episodes.length) return bringOn(run, who, question);
  const color = robotColor(freeSlot());
  const played = episodes.slice(0, state.most).map((recorded, k) => {
    const own = { what: `${who.what}.${k}`, label: `#${member}, episode ${k + 1}`, color, recorded, episodes };
    return bringOn(run, { ...who, ...own }, `${question}&episode=${k}`);
  });
  return Promise.all(played);
}

// The paper's adaptation: of k fresh mutations, the one that comes nearest to where the ground was clicked.
async function findNearest(run, target) {
  if (!run.rebuildable.length) return say(obstacle(run));
  const k = Math.max(1, Math.round(Number($("k").value) || 40));
  const generation = freshGeneration(run);
  const where = addressOf(run, generation);
  const behaviors = [];
  while (behaviors.length < k) {
    say(`Trying fresh mutations of the center of generation ${generation}: ${behaviors.length} of ${k} …`);
    const { behavior, valid } = await askArrays(`fresh?${where}&chunk=${behaviors.length / state.together}`);
    behaviors.push(...rows(behavior).map((one, j) => (valid.data[j] ? one : null)));
  }
  const tried = behaviors.slice(0, k);
  const [chosen, distance] = nearest(tried.map((one) => one && groundOf(run, one)), target);
  if (distance === Infinity) return say("None of these mutations is valid: their simulations broke down.");
  scene.setPool(run.index, tried.filter(Boolean));
  redraw();
  const missed = `${distance.toFixed(2)}${scene.unit}`;
  const drawn = `Of ${k} fresh mutations of the center of generation ${generation}`;
  say(`${drawn}, number ${chosen} comes nearest: ${missed} away.`);
  const about = { generation, what: `fresh.${chosen}`, label: `fresh ${chosen}`, target, missed, k, distance };
  await bringOn(run, about, `replay?${where}&fresh=${chosen}`);
}

let rectangle = new DOMRect(); // its sides are negative where it was drawn backwards

export function listenToSelection() {
  const veil = $("veil");
  $("select").onclick = () => setSelecting(veil.hidden);
  $("unselect").onclick = () => select(0, []);
  veil.onpointerdown = ({ pointerId, offsetX, offsetY }) => {
    veil.setPointerCapture(pointerId);
    setRectangle(offsetX, offsetY, 0, 0);
  };
  veil.onpointermove = ({ buttons, offsetX, offsetY }) => {
    const { x, y } = rectangle;
    if (buttons) setRectangle(x, y, offsetX - x, offsetY - y);
  };
  veil.onpointerup = finish;
  veil.onkeydown = (event) => {
    const { x, y, width, height } = rectangle;
    const [dx, dy] = ARROWS[event.key] ?? [];
    if (dx !== undefined && event.shiftKey) setRectangle(x, y, width + dx, height + dy);
    else if (dx !== undefined) setRectangle(x + dx, y + dy, width, height);
    else if (event.key === "Enter") finish();
    else if (event.key === "Escape") setSelecting(false);
    else return;
    event.preventDefault();
    event.stopPropagation(); // arrows mean generations elsewhere
  };
}

function setSelecting(isOn) {
  $("veil").hidden = !isOn;
  $("select").setAttribute("aria-pressed", isOn);
  const { clientWidth: width, clientHeight: height } = $("stage");
  setRectangle(0.4 * width, 0.4 * height, 0.2 * width, 0.2 * height); // to begin with, for arrows to move
  (isOn ? $("veil") : $("select")).focus();
}

function setRectangle(...sides) {
  rectangle = new DOMRect(...sides);
  const { left, top, right, bottom } = rectangle;
  $("rectangle").style.inset = `${top}px calc(100% - ${right}px) calc(100% - ${bottom}px) ${left}px`;
}

function finish() {
  const { left, top, right, bottom } = rectangle;
  if (Math.min(right - left, bottom - top) < SMALLEST) return say("Drag a rectangle around the members to select.");
  const index = scene.viewAt(left, top);
  const matrix = scene.pageMatrix(index).toFloat32Array();
  const isInside = (k) => {
    const [x, y] = scene.project(index, scene.spot(index, k), matrix);
    return left <= x && x <= right && top <= y && y <= bottom;
  };
  const found = [...scene.views[index].cloud.index.data.keys()].filter(isInside);
  if (!found.length) return say("No member is drawn in this rectangle.");
  setSelecting(false);
  select(index, found);
}

function select(index, found) {
  const run = state.runs[index];
  const average = mean(found.flatMap((k) => row(run.cloud.behavior, k)), run.dimensions);
  for (const one of state.runs) one.chosen = null;
  if (found.length) run.chosen = { rows: new Set(found), mean: average };
  scene.setClouds();
  redraw();
  $("selection").hidden = !found.length;
  if (!found.length) return;
  const { cloud } = run;
  const [number, all] = [found.length, cloud.index.data.length].map((count) => count.toLocaleString());
  $("selected").textContent = `${number} of ${all}, generation ${shownOf(run)}`;
  const [fitness] = mean(found.map((k) => cloud.fitness.data[k]), 1);
  const able = obstacle(run) ? [] : found;
  const why = able.length ? "" : "They cannot be watched.";
  $("summary").textContent = `Mean ${place(run, average)}, mean fitness ${fitness.toFixed(2)}. ${why}`;
  const each = cloud.episodes?.shape[1] ?? 1; // walkers that a member is on stage
  const most = Math.min(Math.max(1, Math.floor(state.most / each)), able.length);
  const some = Array.from({ length: most }, (_, j) => able[Math.floor((j * able.length) / most)]); // evenly
  $("watch").textContent = most && most < found.length ? `watch ${most} of them` : "watch them";
  $("watch").disabled = !most;
  $("watch").onclick = () => {
    state.actors.forEach(remove);
    for (const k of some) pickRow(run.index, k);
  };
}
