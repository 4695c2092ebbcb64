// Random numbers as JAX draws them on a CPU: Threefry-2x32, addressed by a key and a counter. Keys are pairs of
// 32-bit words. Products and sums are rounded together where a CPU does: the product is exact in a double.

const f = Math.fround;
const single = (numbers) => Float32Array.from(numbers);
const LOWEST = f(-0.99999994);

// The two words of the last result: a member's noise asks for 75,000 of them, and an array for each would cost more.
let [first, second] = [0, 0];

// Twenty rounds, a part of the key after every four.
function threefry(k0, k1, x0, x1) {
  const k2 = k0 ^ k1 ^ 0x1bd11bda;
  let a = (x0 + k0) | 0;
  let b = (x1 + k1) | 0;
  for (let group = 0; group < 5; group++) {
    const isOdd = group & 1;
    a = (a + b) | 0; b = a ^ (isOdd ? (b << 17) | (b >>> 15) : (b << 13) | (b >>> 19));
    a = (a + b) | 0; b = a ^ (isOdd ? (b << 29) | (b >>> 3) : (b << 15) | (b >>> 17));
    a = (a + b) | 0; b = a ^ (isOdd ? (b << 16) | (b >>> 16) : (b << 26) | (b >>> 6));
    a = (a + b) | 0; b = a ^ (isOdd ? (b << 24) | (b >>> 8) : (b << 6) | (b >>> 26));
    const step = group % 3;
    a = (a + (step === 0 ? k1 : step === 1 ? k2 : k0)) | 0;
    b = (b + (step === 0 ? k2 : step === 1 ? k0 : k1) + group + 1) | 0;
  }
  first = a;
  second = b;
}

// JAX's fold_in; its split into several keys is the same with their numbers.
export function fold([k0, k1], number) {
  threefry(k0, k1, 0, number);
  return [first, second];
}

function bits(k0, k1, index) {
  threefry(k0, k1, 0, index);
  return (first ^ second) >>> 0;
}

// From 0 to 1, without it.
const fraction = (word) => (word >>> 9) * 2 ** -23;

export function uniform([k0, k1], index, low, high) {
  return Math.max(f(low), f(fraction(bits(k0, k1, index)) * f(high - low) + f(low)));
}

// An integer below a number, as jax.random.randint draws it.
export function integer(key, below) {
  const [high, low] = [0, 1].map((part) => bits(...fold(key, part), 0) % below);
  const factor = (65536 % below) ** 2 % below;
  return (high * factor + low) % below;
}

export function normals([k0, k1], number) {
  const found = new Float32Array(number);
  for (let k = 0; k < number; k++) found[k] = normal(bits(k0, k1, k));
  return found;
}

const NEAR = single([
  2.8102264e-08, 3.4327394e-07, -3.5233877e-06, -4.3915065e-06, 0.00021858087, -0.001253725, -0.0041776816,
  0.24664073, 1.5014094,
]);
const FAR = single([
  -0.00020021426, 0.00010095056, 0.0013493432, -0.0036734284, 0.0057395077, -0.0076224613, 0.0094388705,
  1.001674, 2.8329768,
]);
const ROOT = f(Math.SQRT2);

// The inverse of the error function by Giles' polynomials, times the square root of 2.
function normal(word) {
  const u = Math.max(LOWEST, f(fraction(word) * 2 + LOWEST));
  const w = f(-log1p(f(-f(u * u))));
  const p = w < 5 ? polynomial(NEAR, f(w - 2.5)) : polynomial(FAR, f(f(Math.sqrt(w)) - 3));
  return f(ROOT * f(p * u));
}

function polynomial(factors, x) {
  let sum = factors[0];
  for (let k = 1; k < factors.length; k++) sum = f(sum * x + factors[k]);
  return sum;
}

const ABOVE = single([
  4.527e-05, 0.49854103, 6.5787325, 29.911919,
  60.94967, 57.112965, 20.039553,
]);
const BELOW = single([
  1, 15.062909, 83.04757, 221.7624, 309.09872,
  216.42789, 60.11866,
]);
const SMALL = f(Math.SQRT2 - 1);

// The logarithm of 1 + x, for x from -1 to 0: Cephes' approximations, as XLA writes them out.
function log1p(x) {
  if (x <= -SMALL) return logarithm(f(1 + x));
  const square = f(x * x);
  const share = f(polynomial(ABOVE, x) / polynomial(BELOW, x));
  return f(x + f(-0.5 * square + f(f(x * square) * share)));
}

const LOG = single([
  0.070376836, -0.1151461, 0.116769984, -0.12420141, 0.14249323, -0.16668057,
  0.20000714, -0.24999994, 0.3333333,
]);
const [HALF_ROOT, LOG2_LOW, LOG2_HIGH] = single([Math.SQRT1_2, -0.00021219444, 0.6933594]);
const asFloat = new Float32Array(1);
const asBits = new Int32Array(asFloat.buffer);

function logarithm(x) {
  asFloat[0] = x;
  let exponent = (asBits[0] >>> 23) - 126;
  asBits[0] = (asBits[0] & 0x7fffff) | 0x3f000000;
  let m = asFloat[0];
  if (m < HALF_ROOT) exponent--;
  m = m < HALF_ROOT ? f(f(m - 1) + m) : f(m - 1);
  const square = f(m * m);
  const cube = f(square * m);
  const part = (k) => f(f(LOG[k] * m + LOG[k + 1]) * m + LOG[k + 2]);
  const sum = f(f(part(0) * cube + part(3)) * cube + part(6));
  const low = f(sum * cube + f(LOG2_LOW * exponent));
  return f(LOG2_HIGH * exponent + f(f(m - f(0.5 * square)) + low));
}
