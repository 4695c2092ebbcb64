// A tab in which evolution runs: a toy world's population, generation after generation, and its center to mutate.

import { $, scene } from "explorer/stage";
import { Evolution } from "playground/evolution";
import { Ground } from "playground/ground";
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
    const settings = { ...this.settings, sigma: this.sigma, objective: $("objective").value };
    return new Evolution(this.trained.values, this.trained.population.key, settings);
  }

  restart() {
    this.stop();
    this.evolution = this.begin();
    Object.assign(this, { behaviors: null, batch: null });
    clear();
    this.showAll();
  }

  showAll() {
    this.setCenter();
    this.showPool([]);
    this.showCloud();
  }

  setSigma() {
    this.evolution.settings.sigma = this.sigma;
  }

  async again() {} // the next generation has it

  pass(now) {
    if (!this.evolving || now - (this.stepped ?? 0) < MILLISECONDS) return;
    this.stepped = now;
    this.behaviors = this.evolution.step((parameters) => this.world.episode(parameters).behavior);
    const farthest = Math.max(...this.behaviors.map((one) => Math.hypot(...one)));
    // Not at every generation: a scale that always changes is hard to read.
    if (farthest > 1.15 * this.reach || farthest < 0.4 * this.reach) {
      this.reach = scene.reach = Math.max(0.5, 1.1 * farthest);
      scene.resetCamera();
    }
    this.showAll();
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
    const count = behaviors.length ? `${behaviors.length} mutations of its center` : "press “evolve here”";
    this.setCloud(Float32Array.from(behaviors.flat()), `generation ${this.evolution.generation}`, count);
  }

  stop() {
    this.evolving = false;
    super.stop();
  }
}
