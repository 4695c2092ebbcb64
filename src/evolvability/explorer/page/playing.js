// Time: of the episodes on stage, and of the generations that go by.

import { showGeneration } from "explorer/generations";
import { $, fail, redraw, scene, state } from "explorer/state";

const GENERATIONS_PER_SECOND = 10;
const LONGEST_STEP = 0.1; // seconds between two frames: a page that was hidden does not leap

export const duration = () => Math.max(0, ...state.actors.map((actor) => actor.times?.at(-1) ?? 0));

export function restart() {
  state.time = 0;
  setPlaying(true);
}

// What has just come plays by itself; to who asked for less motion its end is shown.
export function begin() {
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) return restart();
  state.time = duration();
  redraw();
}

export function setPlaying(playing) {
  state.playing = playing;
  $("play").textContent = playing ? "❚❚" : "▶";
  redraw();
}

export function setTouring(touring) {
  state.touring = touring;
  $("generations").textContent = touring ? "❚❚" : "▶";
}

let [before, toured] = [performance.now(), 0];
export function frame(now) {
  const passed = Math.min(LONGEST_STEP, (now - before) / 1000);
  before = now;
  if (state.playing) {
    state.time = Math.min(duration(), state.time + passed * Number($("speed").value));
    setPlaying(state.time < duration());
  }
  if (state.touring && now - toured > 1000 / GENERATIONS_PER_SECOND && state.drawn === state.step) {
    toured = now;
    state.step = Math.min(state.step + 1, state.steps.length - 1);
    setTouring(state.step < state.steps.length - 1);
    showGeneration().catch(fail);
  }
  if (state.dirty) {
    state.dirty = false;
    showTime();
    scene.draw();
    window.explorer.frames++;
  }
  requestAnimationFrame(frame);
}

function showTime() {
  scene.time = state.time;
  const whole = duration();
  $("time").max = whole || 1;
  if (document.activeElement !== $("time") || state.playing) $("time").value = state.time;
  $("clock").textContent = `${state.time.toFixed(1)} / ${whole.toFixed(1)} s`;
  const followed = state.actors.at(-1);
  if ($("follow").checked && followed?.path) {
    const [x, y] = scene.position(followed);
    scene.camera.target = [x, y + scene.lane(state.runs[followed.run], followed.slot), 0];
  }
  for (const actor of state.actors) if (actor.pictures) showPicture(actor);
}

function showPicture(actor) {
  const picture = actor.pictures[scene.moment(actor)[0]];
  Object.assign(actor.frame, { width: picture.width, height: picture.height });
  actor.frame.getContext("2d").drawImage(picture, 0, 0);
}

export function setSize() {
  scene.options.size = Number($("size").value);
  $("sized").textContent = `× ${scene.options.size}`;
  redraw();
}
