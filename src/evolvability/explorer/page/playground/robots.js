// A robot's episodes: physics, observations and network in one WebAssembly function, compiled from the robot's model.

import { bodies } from "explorer/robots";
import { startPose } from "playground/members";

const FRAMES_PER_SECOND = 30;

export class Robot {
  // program: {code, free}; the rest are sizes and settings of an episode.
  constructor(setup) {
    Object.assign(this, setup, { steps: setup.num_steps });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(setup.program.code));
    this.exports = exports;
    let top = setup.program.free;
    const reserved = ([name, length]) => {
      const place = Math.ceil(top / 8) * 8;
      top = place + 8 * length;
      return [name, place];
    };
    const { size, observations, behaviors, positions, velocities, friction, gear } = this;
    const given = positions + velocities + friction.length + gear.length;
    const lengths = {
      parameters: size, given, kept: 1, mean: observations, std: observations,
      ended: behaviors, status: 1, seen: 1 + 2 * observations, path: (this.steps + 1) * positions,
    };
    this.at = Object.fromEntries(Object.entries(lengths).map(reserved));
    exports.memory.grow(Math.ceil(top / 65536));
    const view = ([name, length]) => [name, new Float64Array(exports.memory.buffer, this.at[name], length)];
    this.numbers = Object.fromEntries(Object.entries(lengths).map(view));
  }

  // What a network does: where it ends, whether the simulation held, and its pose at every moment that is shown.
  // changes: {friction, push, broken}, as in evolvability.explorer.playground.
  episode(parameters, { mean, std }, key, changes) {
    const { at, numbers, steps } = this;
    numbers.parameters.set(parameters);
    numbers.given.set([...startPose(this, key), ...this.changed(changes)]);
    numbers.mean.set(mean);
    numbers.std.set(std);
    const settings = [steps, this.early_termination ? 1 : 0, steps + 1];
    this.exports.run(
      at.parameters, at.given, at.kept, at.mean, at.std, ...settings, at.ended, at.status, at.seen, at.path, 0,
    );
    const [valid, taken] = new Int32Array(this.exports.memory.buffer, at.status, 2);
    return { behavior: Array.from(numbers.ended), valid: valid === 1, ...this.shown(taken) };
  }

  // What follows the pose: velocities at the start, everybody's friction, and the strength of motors.
  changed({ friction, push, broken }) {
    const speeds = new Float64Array(this.velocities);
    for (const [k, place] of this.pushes.entries()) speeds[place] = push[k];
    return [
      ...speeds,
      ...this.friction.map((own) => friction * own),
      ...this.gear.map((own, k) => (broken.includes(k) ? 0 : own)),
    ];
  }

  // Poses at no more moments a second than are shown, the last one among them.
  shown(taken) {
    const { positions, behaviors, time_step: step, numbers, robot, followed } = this;
    const every = Math.max(1, Math.round(1 / (FRAMES_PER_SECOND * step)));
    const moments = Array.from({ length: Math.ceil(taken / every) }, (_, k) => k * every).concat(taken);
    const poses = new Float32Array(moments.length * positions);
    const path = new Float32Array(2 * moments.length);
    for (const [k, moment] of moments.entries()) {
      const pose = numbers.path.subarray(moment * positions, (moment + 1) * positions);
      poses.set(pose, k * positions);
      const { e: x, f: y } = bodies(robot, pose)[followed];
      path.set([x, behaviors > 1 ? y : 0], 2 * k); // a runner of one dimension stays in its lane
    }
    return { times: Float32Array.from(moments, (moment) => moment * step), path, poses };
  }
}
