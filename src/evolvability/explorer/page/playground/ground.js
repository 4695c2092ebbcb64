// A tab with a ground to click: fresh mutations are drawn and tried, the nearest walks there, the others are dots.

import { nearest, spotOf, unitOfAll } from "explorer/axes";
import { $, redraw, say, scene, unzipped } from "explorer/stage";
import { clear, number, walk } from "playground/walkers";

async function unpacked({ type, bytes }) {
  const TYPES = { uint8: Uint8Array, float32: Float32Array, float16: globalThis.Float16Array };
  if (!TYPES[type]) throw new Error("This browser is too old: Chrome 135, Firefox 129 or Safari 18.2 is needed.");
  const found = new TYPES[type](await (await unzipped(bytes)).arrayBuffer());
  return type === "uint8" ? found : new Float32Array(found);
}

export class Ground {
  constructor(table, index, crew) {
    Object.assign(this, table, { index, crew, next: 0, share: 1, factor: 1, batch: null, turn: 0 });
    this.unit = unitOfAll(this.behavior);
    this.dimensions = this.behavior.length;
    this.flat = this.dimensions === 1;
  }

  // Reads what the page brought along, once, and tells the workers.
  async prepare() {
    if (this.ready) return;
    const { program, ...setup } = this.setup;
    if (program) setup.program = { ...program, code: await unpacked(program.code) };
    this.crew.tell({ of: this.index, setup });
    for (const center of this.centers) {
      const stored = [center.center, center.cloud, center.population.scale];
      const [values, behaviors, scales] = await Promise.all(stored.map(unpacked));
      Object.assign(center, { values, behaviors, scales });
    }
    this.share = this.centers.length - 1;
    this.setCenter();
    this.ready = true;
  }

  get trained() {
    return this.centers[Math.round(this.share)];
  }

  get sigma() {
    return this.factor * this.trained.sigma;
  }

  setSigma() {
    this.showCloud();
  }

  // The center between two, or one of them; workers mutate it from now on.
  setCenter() {
    const [one, other] = [this.centers[0], this.centers.at(-1)];
    const { share } = this;
    const between = (a, b) => (share % 1 ? a.map((value, k) => value + share * (b[k] - value)) : share ? b : a);
    const center = between(one.values, other.values);
    const scaling = { mean: between(one.mean, other.mean), std: between(one.std, other.std) };
    const population = { ...this.trained.population, scale: this.trained.scales };
    this.crew.tell({ of: this.index, center, scaling, population });
  }

  enter() {
    const ranges = this.behavior.map(() => [-this.reach, this.reach]);
    scene.setRuns([{ ...this, index: 0, ranges }]);
    scene.options.size = this.robot ? Math.min(12, Math.max(1, Math.round(this.reach / 9))) : 1;
    scene.options.color = this.flat ? "distance" : "direction";
    this.showCloud();
    this.showPool(this.batch?.tried ?? []);
    say(this.hint ?? "");
  }

  leave() {
    this.stop();
    clear();
  }

  stop() {
    this.turn++;
    this.crew.forget();
  }

  draw() {
    scene.draw();
  }

  // What the run itself recorded, where the center is one that was trained.
  showCloud() {
    const { trained, share, factor, dimensions } = this;
    const isTrained = share % 1 === 0 && factor === 1;
    const data = isTrained ? trained.behaviors : new Float32Array(0);
    const name = share % 1 ? `${Math.round(100 * share)} % of the way to ${this.centers.at(-1).name}` : trained.name;
    const count = (data.length / dimensions).toLocaleString("en");
    this.setCloud(data, name, data.length ? `${count} of its mutations, as trained` : "");
  }

  setCloud(data, name, subtitle) {
    const zeros = { data: new Float32Array(data.length / this.dimensions) };
    Object.assign(scene.views[0], { name, subtitle });
    scene.setCloud(0, { behavior: { data }, fitness: zeros, component: zeros });
    redraw();
  }

  showPool(tried) {
    scene.setPool(0, tried.filter(({ valid }) => valid).map(({ behavior }) => behavior));
    redraw();
  }

  // The paper's adaptation: k fresh mutations, of which the nearest to a place goes there.
  async send(target, numbers = this.fresh()) {
    this.stop();
    const { turn } = this;
    const tried = [];
    const attempt = async (fresh) => {
      const found = await this.crew.attempt({ of: this.index, who: { fresh }, factor: this.factor });
      if (turn !== this.turn) return;
      tried.push({ fresh, label: `no. ${fresh}`, ...found });
      this.showPool(tried);
      say(`Trying ${numbers.length} fresh mutations: ${tried.length} …`);
    };
    scene.views[0].aim = target;
    redraw();
    await Promise.all(numbers.map(attempt));
    if (turn !== this.turn) return;
    this.batch = { target, numbers, tried: tried.toSorted((a, b) => a.fresh - b.fresh) };
    this.show();
  }

  fresh() {
    const numbers = Array.from({ length: Number($("k").value) }, (_, k) => this.next + k);
    this.next += numbers.length;
    return numbers;
  }

  // Those of the last click: who came nearest walks.
  show() {
    const { target, tried, numbers } = this.batch;
    const usable = tried.filter(({ valid }) => valid);
    if (!usable.length) return say("None of these mutations is valid: their simulations broke down.");
    const [chosen, missed] = nearest(usable.map(({ behavior }) => behavior), target);
    const best = usable[chosen];
    this.batch.best = best;
    const others = $("all").checked && this.moves ? usable.filter((one) => one !== best) : [];
    walk({ ...best, target: spotOf(scene, target) }, others);
    const place = best.behavior.map((value) => number(value, 3)).join(", ");
    const drawn = `Of the ${numbers.length} fresh mutations ${numbers[0]} to ${numbers.at(-1)}, number ${best.fresh}`;
    const where = `${this.flat ? place : `(${place})`}${this.unit}`;
    say(`${drawn} comes nearest: it ends at ${where}, ${number(missed)}${this.unit} from where you clicked.`);
  }

  // The same mutations again, of another center or with another sigma.
  async again() {
    this.setCenter();
    this.showCloud();
    clear();
    if (this.batch) await this.send(this.batch.target, this.batch.numbers);
  }
}
