// What a click asks for: on a point that very mutation, on the ground the nearest of some fresh ones.

import { bringOn } from "explorer/actors";
import { isStatic, remembering } from "explorer/answers";
import { spotOf } from "explorer/axes";
import { freshGeneration, obstacle } from "explorer/generations";
import { $, addressOf, place, redraw, row, rows, say, scene, shownOf, state } from "explorer/state";

const poolOf = remembering(64);

export async function pick(index, x, y) {
  const run = state.runs[index];
  if (run.playable === false) return say(obstacle(run));
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
  const why = obstacle(run);
  if (!why) return playMember(run, shownOf(run), member, { recorded, spot });
  const nearest = () => findNearest(run, groundOf(run, recorded));
  const ended = `Member ${member} ended at ${place(run, recorded)}. ${why}`;
  say(ended, "find the nearest", run.rebuildable.length ? nearest : null);
}

// In a file without a server: the nearest of the members whose motions it holds.
async function playHeld(run, member, clicked) {
  const { embedded } = run;
  if (!embedded) return findNearest(run, groundOf(run, clicked));
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

// The paper's adaptation: of k fresh mutations, the one that comes nearest to where the ground was clicked.
async function findNearest(run, target) {
  if (!run.rebuildable.length) return say(obstacle(run));
  const k = Math.min(state.mutations, Math.max(1, Math.round(Number($("k").value) || 40)));
  const generation = freshGeneration(run);
  const where = addressOf(run, generation);
  const behaviors = [];
  while (behaviors.length < k) {
    say(`Trying fresh mutations of the center of generation ${generation}: ${behaviors.length} of ${k} …`);
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
  say(`${drawn}, number ${chosen} comes nearest: ${missed} away.`);
  const about = { generation, what: `fresh.${chosen}`, label: `fresh ${chosen}`, target, missed, k, distance };
  await bringOn(run, about, `replay?${where}&fresh=${chosen}`);
}
