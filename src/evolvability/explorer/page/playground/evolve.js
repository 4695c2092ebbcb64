// A tab in which evolution runs: a toy world's population, generation after generation, and its center to mutate.

import { Evolution } from "playground/evolution";
import { Ground } from "playground/ground";
import { $, redraw, scene } from "playground/page";
import { clear } from "playground/walkers";
import { World } from "playground/worlds";

const MILLISECONDS = 60; // per generation, at least: it can be followed

export class Evolve extends Ground {
  async prepare() {
    await super.prepare();
    this.world = new World(this.setup);
    this.evolution ??= this.begin();
  }

  begin() {
    const { population, sigma } = this.trained;
    const settings = { ...this.settings, sigma: this.factor * sigma, objective: $("objective").value };
    return new Evolution(this.trained.values, population.key, settings);
  }

  restart() {
    this.stop();
    this.evolution = this.begin();
    Object.assign(this, { behaviors: null, batch: null, evolving: false });
    clear();
    this.showPool([]);
    this.setCenter();
    this.showCloud();
  }

  // Evolution begins or rests.
  run() {
    this.evolving = !this.evolving;
    if (this.evolving) clear();
    redraw();
  }

  setSigma() {
    this.evolution.settings.sigma = this.sigma;
  }

  setObjective(name) {
    this.evolution.settings.objective = name;
  }

  pass(now) {
    $("run").textContent = this.evolving ? "pause" : "evolve here";
    if (!this.evolving || now - (this.stepped ?? 0) < MILLISECONDS) return;
    this.stepped = now;
    this.behaviors = this.evolution.step((parameters) => this.world.episode(parameters).behavior);
    const farthest = Math.max(...this.behaviors.map((one) => Math.hypot(...one)));
    // Not at every generation: a scale that always changes is hard to read.
    if (farthest > 1.15 * this.reach || farthest < 0.4 * this.reach) {
      this.reach = scene.reach = Math.max(0.5, 1.1 * farthest);
      scene.resetCamera();
    }
    this.setCenter();
    this.showPool([]);
    this.showCloud();
  }

  setCenter() {
    if (!this.evolution) return super.setCenter();
    const { population, scales } = this.trained;
    const { center, generation } = this.evolution;
    const drawn = { ...population, generation, scale: scales };
    this.crew.tell({ of: this.index, center: Float32Array.from(center), scaling: {}, population: drawn });
  }

  showCloud() {
    const behaviors = this.behaviors ?? [];
    const zeros = { data: new Float32Array(behaviors.length) };
    const data = Float32Array.from(behaviors.flat());
    scene.setCloud(0, { behavior: { data }, fitness: zeros, component: zeros }, "direction");
    const view = scene.views[0];
    view.run.name = `generation ${this.evolution.generation}`;
    view.subtitle = behaviors.length ? `${behaviors.length} mutations of its center` : "press “evolve here”";
    if (!behaviors.length) view.mean = null;
    redraw();
  }

  async send(target, numbers) {
    this.evolving = false;
    await super.send(target, numbers);
  }

  leave() {
    this.evolving = false;
    super.leave();
  }
}
