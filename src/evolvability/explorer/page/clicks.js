// What a click asks for: on a point that very mutation, on the ground the nearest of some fresh ones.

import { bringOn } from "explorer/actors";
import { isStatic, remembering } from "explorer/answers";
import { spotOf } from "explorer/axes";
import { $, addressOf, place, redraw, row, rows, say, scene, shownOf, state } from "explorer/state";

const poolOf = remembering(64);

export async function pick(index, x, y) {
  const run = state.runs[index];
  if (run.playable === false) return say(`Mutations of this run cannot be evaluated here: ${run.why}`);
  const found = scene.memberAt(index, x, y);
  if (found !== null) return pickRow(index, found);
  const ground = scene.groundAt(index, x, y);
  if (!ground) return say("That is above the horizon. Click a point, or the ground.");
  await findNearest(run, [ground[0], run.flat ? 0 : ground[1]]);
}

export function pickRow(index, found) {
  const { cloud } = scene.views[index];
  const [member, recorded] = [cloud.index.data[found], row(cloud.behavior, found)];
  return (isStatic ? playHeld : play)(state.runs[index], member, recorded, scene.spot(index, found));
}

// A place on the ground has two numbers, whatever it is compared with has.
const away = (one, other) => Math.hypot(...other.map((value, j) => value - one[j]));
const groundOf = (run, behavior) => spotOf(run, behavior).slice(0, 2);

function nearest(behaviors, wanted) {
  const misses = behaviors.map((one) => (one ? away(one, wanted) : Infinity));
  const distance = misses.reduce((a, b) => Math.min(a, b), Infinity);
  return [misses.indexOf(distance), distance];
}

const playMember = (run, generation, member, about) =>
  bringOn(
    run,
    { generation, what: `member.${member}`, label: `#${member}`, ...about },
    `replay?${addressOf(run, generation)}&member=${member}`,
  );

// A member of the population, rebuilt from its address.
async function play(run, member, recorded, spot) {
  const generation = shownOf(run);
  if (run.rebuildable.includes(generation)) return playMember(run, generation, member, { recorded, spot });
  const ended = `Member ${member} ended at ${place(run, recorded)}.`;
  if (!run.rebuildable.length) return say(`${ended} No center was kept, so nothing can be rebuilt.`);
  say(
    `${ended} The center of generation ${generation} was not kept, so it cannot be rebuilt and watched. ` +
      `Fresh mutations of the center of generation ${freshGeneration(run)} can.`,
    "find the nearest",
    () => findNearest(run, groundOf(run, recorded)),
  );
}

// In a file without a server: the nearest of the members whose motions it holds.
async function playHeld(run, member, clicked) {
  const { embedded } = run;
  if (!embedded) {
    say("No center of a recorded generation was kept, so this file has fresh mutations of the last center only.");
    return findNearest(run, groundOf(run, clicked), false);
  }
  const { generation, members, behavior } = embedded;
  const [held, distance] = nearest(behavior, clicked);
  const [number, missed] = [members[held], `${distance.toFixed(2)}${run.unit}`];
  const isShown = generation === shownOf(run);
  const isIt = number === member && isShown;
  if (!isIt)
    say(
      `This file has the motions of ${members.length} of the ${run.population_size.toLocaleString()} mutations of ` +
        `generation ${generation} (circled there). The one that ends nearest to where you clicked is #${number}: ` +
        `${missed} away.`,
    );
  const spot = isShown ? scene.views[run.index].marked[members.indexOf(number)] : undefined;
  const aside = isIt ? "" : `${missed} from the mutation you clicked`;
  await playMember(run, generation, number, { recorded: behavior[held], spot, aside });
}

// A file has the mutations of its last center alone.
const freshGeneration = (run) =>
  run.rebuildable.includes(shownOf(run)) && !isStatic ? shownOf(run) : run.rebuildable.at(-1);

// The paper's adaptation: of k fresh mutations, the one that comes nearest to where the ground was clicked.
async function findNearest(run, target, isTold = true) {
  if (!run.rebuildable.length) return say("This run has no checkpoint yet, so there is no center to mutate.");
  const tell = isTold ? say : () => {};
  const k = Math.min(state.mutations, Math.max(1, Math.round(Number($("k").value) || 40)));
  const generation = freshGeneration(run);
  const where = addressOf(run, generation);
  const behaviors = [];
  while (behaviors.length < k) {
    tell(`Trying fresh mutations of the center of generation ${generation}: ${behaviors.length} of ${k} …`);
    const { behavior, valid } = await poolOf(`fresh?${where}&chunk=${behaviors.length / state.together}`);
    behaviors.push(...rows(behavior).map((one, j) => (valid.data[j] ? one : null)));
  }
  const tried = behaviors.slice(0, k);
  const ends = tried.map((one) => one && groundOf(run, one));
  const [chosen, distance] = nearest(ends, target);
  if (distance === Infinity) return say("None of these mutations is valid: their simulations broke down.");
  scene.setPool(run.index, tried.filter(Boolean));
  redraw();
  const missed = `${distance.toFixed(2)}${scene.unit}`;
  const drawn = `Of ${k} fresh mutations of the center of generation ${generation}`;
  tell(`${drawn}, number ${chosen} comes nearest: ${missed} away.`);
  const about = { generation, what: `fresh.${chosen}`, label: `fresh ${chosen}`, target, missed, k, distance };
  await bringOn(run, about, `replay?${where}&fresh=${chosen}`);
}
