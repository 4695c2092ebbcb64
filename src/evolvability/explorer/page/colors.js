// Colors: one map from low to high, one set for kinds, one for the robots on stage.

const parsed = (text) => [0, 2, 4].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
const VIRIDIS = "440154 482878 3e4a89 31688e 26828e 1f9e89 35b779 6dcd59 b4de2c fde725".split(" ").map(parsed);
// Okabe and Ito's, which people with any kind of color vision can tell apart, brightened for a dark floor.
const KINDS = "56b4e9 e69f00 2fc79a f07ab8 f0e442 f2702e 5a8dee d0d4dc".split(" ").map(parsed);
const STEPS = 255;
const GRADES = Array.from({ length: STEPS + 1 }, (_, k) => between(k / STEPS)); // looked up: a cloud asks 10,000 times

export const css = (color, alpha = 1) => `rgba(${color.map((c) => Math.round(255 * c)).join(",")},${alpha})`;
export const kind = (index) => KINDS[index % KINDS.length];
export const graded = (share) => GRADES[Math.round(STEPS * Math.min(1, Math.max(0, share || 0)))];

// From 0 to 1; the darkest colors are left out, as they would drown in the floor.
function between(share) {
  const place = (0.18 + 0.82 * share) * (VIRIDIS.length - 1);
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
