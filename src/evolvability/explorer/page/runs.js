// The runs that are shown: questions about them and the answers, which generation is looked at, and who can be watched.

import { state } from "explorer/stage";

const TYPES = { F32: Float32Array, U32: Uint32Array, U8: Uint8Array };
const SHOWN_NUMBERS = 4; // of a behavior; more would fill the page

// `steps` are the generations that some run recorded, `step` is where among them the slider is, `drawn` what is seen.
Object.assign(state, { runs: [], steps: [], step: 0, drawn: -1, seed: 0, touring: false });

export async function ask(question) {
  const response = await fetch(`ask/${question}`).catch(() => {
    throw new Error("The explorer has stopped. Start it again: ees explore RUN");
  });
  if (!response.ok) throw new Error(await response.text());
  return response;
}

// Arrays by name, each {data, shape}, as the safetensors format lays them out.
export async function askArrays(question) {
  const bytes = await (await ask(question)).arrayBuffer();
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const read = ([name, { dtype, shape, data_offsets: [from, to] }]) => {
    const own = bytes.slice(8 + length + from, 8 + length + to); // a copy, as arrays must begin at multiples of 4
    return [name, { data: new TYPES[dtype](own), shape }];
  };
  return Object.fromEntries(Object.entries(header).map(read));
}

// The rows of a matrix, as arrays.
export const row = ({ data, shape: [, width] }, k) => Array.from(data.subarray(width * k, width * (k + 1)));
export const rows = (matrix) => Array.from({ length: matrix.shape[0] }, (_, k) => row(matrix, k));

// What member k of a cloud did in each of its episodes; none of members that have one.
export function episodesOf({ episodes, behavior: { shape: [, dimensions] } }, k) {
  if (!episodes) return [];
  const [, number] = episodes.shape;
  const matrix = { data: episodes.data, shape: [0, dimensions] };
  return Array.from({ length: number }, (_, episode) => row(matrix, number * k + episode));
}

export const generationNow = () => state.steps[state.step];
export const nearestOf = (numbers, wanted) =>
  numbers.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
export const shownOf = (run) => nearestOf(run.recorded, generationNow());
export const seedOf = (run) => Math.min(state.seed, run.seeds.length - 1);
export const addressOf = (run, generation) => `run=${run.index}&seed=${seedOf(run)}&generation=${generation}`;

export function place(run, behavior) {
  const numbers = behavior.slice(0, SHOWN_NUMBERS).map((value) => value.toFixed(2));
  return `(${numbers.join(", ")}${behavior.length > SHOWN_NUMBERS ? ", …" : ""})${run.unit}`;
}

// How far apart the episodes of a member end, at most: much of what a mutation does may be luck.
export function spread(run, episodes) {
  const gaps = episodes.flatMap((one) => episodes.map((other) => Math.hypot(...one.map((x, j) => x - other[j]))));
  return `its ${episodes.length} episodes end up to ${Math.max(...gaps).toFixed(2)}${run.unit} apart`;
}

export const freshGeneration = (run) =>
  run.rebuildable.includes(shownOf(run)) ? shownOf(run) : run.rebuildable.at(-1);

// Why members of the generation shown cannot be watched; empty if they can, or if nobody knows yet.
export function obstacle(run) {
  if (run.playable === false) return `Mutations of this run cannot be evaluated here: ${run.why}`;
  if (!run.rebuildable.length) return "No center of this run was kept, so its mutations cannot be rebuilt and watched.";
  const fresh = `fresh mutations of the center of generation ${freshGeneration(run)}`;
  if (run.rebuildable.includes(shownOf(run))) return "";
  return `The center of generation ${shownOf(run)} was not kept, so its members cannot be watched; ${fresh} can.`;
}
