// Which behaviors lie along the directions of the scene, and on what scale.

const ALIKE = 4; // behaviors of different units get scales of their own where one reaches so many times as far

// Where in the scene a behavior is: on the ground, or above it where there is a third axis.
export function spotOf({ axes }, behavior) {
  const [x, y = 0, z = 0] = axes.map(({ at, low, scale }) => (behavior[at] - low) * scale);
  return [x, y, z];
}

// The unit that some names share, as it follows a number, of "x (m)" " m"; empty if they share none.
export function unitOfAll(names) {
  const [unit, ...others] = new Set(names.map((name) => / \((.+)\)$/.exec(name)?.[1]));
  return unit && !others.length ? ` ${unit}` : "";
}

// Axes for the behaviors chosen, two on the ground and perhaps one upwards: a behavior is drawn at (it - low) * scale.
// `walks` tells whether the ground is the one that robots walk on.
export function axesOf(runs, chosen) {
  const [run] = runs;
  const bound = (at, end, pick) => pick(...runs.map((one) => one.ranges[at][end]));
  const ranges = chosen.map((at) => [bound(at, 0, Math.min), bound(at, 1, Math.max)]);
  const halves = ranges.map(([low, high]) => (high - low) / 2 || 1);
  const names = chosen.map((at) => run.behavior[at]);
  const isPlace = !run.robot || names.slice(0, 2).every((name, k) => name.endsWith(`${"xy"[k]} (m)`));
  const isGround = chosen[0] === 0 && (run.flat || chosen[1] === 1) && isPlace;
  const unit = unitOfAll(chosen.slice(0, 2).map((at) => run.behavior[at]));
  const isUneven = Math.max(...halves.slice(0, 2)) > ALIKE * Math.min(...halves.slice(0, 2));
  // What is not known to stay in its place may move.
  const isOwn = isUneven && !unit && !(isGround && runs.some(({ moves }) => moves !== false));
  const beyond = Math.max(...ranges.slice(0, 2).flat().map(Math.abs)) || 1;
  const ground = Math.max(...runs.map((one) => Math.max(one.reach, one.robot?.reach ?? 0)));
  const reach = isOwn ? 1 : isGround ? ground : beyond;
  const axes = chosen.map((at, k) => {
    // A robot's hand is where it is; of other behaviors the lowest stand on the ground.
    if (k === 2 && run.robot && isGround && names[k].endsWith("z (m)")) return { at, low: 0, scale: 1 };
    if (k === 2) return { at, low: ranges[k][0], scale: reach / (2 * halves[k]) };
    return isOwn ? { at, low: ranges[k][0] + halves[k], scale: 1 / halves[k] } : { at, low: 0, scale: 1 };
  });
  return { axes, reach, unit: isOwn ? " of the ground's radius" : unit, walks: isGround && !isOwn, isOwn };
}

// The round number next to one that is about right: 1, 2 or 5 times a power of ten.
export function niceStep(about) {
  const power = 10 ** Math.floor(Math.log10(about));
  return power * ([1, 2, 5].find((factor) => factor * power >= about * 0.75) ?? 10);
}

// Which of some behaviors is nearest to the one that is wanted, and how far away; those that are null are passed over.
export function nearest(behaviors, wanted) {
  const misses = behaviors.map((one) => (one ? Math.hypot(...wanted.map((x, j) => x - one[j])) : Infinity));
  const distance = misses.reduce((a, b) => Math.min(a, b), Infinity);
  return [misses.indexOf(distance), distance];
}
