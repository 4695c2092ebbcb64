// The mutations on stage: the best of each click, or all of the last.

import { hued, robotColor } from "explorer/clouds";
import { begin, freeSlot, leave, scene, state } from "explorer/stage";

const MOST = 8; // of earlier clicks' best ones
const ALL_LANES = 0.32; // of a line's lanes, when everybody walks: they stand closer

export const number = (value, digits = 2) => Number(value.toPrecision(digits)).toLocaleString("en");

function enter(actor) {
  state.actors.push(actor);
  if (state.tab.moves) scene.setRibbon(actor);
}

export const clear = () => state.actors.forEach(leave);

// The best of a click goes where it was sent; with `others` everybody of that click walks too.
export function walk(best, others) {
  if (others.length) clear();
  state.actors.filter((actor) => actor.isOther).forEach(leave);
  while (state.actors.length >= MOST) leave(state.actors[0]);
  const slot = freeSlot();
  enter({ run: 0, ...best, slot, color: robotColor(slot) });
  others.forEach((other, k) => {
    const look = { label: "", slot: ALL_LANES * (k + 2), color: hued((360 * k) / others.length, 0.5) };
    enter({ run: 0, ...other, ...look, ...other.look, isOther: true });
  });
  begin();
}
