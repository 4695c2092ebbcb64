// The choice of axes: which behaviors lie across, along and above the ground.

import { showGeneration } from "explorer/generations";
import { $, fail, scene, state } from "explorer/state";

const AXES = ["across", "along", "above"];

export function offerAxes({ behavior }) {
  $("axes").hidden = behavior.length < 3;
  for (const [k, id] of AXES.entries()) {
    for (const [at, name] of behavior.entries()) $(id).add(new Option(name, at));
    $(id).onchange = () => choose(k).catch(fail);
  }
  showChoice();
}

const showChoice = () => AXES.forEach((id, k) => ($(id).value = scene.chosen[k] ?? ""));

// No behavior lies along two axes: the one that had it takes what this one had before, or what is free.
function choose(k) {
  const wanted = AXES.map((id) => $(id).value);
  const other = wanted.findIndex((value, j) => j !== k && value === wanted[k]);
  const free = Array.from($("across").options, ({ value }) => value).find((value) => !wanted.includes(value));
  if (other >= 0) wanted[other] = scene.chosen[k] ?? free;
  return setAxes(wanted.filter((value) => value !== "").map(Number));
}

export function setAxes(chosen) {
  scene.setAxes(chosen);
  showChoice();
  state.touched = false;
  scene.views.forEach((view, index) => scene.setPool(index, view.fresh ?? []));
  for (const actor of state.actors) actor.target = null; // a place on another ground
  return showGeneration();
}
