// What is shown now: the runs, the generation, the mutations on stage, and the scene they stand in.

import { button, element } from "explorer/elements";
import { Scene } from "explorer/scene";

const SHOWN_NUMBERS = 4; // of a behavior; more would fill the page
const SECONDS_TO_READ = 9;
const SECONDS_TO_DECIDE = 30;

export const $ = (id) => document.getElementById(id);

// `steps` are the generations that some run recorded, `step` is where among them the slider is, `drawn` what is seen.
export const state = {
  runs: [], steps: [], step: 0, drawn: -1, seed: 0,
  actors: [], time: 0, playing: false, touring: false, dirty: true,
};
export const scene = new Scene($("scene"), $("labels"), state.actors);

// To be called when something has changed: the next frame shows it.
export const redraw = () => (state.dirty = true);

export const generationNow = () => state.steps[state.step];
export const nearestOf = (numbers, wanted) =>
  numbers.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
export const shownOf = (run) => nearestOf(run.recorded, generationNow());
export const seedOf = (run) => Math.min(state.seed, run.seeds.length - 1);
export const addressOf = (run, generation) => `run=${run.index}&seed=${seedOf(run)}&generation=${generation}`;

// The rows of a matrix, as arrays.
export const row = ({ data, shape: [, width] }, k) => Array.from(data.subarray(width * k, width * (k + 1)));
export const rows = (matrix) => Array.from({ length: matrix.shape[0] }, (_, k) => row(matrix, k));

export function place(run, behavior) {
  const numbers = behavior.slice(0, SHOWN_NUMBERS).map((value) => value.toFixed(2));
  return `(${numbers.join(", ")}${behavior.length > SHOWN_NUMBERS ? ", …" : ""})${run.unit}`;
}

// Shows a message for a while, with something to do about it, if given.
export function say(text, offer = "", action = null) {
  clearTimeout(state.silence);
  $("message").replaceChildren(element("span", text), ...(action ? [button(offer, action)] : []));
  $("message").hidden = false;
  state.silence = setTimeout(() => ($("message").hidden = true), 1000 * (action ? SECONDS_TO_DECIDE : SECONDS_TO_READ));
}

export const fail = (error) => say(error.message);
