// A tab with a ground to click: fresh mutations are drawn and tried, the nearest walks there, the others are dots.
// Then the world may change, and the same mutations are tried again.

import { nearest, spotOf, unitOfAll } from "explorer/axes";
import { $, redraw, say, scene, unzipped } from "explorer/stage";
import { inWords, UNCHANGED } from "playground/changes";
import { clear, number, walk } from "playground/walkers";

const NEAR = 0.1; // of the reach: a mutation that ends so near to where it went before still goes there
const [STILL, ELSEWHERE] = [[0.43, 0.8, 0.35], [0.95, 0.35, 0.3]]; // colors
const BEFORE = { label: "before", color: [0.45, 0.48, 0.53] };

async function unpacked({ type, bytes }) {
  const TYPES = { uint8: Uint8Array, float32: Float32Array, float16: globalThis.Float16Array };
  if (!TYPES[type]) throw new Error("This browser is too old: Chrome 135, Firefox 129 or Safari 18.2 is needed.");
  const found = new TYPES[type](await (await unzipped(bytes)).arrayBuffer());
  return type === "uint8" ? found : new Float32Array(found);
}

export class Ground {
  constructor(table, index, crew) {
    Object.assign(this, table, { index, crew, next: 0, share: 1, factor: 1, batch: null, turn: 0, changes: UNCHANGED });
    this.unit = unitOfAll(this.behavior);
    this.dimensions = this.behavior.length;
    this.flat = this.dimensions === 1;
  }

  // Reads what the page brought along, once, and tells the workers.
  async prepare() {
    if (this.ready) return;
    const { program, ...setup } = { ...this.setup, robot: this.robot };
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
    scene.options.size = this.robot ? Math.min(12, Math.max(1, Math.round(this.reach / (9 * this.robot.extent)))) : 1;
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

  giveUp() {
    this.stop();
    this.wanted = null;
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

  showPool(tried, colorOf = () => [1, 1, 1]) {
    const usable = tried.filter(({ valid }) => valid);
    this.dim(usable.length > 0);
    scene.setPool(0, usable.map(({ behavior }) => behavior), usable.map(colorOf));
    redraw();
  }

  // Beside mutations that are tried, those of training dim.
  dim(isDim) {
    const [view] = scene.views;
    if (isDim === Boolean(view.dimmed)) return;
    view.dimmed = isDim;
    scene.setClouds();
  }

  // Tries mutations in the world as it is now, unless something else is wanted meanwhile: then nothing comes back.
  async attempts(numbers, what) {
    this.stop();
    const { turn, changes } = this;
    const broken = changes.broken.map((motor) => this.robot.motors[motor].body);
    const tried = [];
    const attempt = async (fresh) => {
      const found = await this.crew.attempt({ of: this.index, who: { fresh }, factor: this.factor, changes });
      if (turn !== this.turn) return;
      tried.push({ fresh, label: `no. ${fresh}`, broken, ...found });
      this.showPool(tried);
      say(`Trying ${what}: ${tried.length} of ${numbers.length} …`);
    };
    await Promise.all(numbers.map(attempt)).catch((error) => {
      if (turn === this.turn) this.giveUp();
      throw error; // the page says it
    });
    return turn === this.turn ? tried.toSorted((a, b) => a.fresh - b.fresh) : null;
  }

  // The paper's adaptation: k fresh mutations, of which the nearest to a place goes there.
  async send(target, numbers = this.fresh()) {
    this.wanted = { target, numbers };
    scene.views[0].aim = target;
    redraw();
    const tried = await this.attempts(numbers, "fresh mutations");
    if (!tried) return;
    Object.assign(this, { batch: { target, numbers, tried, now: tried }, wanted: null });
    this.show();
  }

  // The world is another one: the mutations of the last click are tried again, and the picked one is still picked.
  async change(changes) {
    this.changes = changes;
    if (this.wanted) return this.send(this.wanted.target, this.wanted.numbers);
    if (!this.batch) return say(`${this.circumstances("As in training")}: click a place, and mutations are tried so.`);
    const now = await this.attempts(this.batch.numbers, "the same mutations in the changed world");
    if (!now) return;
    this.batch.now = now;
    clear();
    this.show();
  }

  // What is different from training, as the beginning of a sentence.
  circumstances(none) {
    const words = inWords(this.changes, this.robot?.motors) || none;
    return words.charAt(0).toUpperCase() + words.slice(1);
  }

  fresh() {
    const numbers = Array.from({ length: Number($("k").value) }, (_, k) => this.next + k);
    this.next += numbers.length;
    return numbers;
  }

  // Those of the last click: who came nearest walks; in a world that has changed since, beside its former self.
  show() {
    const { target, tried, now } = this.batch;
    const usable = tried.filter(({ valid }) => valid);
    if (!usable.length) return say("None of these mutations is valid: their simulations broke down.");
    const [chosen, missed] = nearest(usable.map(({ behavior }) => behavior), target);
    const best = usable[chosen];
    this.batch.best = best;
    const walker = now.find(({ fresh }) => fresh === best.fresh);
    const others = now.filter((one) => $("all").checked && this.moves && one.valid && one !== walker);
    if (walker !== best && this.moves) others.push({ ...best, look: BEFORE });
    walk({ ...walker, target: spotOf(scene, target) }, others);
    if (walker === best) this.tellPick(best, missed);
    else this.tellChange(walker, missed);
  }

  place(behavior) {
    const numbers = behavior.map((value) => number(value, 3)).join(", ");
    return `${this.flat ? numbers : `(${numbers})`}${this.unit}`;
  }

  tellPick({ fresh, behavior }, missed) {
    const { numbers } = this.batch;
    const world = this.circumstances("");
    const begin = world ? `${world}: of` : "Of";
    const drawn = `${begin} the ${numbers.length} fresh mutations ${numbers[0]} to ${numbers.at(-1)}`;
    const ends = `it ends at ${this.place(behavior)}, ${number(missed)}${this.unit} from where you clicked`;
    say(`${drawn}, number ${fresh} comes nearest: ${ends}.`);
  }

  tellChange({ fresh, behavior, valid }, missed) {
    const { target, tried, now, numbers } = this.batch;
    const away = (one, other) => Math.hypot(...other.map((x, j) => one[j] - x));
    const before = (one) => tried[one.fresh - numbers[0]].behavior;
    const isStill = (one) => one.valid && away(one.behavior, before(one)) <= NEAR * this.reach;
    this.showPool(now, (one) => (isStill(one) ? STILL : ELSEWHERE));
    const [present, then] = [away(behavior, target), missed].map((far) => `${number(far)}${this.unit}`);
    const off = `${present} from where you clicked; it was ${then}`;
    const ends = valid ? `now ends at ${this.place(behavior)}, ${off}` : "breaks down in the simulation";
    const same = `Of the ${now.length} mutations ${now.filter(isStill).length} still end within`;
    const rest = `${same} ${number(NEAR * this.reach)}${this.unit} of where they went (green; the others are red)`;
    const again = `pick again among ${$("k").value} fresh ones`;
    say(`${this.circumstances("As in training")}: number ${fresh} ${ends}. ${rest}.`, again, () => this.send(target));
  }

  // The same mutations again, of another center or with another sigma.
  async again() {
    this.setCenter();
    this.showCloud();
    clear();
    if (this.batch) await this.send(this.batch.target, this.batch.numbers);
  }
}
