// The toy worlds, as the library has them: a point that is pushed, a maze, a walk, and a pattern of waves.

const HALF_WIDTH = 2.5; // of the maze
const AROUND = [-HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH];
const WALLS = [
  [[1, -2, 2], AROUND, [HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH]], // upright: x, from y, to y
  [[2, -1, 1], [-2, -1, 1], [HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH], AROUND], // level: y, from x, to x
];

export const pattern = (x) => 5 * Math.sin(x / 5) * Math.sin(20 * x);

const shortened = ([x, y]) => {
  const length = Math.max(1, Math.hypot(x, y));
  return [x / length, y / length];
};

// Along one axis after the other, each only if no wall is in the way.
function moved(position, step) {
  const at = [...position];
  for (const [axis, walls] of WALLS.entries()) {
    const [along, across, wanted] = [at[axis], at[1 - axis], at[axis] + step[axis]];
    const isFree = walls.every(([place, from, to]) => {
      const crosses = (along - place) * (wanted - place) <= 0;
      return !(crosses && from <= across && across <= to);
    });
    if (isFree) at[axis] = wanted;
  }
  return at;
}

// What is seen, and what an action does; state: {position, velocity, step}.
const WORLDS = {
  point: {
    see: ({ position, velocity }) => [...position, ...velocity],
    act({ position, velocity }, push) {
      const pushed = shortened(push);
      const faster = velocity.map((speed, j) => speed + 0.1 * (pushed[j] - speed));
      return { position: position.map((x, j) => x + 0.1 * faster[j]), velocity: faster };
    },
  },
  maze: {
    see({ position: [x, y], step }, steps) {
      return [x / HALF_WIDTH, y / HALF_WIDTH, (2 * step) / Math.max(1, steps - 1) - 1];
    },
    act: ({ position }, wish) => ({ position: moved(position, shortened(wish).map((part) => 0.25 * part)) }),
  },
  navigation: {
    see: ({ position }) => position,
    act: ({ position }, action) => ({
      position: position.map((x, j) => x + 0.1 * Math.min(1, Math.max(-1, action[j]))),
    }),
  },
};

// A small network: layers of weights and biases in turn, tanh between them.
function network(shapes, parameters) {
  const layers = [];
  let offset = 0;
  for (let k = 0; k < shapes.length; k += 2) {
    const [inputs, outputs] = shapes[k];
    layers.push({ inputs, outputs, offset, bias: offset + inputs * outputs });
    offset += (inputs + 1) * outputs;
  }
  return (seen) => {
    let values = seen;
    for (const [k, { inputs, outputs, offset: first, bias }] of layers.entries()) {
      const next = new Float64Array(outputs);
      for (let o = 0; o < outputs; o++) next[o] = parameters[bias + o];
      for (let i = 0; i < inputs; i++)
        for (let o = 0; o < outputs; o++) next[o] += values[i] * parameters[first + i * outputs + o];
      values = k < layers.length - 1 ? next.map(Math.tanh) : next;
    }
    return values;
  };
}

export class World {
  constructor(setup) {
    Object.assign(this, setup);
  }

  episode(parameters) {
    if (this.task === "interference") {
      const behavior = [pattern(parameters[0])];
      return { behavior, valid: true, times: new Float32Array(1), path: Float32Array.of(behavior[0], 0) };
    }
    const { see, act } = WORLDS[this.task];
    const brain = network(this.shapes, parameters);
    const steps = this.num_steps;
    const path = new Float32Array(2 * steps + 2);
    let state = { position: [0, 0], velocity: [0, 0], step: 0 };
    for (let step = 0; step < steps; step++) {
      state = { ...act(state, brain(see(state, steps))), step: step + 1 };
      path.set(state.position, 2 * step + 2);
    }
    const times = Float32Array.from({ length: steps + 1 }, (_, k) => k * this.time_step);
    return { behavior: state.position, valid: state.position.every(Number.isFinite), times, path };
  }
}
