// The page's parts by name, its messages, and what is shown now.

import { Scene } from "explorer/scene";

export const $ = (id) => document.getElementById(id);
export const table = JSON.parse($("table").textContent);
export const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;

// For eyes and for screen readers alike.
export const say = (text) => ($("message").textContent = text);

// What goes wrong before anything is drawn is said too: a browser without WebGL, for one.
window.addEventListener("error", ({ message }) => say(message));

// `tab` is what is looked at; `actors` are the mutations on stage.
export const state = { tab: null, actors: [], time: 0, playing: false, dirty: true };
export const scene = new Scene($("scene"), $("labels"), state.actors);

// To be called when something has changed: the next frame shows it.
export const redraw = () => (state.dirty = true);

export const number = (value, digits = 2) => Number(value.toPrecision(digits)).toLocaleString("en");
