// What is shown now: the runs, the generation, the mutations on stage, and the scene they stand in.

import { Scene } from "explorer/scene";

export const $ = (id) => document.getElementById(id);
export const state = { runs: [], steps: [], step: 0, seed: 0, actors: [], time: 0, playing: false, touring: false, drawn: -1, dirty: true };
export const scene = new Scene($("scene"), $("labels"));

// To be called when something has changed: the next frame shows it.
export const redraw = () => (state.dirty = true);

export const generationNow = () => state.steps[state.step];
export const nearestOf = (numbers, wanted) => numbers.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
export const shownOf = (run) => nearestOf(run.recorded, generationNow());
export const seedOf = (run) => Math.min(state.seed, run.seeds.length - 1);
export const addressOf = (run, generation) => `run=${run.index}&seed=${seedOf(run)}&generation=${generation}`;

// The rows of a matrix, as arrays.
export const rows = ({ data, shape: [number, width] }) => Array.from({ length: number }, (_, k) => Array.from(data.subarray(width * k, width * (k + 1))));

const SHOWN_NUMBERS = 4; // of a behavior; more would fill the page
export function place(run, behavior) {
  const numbers = behavior.slice(0, SHOWN_NUMBERS).map((value) => value.toFixed(2));
  return `(${numbers.join(", ")}${behavior.length > SHOWN_NUMBERS ? ", …" : ""})${run.unit}`;
}

// Text is only ever set as text: a run's names cannot become part of the page.
export function element(tag, text, attributes = {}, children = []) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function say(text, offer = "", action = null) {
  clearTimeout(state.silence);
  $("message").replaceChildren(element("span", text));
  if (action) {
    const button = element("button", offer);
    button.onclick = () => action();
    $("message").append(button);
  }
  $("message").hidden = false;
  state.silence = setTimeout(() => ($("message").hidden = true), action ? 30000 : 9000);
}

export const fail = (error) => say(error.message);
