// Who is who: from a mutation's number to its parameters, exactly as the library draws them.

import { fold, integer, normals, uniform } from "playground/random";

const FRESH = 6; // the purpose of a key, as in evolvability.core.keys
const TOGETHER = 20; // fresh mutations are drawn in chunks of so many
const f = Math.fround;

// The address of a mutation that the run never tried: the keys that its noise and its start follow from, and its draw.
export function addressOf({ key }, { fresh }) {
  const [chunk, draw] = [Math.floor(fresh / TOGETHER), fresh % TOGETHER];
  const own = fold(key, FRESH);
  const episode = fold(fold(own, 1), chunk);
  return { noise: fold(fold(own, 0), chunk), draw, start: fold(fold(episode, 0), draw) };
}

// The parameters at an address: (component's center) + scale * noise. `factor` multiplies the scale.
export function parametersAt(population, center, { noise: key, draw }, factor = 1) {
  const { kind, components, generation, scale, size } = population;
  const isMixed = kind === "mixture";
  const component = isMixed ? integer(fold(fold(fold(key, 1), generation), draw), components) : 0;
  const noise = noiseOf(population, fold(fold(isMixed ? fold(key, 0) : key, generation), draw));
  const found = new Float32Array(size);
  const first = size * component;
  for (let k = 0; k < size; k++) {
    const own = scale[scale.length > components ? first + k : component]; // for each parameter, or for all
    found[k] = center[first + k] + f(f(factor * own) * noise[k]);
  }
  return found;
}

function noiseOf({ kind, size, short, shapes, rank }, key) {
  const round = short ? shortened : (numbers) => numbers;
  if (kind !== "low_rank") return round(normals(key, size));
  const lengths = shapes.map((shape) => lengthOf(shape, rank));
  const numbers = round(normals(key, lengths.reduce((a, b) => a + b, 0)));
  const found = new Float32Array(size);
  let [from, to] = [0, 0];
  shapes.forEach((shape, k) => {
    const own = numbers.subarray(from, from + lengths[k]);
    const whole = lengths[k] === product(shape) ? own : product2(own, shape, rank, round);
    found.set(whole, to);
    from += lengths[k];
    to += whole.length;
  });
  return found;
}

const product = (shape) => shape.reduce((a, b) => a * b, 1);

// How many random numbers the noise of one array takes: that of a matrix comes in factors where these are smaller.
function lengthOf(shape, rank) {
  const inFactors = rank * (product(shape.slice(0, -1)) + shape.at(-1));
  return shape.length > 1 && inFactors < product(shape) ? inFactors : product(shape);
}

function product2(numbers, shape, rank, round) {
  const [rows, columns] = [product(shape.slice(0, -1)), shape.at(-1)];
  const [root] = round(Float32Array.of(Math.sqrt(rank))); // JAX rounds it as it does the noise
  const right = round(numbers.subarray(rank * rows).map((one) => one / root));
  const found = new Float32Array(rows * columns);
  for (let r = 0; r < rank; r++)
    for (let i = 0; i < rows; i++)
      for (let o = 0; o < columns; o++)
        found[i * columns + o] += f(numbers[r * rows + i] * right[r * columns + o]);
  return found;
}

// Rounded to bfloat16, to the nearest, ties to even.
function shortened(numbers) {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  const rounded = words.map((word) => (word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000);
  return new Float32Array(rounded.buffer);
}

// Where a robot's joints are at the start; those that are named by their places may vary, within a range if it has one.
export function startPose({ start, noise, joints, range }, key) {
  const pose = [...start];
  if (noise) for (const [k, at] of joints.entries()) pose[at] = f(start[at] + uniform(key, k, -noise, noise));
  return range && noise ? pose.map((value, k) => f(Math.min(Math.max(value, range[0][k]), range[1][k]))) : pose;
}
