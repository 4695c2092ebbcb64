// How members are shown: where each of them lies, in which color, and how many lie where.

import { spotOf } from "explorer/axes";

const parsed = (text) => [0, 2, 4].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
const VIRIDIS = "440154 482878 3e4a89 31688e 26828e 1f9e89 35b779 6dcd59 b4de2c fde725".split(" ").map(parsed);
// Okabe and Ito's, which people with any kind of color vision can tell apart, brightened for a dark floor.
const KINDS = "56b4e9 e69f00 2fc79a f07ab8 f0e442 f2702e 5a8dee d0d4dc".split(" ").map(parsed);
const HEAT_SIDE = 128;

export const css = (color, alpha = 1) => `rgba(${color.map((c) => Math.round(255 * c)).join(",")},${alpha})`;
export const kind = (index) => KINDS[index % KINDS.length];

// From low, 0, to high, 1; the darkest colors are left out, as they would drown in the floor.
export function graded(share) {
  const place = (0.18 + 0.82 * Math.min(1, Math.max(0, share || 0))) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(place));
  return VIRIDIS[low].map((c, k) => c + (VIRIDIS[low + 1][k] - c) * (place - low));
}

// A color of the wheel, by its angle in degrees: HSL to RGB.
export function hued(angle, light = 0.62) {
  const part = (n) => {
    const k = (n + angle / 30) % 12;
    return light - 0.9 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return [part(0), part(8), part(4)];
}

// By the golden angle: neighbors in order lie far apart on the wheel.
export const robotColor = (index) => hued((18 + 137.508 * index) % 360, 0.6);

// Where each member is drawn, three numbers each. On a line, members that behave alike stack up: a histogram.
export function layout(behavior, { dimensions, flat, axes }, reach) {
  const number = behavior.length / dimensions;
  const places = new Float32Array(3 * number);
  for (let k = 0; k < number; k++)
    places.set(spotOf({ axes }, behavior.subarray(dimensions * k, dimensions * (k + 1))), 3 * k);
  if (!flat) return places;
  const width = (2 * reach) / Math.min(180, Math.max(20, 3 * Math.sqrt(number))); // few members, wide bins
  const counts = new Map();
  const ranks = Array.from(behavior, (value) => {
    const bin = Math.round(value / width);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
    return counts.get(bin) - 1;
  });
  const step = Math.min(reach / 45, (0.6 * reach) / Math.max(...counts.values()));
  ranks.forEach((rank, k) => (places[3 * k + 1] = 0.07 * reach + step * rank));
  return places;
}

// What colors stand for: numbers from `low` to `high`, or kinds, which have none.
export function shades({ behavior, fitness, component }, by, { dimensions, flat, places }) {
  if (by === "component") return { of: (k) => kind(component.data[k]), label: by };
  const angle = (k) => (180 / Math.PI) * Math.atan2(places[3 * k + 1], places[3 * k]);
  if (by === "direction") return { of: (k) => hued((360 + angle(k)) % 360), label: by };
  const distance = (_, k) => Math.hypot(places[3 * k], flat ? 0 : places[3 * k + 1]);
  const further = (_, k) => behavior.data[dimensions * k + Number(by)]; // any behavior, by its number
  const values = by === "fitness" ? fitness.data : fitness.data.map(by === "distance" ? distance : further);
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
  const most = Math.max(1e-9, ...counts);
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
