// The mutations on stage: the best of each click, or all of the last; and the time that passes for them.

import { hued, robotColor } from "explorer/colors";
import { $, isStill, redraw, scene, state } from "playground/page";

const MOST = 8; // of earlier clicks' best ones
const LONGEST_STEP = 0.1; // seconds between two frames: a page that was hidden does not leap
const ALL_LANES = 0.32; // of a line's lanes, when everybody walks: they stand closer

const duration = () => Math.max(0, ...state.actors.map((actor) => actor.times.at(-1)));

function enter(actor) {
  state.actors.push({ run: 0, ...actor });
  if (state.tab.moves) scene.setRibbon(state.actors.at(-1));
}

function leave(actor) {
  scene.painter.release(actor.ribbon);
  state.actors.splice(state.actors.indexOf(actor), 1);
}

export function clear() {
  while (state.actors.length) leave(state.actors[0]);
  showPlayer();
}

// The best of a click goes where it was sent; with `others` everybody of that click walks too.
export function walk(best, others) {
  [...state.actors].filter((actor) => actor.isOther).forEach(leave);
  if (others.length) clear();
  while (state.actors.length >= MOST) leave(state.actors[0]);
  const used = new Set(state.actors.map((actor) => actor.slot));
  const slot = Array.from({ length: MOST }, (_, k) => k).find((k) => !used.has(k));
  enter({ ...best, slot: others.length ? 0 : slot, color: robotColor(slot) });
  others.forEach((other, k) => {
    const look = { label: "", slot: ALL_LANES * (k + 2), color: hued((360 * k) / others.length, 0.5) };
    enter({ ...other, ...look, isOther: true });
  });
  state.time = isStill ? duration() : 0;
  setPlaying(!isStill);
  showPlayer();
}

export function setPlaying(playing) {
  state.playing = playing && duration() > 0;
  $("play").textContent = state.playing ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", state.playing ? "pause" : "play");
  redraw();
}

function showPlayer() {
  $("player").hidden = duration() === 0;
  redraw();
}

export function toggle() {
  if (state.time >= duration()) state.time = 0;
  setPlaying(!state.playing);
}

// Moves the clock on, and shows it.
let before = 0;
export function pass(now) {
  const passed = Math.min(LONGEST_STEP, (now - before) / 1000);
  before = now;
  if (state.playing) {
    state.time = Math.min(duration(), state.time + passed * Number($("speed").value));
    if (state.time >= duration()) setPlaying(false);
    redraw();
  }
  if (!state.dirty) return;
  scene.time = state.time;
  $("time").max = duration() || 1;
  if (document.activeElement !== $("time") || state.playing) $("time").value = state.time;
  $("clock").textContent = `${state.time.toFixed(1)} s`;
}

export function listenToPlayer() {
  $("play").onclick = toggle;
  $("time").oninput = () => {
    setPlaying(false);
    state.time = Number($("time").value);
  };
}
