// The interference pattern: one parameter, one behavior. A population climbs towards where its mutations differ most,
// and what it climbs depends on how far mutations go: on sigma.

import { css, kind } from "explorer/clouds";
import { stroke } from "explorer/labels";
import { $, isStill, redraw, say } from "explorer/stage";
import { Evolution } from "playground/evolution";
import { number } from "playground/walkers";
import { pattern } from "playground/worlds";

const [FROM, TO, TALLEST] = [0, 16, 5.4];
const GENERATIONS = { moving: 8, still: 1500 }; // per frame, or at once where nothing should move
const SHOWN = 120; // members
const FASTEST = 4; // times the rate that it was trained with
const [LINE, TEXT, DIM] = ["#3d4a63", "#d9e0ec", "#8d99ae"];
const ACCENT = kind(1);

// The standard deviation of the behavior around a center: of cosines, the mean over a normal distribution is known.
function spreadAt(center, sigma) {
  const wave = (a) => Math.cos(a * center) * Math.exp(-0.5 * (a * sigma) ** 2);
  const mean = 2.5 * (wave(19.8) - wave(20.2));
  const square = 6.25 * (1 - wave(0.4) - wave(40) + 0.5 * (wave(39.6) + wave(40.4)));
  return Math.sqrt(Math.max(0, square - mean * mean));
}

export class Waves {
  constructor(table) {
    Object.assign(this, table, { factor: 1, evolving: true });
  }

  get sigma() {
    return this.factor * this.settings.sigma;
  }

  async prepare() {
    if (!this.evolution) this.restart();
  }

  restart(center = this.start) {
    const settings = { ...this.settings, ...this.stride(), objective: $("objective").value };
    this.evolution = new Evolution([center], this.key, settings);
    this.settle();
  }

  // The gradient grows as sigma falls: with its square, as a natural gradient has it, steps stay within mutations.
  stride() {
    return { sigma: this.sigma, rate: this.settings.rate * Math.min(FASTEST, this.factor ** 2) };
  }

  enter() {
    say(this.hint);
  }

  setSigma() {
    Object.assign(this.evolution.settings, this.stride());
    this.settle();
  }

  // Where nothing should move by itself, the center goes at once where it would climb to.
  settle() {
    if (isStill) this.climb(GENERATIONS.still);
    redraw();
  }

  climb(generations) {
    for (let k = 0; k < generations; k++) this.members = this.evolution.step(([x]) => [pattern(x)]);
  }

  pass() {
    if (!this.evolving || isStill) return;
    this.climb(GENERATIONS.moving);
    redraw();
  }

  // A click puts the center there.
  place(x) {
    this.restart(FROM + x * (TO - FROM));
  }

  draw() {
    const canvas = $("waves");
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const right = width - Math.max(70, 0.16 * width);
    const across = (x) => 16 + ((x - FROM) / (TO - FROM)) * (right - 32);
    const high = 0.62 * height;
    const up = (y) => 34 + (high - 50) * (0.5 - y / (2 * TALLEST));
    const level = (y) => height - 34 - (y / 3.8) * (height - high - 76);
    Object.assign(this, { pen, across, up, level, right, width, high });
    this.drawPattern();
    this.drawPopulation();
    this.drawLandscape();
    const [x] = this.evolution.center;
    const spread = number(spreadAt(x, this.sigma));
    const text = `The center is at x = ${number(x, 3)}; its mutations spread by ${spread} around their mean.`;
    canvas.setAttribute("aria-label", text);
  }

  write(text, x, y, color = DIM, align = "left") {
    Object.assign(this.pen, { fillStyle: color, textAlign: align, font: "12px system-ui, sans-serif" });
    this.pen.fillText(text, x, y);
  }

  dot(x, y, radius, color) {
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 2 * Math.PI);
    this.pen.fillStyle = color;
    this.pen.fill();
  }

  // A curve over all centers, fine enough for the fastest waves, and the line at its foot.
  curve(height, foot, color) {
    const points = [];
    for (let x = FROM; x <= TO; x += 0.01) points.push([this.across(x), height(x)]);
    stroke(this.pen, [FROM, TO].map((x) => [this.across(x), foot]), LINE);
    stroke(this.pen, points, color, 1.2);
  }

  drawPattern() {
    this.write("behavior f(x) = 5 sin(x/5) sin(20x)", 16, 22, TEXT);
    this.curve((x) => this.up(pattern(x)), this.up(0), "#4f6ea8");
  }

  // The center, how far its mutations go, and what some of them do: on the curve, and beside it how often.
  drawPopulation() {
    const { pen, across, up, right, width, high, evolution: { center: [x] }, members = [] } = this;
    const band = [x - this.sigma, x + this.sigma].map((at) => Math.min(right - 16, Math.max(across(FROM), across(at))));
    pen.fillStyle = css(ACCENT, 0.16);
    pen.fillRect(band[0], 34, Math.max(1, band[1] - band[0]), high - 50);
    stroke(pen, [[across(x), 34], [across(x), high - 16]], css(ACCENT), 2);
    this.write(`x = ${x.toFixed(2)}`, across(x), high, css(ACCENT), "center");
    const bins = Array.from({ length: 36 }, () => 0);
    for (const [behavior] of members) {
      const bin = Math.floor((behavior / (2 * TALLEST) + 0.5) * bins.length);
      if (bin in bins) bins[bin]++;
    }
    const most = Math.max(1, ...bins);
    this.write("mutations", right, 22, TEXT);
    pen.fillStyle = css(ACCENT, 0.85);
    for (const [k, count] of bins.entries()) {
      const y = up(((k + 1) / bins.length - 0.5) * 2 * TALLEST);
      pen.fillRect(right, y, ((width - right - 12) * count) / most, (high - 50) / bins.length - 1);
    }
    for (const [k, [behavior]] of members.slice(0, SHOWN).entries())
      this.dot(right - 8 - 6 * ((k * 0.618) % 1), up(behavior), 1.6, css(ACCENT, 0.6));
  }

  // What is climbed: how much mutations differ, for every center.
  drawLandscape() {
    const { across, level, evolution: { center: [x] }, sigma, high } = this;
    this.write(`how much mutations with σ = ${number(sigma)} differ, by center`, 16, high + 30, TEXT);
    this.curve((at) => level(spreadAt(at, sigma)), level(0), "#6dcd59");
    this.dot(across(x), level(spreadAt(x, sigma)), 6, css(ACCENT));
    for (let at = FROM; at <= TO; at += 4) this.write(`${at}`, across(at), level(0) + 16, DIM, "center");
    this.write("center x →", across(TO), level(0) + 30, DIM, "right");
  }
}
