// What a click asks for: on a point that very mutation, on the ground the nearest of some fresh ones.

import { addActor, simulate } from "explorer/actors";
import { askArrays, isStatic, remembering } from "explorer/answers";
import { $, addressOf, place, redraw, rows, say, scene, shownOf, state } from "explorer/state";

const poolOf = remembering(64, (question) => askArrays(question));

export async function pick(index, x, y) {
  const run = state.runs[index];
  if (run.playable === false) return say(`Mutations of this run cannot be evaluated here: ${run.why}`);
  const row = scene.memberAt(index, x, y);
  if (row !== null) return pickRow(index, row);
  const ground = scene.groundAt(index, x, y);
  if (ground) return findNearest(run, run.dimensions === 1 ? [ground[0]] : ground);
}

export function pickRow(index, row) {
  const view = scene.views[index];
  return (isStatic ? playHeld : play)(state.runs[index], view.cloud.index.data[row], behaviorOf(view, row), spotOf(view, row));
}

export const behaviorOf = (view, row) => Array.from(view.cloud.behavior.data.subarray(view.run.dimensions * row, view.run.dimensions * (row + 1)));
const spotOf = (view, row) => [view.places[2 * row], view.places[2 * row + 1]];
const onGround = (run, behavior) => behavior.slice(0, Math.min(2, run.dimensions));
const away = (one, other) => Math.hypot(...other.map((value, j) => one[j] - value));

// A member of the population, rebuilt from its address.
async function play(run, member, recorded, spot) {
  const generation = shownOf(run);
  if (!run.rebuildable.includes(generation)) {
    if (!run.rebuildable.length) return say(`Member ${member} ended at ${place(run, recorded)}. No center was kept, so nothing can be rebuilt.`);
    return say(
      `Member ${member} ended at ${place(run, recorded)}. The center of generation ${generation} was not kept, so it cannot be rebuilt and watched. Fresh mutations of the center of generation ${freshGeneration(run)} can.`,
      "find the nearest",
      () => findNearest(run, onGround(run, recorded)),
    );
  }
  const actor = addActor(run, { generation, what: `member.${member}`, label: `#${member}`, recorded, spot });
  await simulate(actor, run, `replay?${addressOf(run, generation)}&member=${member}`);
}

// In a file without a server: the nearest of the members whose motions it holds.
async function playHeld(run, member, clicked) {
  const { embedded } = run;
  if (!embedded) {
    say("The centers of this run's recorded generations were not kept, so this file has no recorded mutation to watch, but fresh ones of the last center.");
    return findNearest(run, onGround(run, clicked), "");
  }
  const misses = embedded.behavior.map((one) => away(one, clicked));
  const nearest = misses.indexOf(Math.min(...misses));
  const [held, recorded, missed] = [embedded.members[nearest], embedded.behavior[nearest], `${misses[nearest].toFixed(2)}${run.unit}`];
  const { generation } = embedded;
  const isIt = held === member && generation === shownOf(run);
  const aside = isIt ? "" : `${missed} from the mutation you clicked`;
  if (!isIt) say(`This file has the motions of ${embedded.members.length} of the ${run.population_size.toLocaleString()} mutations of generation ${generation} (circled there). The one that ends nearest to where you clicked is #${held}: ${missed} away.`);
  const row = shownOf(run) === generation ? scene.views[run.index].cloud.index.data.indexOf(held) : -1;
  const spot = row < 0 ? undefined : spotOf(scene.views[run.index], row);
  const actor = addActor(run, { generation, what: `member.${held}`, label: `#${held}`, recorded, spot, aside });
  await simulate(actor, run, `replay?${addressOf(run, generation)}&member=${held}`);
}

const freshGeneration = (run) => (run.rebuildable.includes(shownOf(run)) && !isStatic ? shownOf(run) : run.rebuildable.at(-1));

// The paper's adaptation: of k fresh mutations, the one that comes nearest to where the ground was clicked.
async function findNearest(run, target, progress = "Trying fresh mutations") {
  if (!run.rebuildable.length) return say("This run has no checkpoint yet, so there is no center to mutate.");
  const k = Math.min(state.mutations, Math.max(1, Math.round(Number($("k").value) || 40)));
  const generation = freshGeneration(run);
  const where = addressOf(run, generation);
  const behaviors = [];
  for (let chunk = 0; chunk * state.together < k; chunk++) {
    if (progress) say(`${progress} of the center of generation ${generation}: ${Math.min(k, chunk * state.together)} of ${k} …`);
    const { behavior, valid } = await poolOf(`fresh?${where}&chunk=${chunk}`);
    behaviors.push(...rows(behavior).map((one, j) => (valid.data[j] ? one : null)));
  }
  const tried = behaviors.slice(0, k);
  const misses = tried.map((one) => (one ? away(one, target) : Infinity));
  const chosen = misses.indexOf(Math.min(...misses));
  if (!Number.isFinite(misses[chosen])) return say("None of these mutations is valid: their simulations broke down.");
  showPool(run, tried);
  const missed = `${misses[chosen].toFixed(2)}${run.unit}`;
  if (progress) say(`Of ${k} fresh mutations of the center of generation ${generation}, number ${chosen} comes nearest: ${missed} away.`);
  const actor = addActor(run, { generation, what: `fresh.${chosen}`, label: `fresh ${chosen}`, target: run.dimensions === 1 ? [target[0], 0] : target, missed, k, distance: misses[chosen] });
  await simulate(actor, run, `replay?${where}&fresh=${chosen}`);
}

function showPool(run, behaviors) {
  const view = scene.views[run.index];
  const numbers = behaviors.filter(Boolean).flatMap((one) => [one[0], run.dimensions === 1 ? 0.035 * scene.reach : one[1], 1, 1, 1]);
  scene.painter.release(view.pool?.buffer);
  view.pool = { buffer: scene.painter.buffer(new Float32Array(numbers)), count: numbers.length / 5 };
  redraw();
}
