// How a generation's members are shown: where each of them lies, in which color, and how many lie where.

import { graded, hued, kind } from "explorer/colors";

export const HEAT_SIDE = 128;

// Where each member is drawn, three numbers each; `at` gives a behavior's place. Of a single dimension, members that
// behave alike stack up: a histogram.
export function layout(behavior, dimensions, reach, at) {
  const number = behavior.length / dimensions;
  const places = new Float32Array(3 * number);
  if (dimensions >= 2) {
    for (let k = 0; k < number; k++)
      places.set(at(behavior.subarray(dimensions * k, dimensions * (k + 1))), 3 * k);
    return places;
  }
  const width = (2 * reach) / Math.min(180, Math.max(20, 3 * Math.sqrt(number))); // few members, wide bins
  const counts = new Map();
  const ranks = Array.from(behavior, (value) => {
    const bin = Math.round(value / width);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
    return counts.get(bin) - 1;
  });
  const tallest = largest(counts.values());
  const step = Math.min(reach / 45, (0.6 * reach) / tallest);
  ranks.forEach((rank, k) => places.set([behavior[k], 0.07 * reach + step * rank], 3 * k));
  return places;
}

// In a loop, as there may be more numbers than a call can have arguments.
function largest(numbers) {
  let found = 1e-9;
  for (const number of numbers) found = Math.max(found, number);
  return found;
}

// What colors stand for: numbers from 0 to 1 (then with `low` and `high`), or kinds.
export function shades({ behavior: { data: behavior }, fitness, component }, by, { dimensions, axes }) {
  if (by === "component") return { of: (k) => kind(component.data[k]), label: by };
  const ground = axes.slice(0, 2).map(({ at, low, scale }) => (k) => (behavior[dimensions * k + at] - low) * scale);
  if (by === "direction") {
    const angle = (k) => (180 / Math.PI) * Math.atan2(ground[1](k), ground[0](k));
    return { of: (k) => hued((360 + angle(k)) % 360), label: by };
  }
  const distance = (_, k) => Math.hypot(...ground.map((along) => along(k)));
  const further = (_, k) => behavior[dimensions * k + Number(by)]; // any behavior, by its number
  const found = by === "distance" ? distance : further;
  const values = by === "fitness" ? fitness.data : Float32Array.from(fitness.data, found);
  const sorted = values.toSorted();
  const low = by === "distance" ? 0 : sorted[Math.floor(0.01 * sorted.length)];
  const high = sorted[Math.floor(0.99 * (sorted.length - 1))]; // a few far away do not make all others alike
  return { of: (k) => graded((values[k] - low) / (high - low || 1)), label: by, low, high };
}

// A picture of how many members are where, smoothed, to lay on the floor.
export function heatPicture(places, reach) {
  let counts = new Float32Array(HEAT_SIDE * HEAT_SIDE);
  const cell = (place) => Math.floor((place / (2.6 * reach) + 0.5) * HEAT_SIDE);
  const isInside = (k) => k >= 0 && k < HEAT_SIDE;
  for (let k = 0; k < places.length; k += 3) {
    const [i, j] = [cell(places[k]), cell(places[k + 1])];
    if (isInside(i) && isInside(j)) counts[j * HEAT_SIDE + i]++;
  }
  for (const stride of [1, HEAT_SIDE, 1, HEAT_SIDE])
    counts = counts.map((count, k, all) => 0.5 * count + 0.25 * ((all[k - stride] ?? 0) + (all[k + stride] ?? 0)));
  const most = largest(counts);
  const bytes = new Uint8Array(4 * counts.length);
  for (const [k, count] of counts.entries()) {
    const share = Math.sqrt(count / most); // a root, so that thin places are seen beside the densest
    bytes.set([...graded(share).map((c) => 255 * c), 235 * Math.min(1, 1.6 * share)], 4 * k);
  }
  return bytes;
}

export function mean(behavior, dimensions) {
  const sums = Array.from({ length: dimensions }, () => 0);
  for (const [k, value] of behavior.entries()) sums[k % dimensions] += value;
  return sums.map((sum) => sum / Math.max(1, behavior.length / dimensions));
}
