// Evolvability ES in the page: draw, try, weigh, ascend. As in the library, and with its random numbers.

import { fold, normals } from "playground/random";

const NOISE = 0; // the purpose of a key, as in evolvability.core.keys
const ADAM = { first: 0.9, second: 0.999, tiny: 1e-8 };
const average = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// Mean zero and standard deviation one in every dimension.
function standardized(behaviors) {
  const columns = behaviors[0].map((_, j) => behaviors.map((one) => one[j]));
  const scaled = columns.map((column) => {
    const mean = average(column);
    const spread = Math.sqrt(average(column.map((one) => (one - mean) ** 2)));
    return column.map((one) => (spread > 0 ? (one - mean) / spread : 0));
  });
  return behaviors.map((_, k) => scaled.map((column) => column[k]));
}

// What every member pulls by, from what all of them do.
export const OBJECTIVES = {
  // The variance of behaviors: the square of one's distance from their mean.
  max_variance: (behaviors) => standardized(behaviors).map((one) => one.reduce((sum, x) => sum + x * x, 0)),

  // The entropy: minus the log of the density where one is, less one's share in that of the others.
  max_entropy(behaviors) {
    const points = standardized(behaviors);
    const kernel = (a, b) => Math.exp(-0.5 * a.reduce((sum, x, j) => sum + (x - b[j]) ** 2, 0));
    const rows = points.map((one) => points.map((other) => kernel(one, other)));
    const densities = rows.map(average);
    return rows.map((row, k) => -Math.log(densities[k]) - average(row.map((value, i) => value / densities[i])));
  },

  // Standard ES: ranks of the first behavior, which is the fitness here.
  mean_fitness(behaviors) {
    const order = behaviors.map(([x]) => x).toSorted((a, b) => a - b);
    return behaviors.map(([x]) => (order.indexOf(x) + order.lastIndexOf(x)) / 2 / (order.length - 1) - 0.5);
  },
};

export class Evolution {
  // settings: {size, sigma, rate, l2, mirrored, optimizer, objective}; any of them may change on the way.
  constructor(center, key, settings) {
    Object.assign(this, { key, settings, center: Float64Array.from(center), generation: 0 });
    this.moments = [0, 1].map(() => new Float64Array(center.length));
  }

  // One generation; `behaviorOf` tries parameters. What everybody did comes back, in the order of their numbers.
  step(behaviorOf) {
    const { center, generation, settings: { size, sigma, mirrored, objective } } = this;
    const signs = mirrored ? [1, -1] : [1];
    const key = fold(fold(this.key, NOISE), generation);
    const draws = Array.from({ length: size / signs.length }, (_, draw) => normals(fold(key, draw), center.length));
    const member = (noise, sign) => center.map((one, k) => one + sign * sigma * noise[k]);
    const behaviors = draws.flatMap((noise) => signs.map((sign) => behaviorOf(member(noise, sign))));
    const weights = OBJECTIVES[objective](behaviors);
    const middle = average(weights);
    const gradient = new Float64Array(center.length);
    for (const [d, noise] of draws.entries()) {
      const pull = signs.reduce((sum, sign, s) => sum + sign * (weights[d * signs.length + s] - middle), 0);
      for (let k = 0; k < center.length; k++) gradient[k] += (pull * noise[k]) / sigma / size;
    }
    this.ascend(gradient);
    return behaviors;
  }

  ascend(gradient) {
    const { center, moments: [mean, square], settings: { rate, l2, optimizer } } = this;
    const turn = ++this.generation;
    for (let k = 0; k < center.length; k++) {
      const slope = gradient[k] - l2 * center[k];
      mean[k] = ADAM.first * mean[k] + (1 - ADAM.first) * slope;
      square[k] = ADAM.second * square[k] + (1 - ADAM.second) * slope * slope;
      const size = Math.sqrt(square[k] / (1 - ADAM.second ** turn)) + ADAM.tiny;
      center[k] += rate * (optimizer === "adam" ? mean[k] / (1 - ADAM.first ** turn) / size : slope);
    }
  }
}
