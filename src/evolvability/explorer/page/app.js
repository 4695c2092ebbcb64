// The page: what is shown, what a click asks for, and what plays.

import { askArrays, askTable, isStatic, remembering } from "explorer/answers";
import { drawCurves, drawTimeline, historyPicture } from "explorer/charts";
import { css, kind, parsed, robotColor } from "explorer/colors";
import { Scene } from "explorer/scene";

const KEPT_CLOUDS = 48;
const LOOK_AGAIN = 2000; // milliseconds between looks at runs that are still training
const GENERATIONS_A_SECOND = 10;
const METRICS = ["entropy", "variance", "distance", "fitness_mean"];
const $ = (id) => document.getElementById(id);

const state = { runs: [], steps: [], step: 0, seed: 0, actors: [], next: 0, time: 0, playing: false, touring: false, drawn: -1 };
const scene = new Scene($("scene"), $("labels"));
const cloudOf = remembering(KEPT_CLOUDS, (question) => askArrays(question));
const poolOf = remembering(64, (question) => askArrays(question));
const centerOf = remembering(64, (question) => askArrays(question));
let dirty = true;

// ---------------------------------------------------------------- runs

async function start() {
  const table = await askTable("overview");
  state.together = table.together;
  state.most = table.max_robots;
  state.mutations = table.mutations ?? Infinity;
  state.runs = table.runs.map((run, index) => described(run, index));
  if (isStatic) {
    $("k").max = state.mutations;
    $("k").value = Math.min(state.mutations, 40);
    $("mp4").hidden = $("gif").hidden = true;
    $("hint").textContent = "Click: of the mutations in this file, the nearest walks there. Drag turns, shift-drag moves, the wheel zooms.";
  }
  const [run] = state.runs;
  if (run.dimensions === 1) {
    $("color").querySelectorAll("option").forEach((option) => option.value === "direction" && option.remove());
    $("show").parentElement.hidden = true;
  }
  for (const [place, seed] of run.seeds.entries()) $("seed").add(new Option(seed, place));
  $("seeds").hidden = run.seeds.length < 2;
  scene.setRuns(state.runs);
  setSteps();
  state.step = state.steps.length - 1;
  await showGeneration();
  requestAnimationFrame(frame);
  describe();
  await Promise.all([refreshCurves(), refreshHistory(), ...state.runs.map(prepareRobot)]);
  dirty = true;
  if (!isStatic) setInterval(lookAgain, LOOK_AGAIN);
}

function described(run, index) {
  const isRobot = ["ant", "cheetah"].includes(run.task);
  return { ...run, index, dimensions: run.behavior.length, unit: isRobot ? " m" : "", robot: null, moves: false, planar: true };
}

async function prepareRobot(run) {
  try {
    const { robot, engine, moves } = await askTable(`robot?run=${run.index}`);
    Object.assign(run, { robot, engine, moves, playable: true });
  } catch (error) {
    run.playable = false;
    run.why = error.message;
    return;
  }
  if (run.robot && $("sizes").hidden) {
    $("sizes").hidden = false;
    $("size").value = Math.min(12, Math.max(1, Math.round(scene.reach / 9)));
    setSize();
  }
  dirty = true;
}

function setSteps() {
  const all = new Set(state.runs.flatMap((run) => run.recorded));
  state.steps = [...all].sort((a, b) => a - b);
  $("generation").max = state.steps.length - 1;
}

const generationNow = () => state.steps[state.step];
const nearestOf = (numbers, wanted) => numbers.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
const shownOf = (run) => nearestOf(run.recorded, generationNow());

async function showGeneration() {
  const asked = state.step;
  $("generation").value = asked;
  $("now").innerHTML = `generation<b>${generationNow().toLocaleString()}</b>`;
  const clouds = await Promise.all(state.runs.map((run) => cloudOf(`cloud?run=${run.index}&seed=${seedOf(run)}&generation=${shownOf(run)}`)));
  if (asked !== state.step) return; // the slider has moved on
  clouds.forEach((cloud, index) => {
    const run = state.runs[index];
    const view = scene.views[index];
    scene.setCloud(index, cloud, $("color").value);
    view.title = run.name;
    const count = cloud.index.data.length;
    view.subtitle = `generation ${shownOf(run).toLocaleString()} · ${count.toLocaleString()} mutations${isStatic ? ` of ${run.population_size.toLocaleString()}` : ""}`;
    view.centers = null;
    view.hover = null;
  });
  state.drawn = asked;
  dirty = true;
  drawHistory();
  clearTimeout(state.resting);
  state.resting = setTimeout(() => {
    drawCharts();
    markCenters(asked);
  }, 350);
}

// The center is simulated once the slider rests.
async function markCenters(asked) {
  for (const run of state.runs) {
    const generation = shownOf(run);
    const known = isStatic ? (generation === run.recorded.at(-1) ? run.rebuildable.at(-1) : null) : generation;
    if (!run.playable || !run.rebuildable.includes(known)) continue;
    try {
      const { behavior } = await centerOf(`center?run=${run.index}&seed=${seedOf(run)}&generation=${known}`);
      if (asked !== state.step) return;
      scene.views[run.index].centers = rows(behavior);
      dirty = true;
    } catch {
      return;
    }
  }
}

const rows = ({ data, shape: [number, width] }) => Array.from({ length: number }, (_, k) => Array.from(data.subarray(width * k, width * (k + 1))));
const seedOf = (run) => Math.min(state.seed, run.seeds.length - 1);

async function refreshCurves() {
  for (const run of state.runs) run.curves = await askArrays(`curves?run=${run.index}`);
  $("legend").replaceChildren(...(state.runs.length > 1 ? state.runs.map((run) => element("span", run.name, { style: `color:${css(kind(run.index))}` })) : []));
  const shown = METRICS.filter((metric) => state.runs.some((run) => run.curves[metric]));
  if ($("curves").childElementCount !== shown.length)
    $("curves").replaceChildren(...shown.map((metric) => element("canvas", "", { "data-metric": metric })));
  drawCharts();
}

async function refreshHistory() {
  for (const run of state.runs) {
    const history = await askArrays(`history?run=${run.index}&seed=${seedOf(run)}`);
    run.picture = historyPicture(history);
    run.from = history.generation.data[0];
    run.to = history.generation.data.at(-1);
    state.historyReach = history.reach.data[0];
  }
  drawCharts();
}

function drawHistory() {
  const [run] = state.runs;
  const label = run.dimensions === 1 ? run.behavior[0] : "distance";
  drawTimeline($("timeline"), state.runs, { first: state.steps[0], last: state.steps.at(-1), now: generationNow(), label, reach: state.historyReach ?? scene.reach, dimensions: run.dimensions, unit: run.unit });
}

function drawCharts() {
  drawHistory();
  for (const canvas of $("curves").children) drawCurves(canvas, canvas.dataset.metric, state.runs, { seed: state.seed, now: generationNow() });
}

function describe() {
  const text = state.runs.map((run) => {
    const done = run.done ? "complete" : `training: generation ${run.recorded.at(-1) + 1} of ${run.generations}`;
    return `${run.task} · ${run.method} · ${done}`;
  });
  $("status").replaceChildren(...[...new Set(text)].map((line) => element("div", line)));
  const flat = (table, prefix = "") => Object.entries(table).flatMap(([key, value]) => (value && typeof value === "object" && !Array.isArray(value) ? flat(value, `${prefix}${key}.`) : [[prefix + key, value]]));
  const tables = state.runs.map((run) => Object.fromEntries([...flat(run.config), ...flat(run.environment, "made with ")]));
  const keys = [...new Set(tables.flatMap(Object.keys))];
  const head = state.runs.length > 1 ? [element("tr", "", {}, [element("th", ""), ...state.runs.map((run) => element("th", run.name))])] : [];
  $("config").replaceChildren(element("table", "", {}, [...head, ...keys.map((key) => element("tr", "", {}, [element("td", key), ...tables.map((table) => element("td", String(table[key] ?? "")))]))]));
}

// While a run trains, its new generations appear; a slider at the end stays at the end.
async function lookAgain() {
  if (state.runs.every((run) => run.done) || document.hidden) return;
  let table;
  try {
    table = await askTable("overview");
  } catch (error) {
    return say(error.message);
  }
  const atEnd = state.step === state.steps.length - 1;
  const before = state.steps.length;
  table.runs.forEach((run, index) => Object.assign(state.runs[index], { recorded: run.recorded, rebuildable: run.rebuildable, done: run.done, reach: run.reach }));
  setSteps();
  describe();
  const reach = Math.max(...state.runs.map((run) => run.reach));
  if (reach > 1.25 * scene.reach || reach < 0.7 * scene.reach) {
    scene.reach = reach;
    scene.resetCamera();
  }
  if (state.steps.length !== before) {
    if (atEnd) state.step = state.steps.length - 1;
    await Promise.all([showGeneration(), refreshCurves(), refreshHistory()]);
  }
}

// ---------------------------------------------------------------- clicks

async function pick(index, x, y) {
  const run = state.runs[index];
  const row = scene.memberAt(index, x, y);
  const view = scene.views[index];
  if (row !== null && !isStatic) return play(run, view.cloud.index.data[row], behaviorOf(view, row), [view.places[2 * row], view.places[2 * row + 1]]);
  const ground = row === null ? scene.groundAt(index, x, y) : [view.places[2 * row], view.places[2 * row + 1]];
  if (ground) return findNearest(run, run.dimensions === 1 ? [ground[0]] : ground);
}

const behaviorOf = (view, row) => Array.from(view.cloud.behavior.data.subarray(view.run.dimensions * row, view.run.dimensions * (row + 1)));

// A member of the population, rebuilt from its address.
async function play(run, member, recorded, spot) {
  const generation = shownOf(run);
  if (run.playable === false) return say(`This task cannot be made here: ${run.why}`);
  if (!run.rebuildable.includes(generation)) {
    return say(
      `Member ${member} ended at ${place(run, recorded)}. The center of generation ${generation} was not kept, so it cannot be rebuilt and watched. Fresh mutations of the center of generation ${freshGeneration(run)} can.`,
      "find the nearest",
      () => findNearest(run, recorded.slice(0, Math.min(2, run.dimensions))),
    );
  }
  const actor = addActor(run, { generation, what: `member.${member}`, label: `#${member}`, recorded, spot });
  await simulate(actor, run, `replay?run=${run.index}&seed=${seedOf(run)}&generation=${generation}&member=${member}`);
}

const freshGeneration = (run) => (run.rebuildable.includes(shownOf(run)) ? shownOf(run) : run.rebuildable.at(-1));

// The paper's adaptation: of k fresh mutations, the one that comes nearest to where the ground was clicked.
async function findNearest(run, target) {
  if (run.playable === false) return say(`This task cannot be made here: ${run.why}`);
  if (!run.rebuildable.length) return say("This run has no checkpoint yet, so there is no center to mutate.");
  const k = Math.min(state.mutations, Math.max(1, Math.round(Number($("k").value) || 40)));
  const generation = freshGeneration(run);
  const where = `run=${run.index}&seed=${seedOf(run)}&generation=${generation}`;
  const behaviors = [];
  try {
    for (let chunk = 0; chunk * state.together < k; chunk++) {
      say(`Trying fresh mutations of the center of generation ${generation}: ${Math.min(k, chunk * state.together)} of ${k} …`);
      const { behavior, valid } = await poolOf(`fresh?${where}&chunk=${chunk}`);
      behaviors.push(...rows(behavior).map((one, j) => (valid.data[j] ? one : null)));
    }
  } catch (error) {
    return say(error.message);
  }
  const tried = behaviors.slice(0, k);
  const away = tried.map((one) => (one ? Math.hypot(...target.map((t, j) => one[j] - t)) : Infinity));
  const chosen = away.indexOf(Math.min(...away));
  if (!Number.isFinite(away[chosen])) return say("None of these mutations is valid: their simulations broke down.");
  showPool(run, tried);
  const missed = `${away[chosen].toFixed(2)}${run.unit}`;
  say(`Of ${k} fresh mutations of the center of generation ${generation}, number ${chosen} comes nearest: ${missed} away.`);
  const actor = addActor(run, { generation, what: `fresh.${chosen}`, label: `fresh ${chosen}`, target: run.dimensions === 1 ? [target[0], 0] : target, missed, k, distance: away[chosen], promised: tried[chosen] });
  await simulate(actor, run, `replay?${where}&fresh=${chosen}`);
}

function showPool(run, behaviors) {
  const view = scene.views[run.index];
  const numbers = behaviors.filter(Boolean).flatMap((one) => [one[0], run.dimensions === 1 ? 0.035 * scene.reach : one[1], 1, 1, 1]);
  scene.painter.release(view.pool?.buffer);
  view.pool = { buffer: scene.painter.buffer(new Float32Array(numbers)), count: numbers.length / 5 };
  dirty = true;
}

function addActor(run, about) {
  while (state.actors.length >= state.most) remove(state.actors[0]);
  const used = new Set(state.actors.map((actor) => actor.slot));
  let slot = 0;
  while (used.has(slot)) slot++;
  const actor = { run: run.index, slot, color: robotColor(slot), waiting: true, ...about };
  state.actors.push(actor);
  scene.actors = state.actors;
  listActors();
  return actor;
}

async function simulate(actor, run, question) {
  try {
    const motion = await askArrays(question);
    if (!state.actors.includes(actor)) return;
    Object.assign(actor, {
      waiting: false,
      behavior: Array.from(motion.behavior.data),
      valid: motion.valid.data[0] === 1,
      times: motion.time.data,
      path: motion.path.data,
      poses: motion.poses?.data ?? null,
      pictures: motion.pictures ? await unpackPictures(motion) : null,
    });
    if (run.moves) scene.setRibbon(actor);
    if (run.moves || actor.pictures) restart();
  } catch (error) {
    remove(actor);
    say(error.message);
  }
  listActors();
  dirty = true;
}

async function unpackPictures({ pictures, picture_ends: ends }) {
  const files = Array.from(ends.data, (end, k) => pictures.data.slice(k ? ends.data[k - 1] : 0, end));
  return Promise.all(files.map((file) => createImageBitmap(new Blob([file], { type: "image/jpeg" }))));
}

function remove(actor) {
  state.actors = state.actors.filter((other) => other !== actor);
  scene.actors = state.actors;
  scene.painter.release(actor.ribbon?.buffer);
  listActors();
  dirty = true;
}

const place = (run, behavior) => `(${behavior.map((value) => value.toFixed(2)).join(", ")})${run.unit}`;

function listActors() {
  $("cast").textContent = state.actors.length ? `${state.actors.length} of at most ${state.most}` : "";
  $("actors").replaceChildren(
    ...state.actors.map((actor) => {
      const run = state.runs[actor.run];
      const lines = [element("b", `${actor.label}`), element("span", ` · generation ${actor.generation}${state.runs.length > 1 ? ` · ${run.name}` : ""}`)];
      const text = element("div", "", {}, lines);
      if (actor.waiting) text.append(element("p", "simulating …"));
      else {
        text.append(element("p", `${run.moves ? "ends at" : "behavior"} ${place(run, actor.behavior)}${actor.valid ? "" : " (the simulation broke down)"}`));
        text.append(element("p", ...verdict(actor, run)));
      }
      const away = element("button", "✕", { title: "Send it away" });
      away.onclick = () => remove(actor);
      return element("li", "", { "data-what": actor.what }, [element("i", "", { style: `background:${css(actor.color)}` }), text, away]);
    }),
  );
  $("player").hidden = !state.actors.some((actor) => actor.times?.length > 1);
  $("mp4").disabled = $("gif").disabled = !state.actors.some((actor) => actor.poses);
}

// Whether the episode seen is the one that was recorded.
function verdict(actor, run) {
  if (actor.target) return [`${actor.missed} from your click, best of ${actor.k}`, { class: "good" }];
  const off = Math.hypot(...actor.recorded.map((value, j) => value - actor.behavior[j]));
  actor.off = off;
  if (off < 1e-3) return [`as recorded (within ${off < 1e-6 ? "0.000001" : off.toExponential(0)})`, { class: "good" }];
  const crossed = run.engine && run.trained_on !== run.engine;
  const why = crossed ? `recorded by ${run.trained_on}, watched in ${run.engine}: ends` : "ends";
  return [`${why} ${off.toFixed(2)}${run.unit} from the recorded ${place(run, actor.recorded)}`, { class: "bad" }];
}

// ---------------------------------------------------------------- playing

const duration = () => Math.max(0, ...state.actors.map((actor) => actor.times?.at(-1) ?? 0));

function restart() {
  state.time = 0;
  setPlaying(true);
}

function setPlaying(playing) {
  state.playing = playing;
  $("play").textContent = playing ? "❚❚" : "▶";
  dirty = true;
}

let before = performance.now();
let toured = 0;
function frame(now) {
  const passed = Math.min(0.1, (now - before) / 1000);
  before = now;
  if (state.playing) {
    state.time = Math.min(duration(), state.time + passed * Number($("speed").value));
    if (state.time >= duration()) setPlaying(false);
    dirty = true;
  }
  if (state.touring && now - toured > 1000 / GENERATIONS_A_SECOND && state.drawn === state.step) {
    toured = now;
    if (state.step >= state.steps.length - 1) setTouring(false);
    else {
      state.step++;
      showGeneration().catch(fail);
    }
  }
  if (dirty) {
    dirty = false;
    showTime();
    scene.draw();
    window.explorer.frames++;
  }
  requestAnimationFrame(frame);
}

function showTime() {
  scene.time = state.time;
  const whole = duration();
  $("time").max = whole || 1;
  if (document.activeElement !== $("time") || state.playing) $("time").value = state.time;
  $("clock").textContent = `${state.time.toFixed(1)} / ${whole.toFixed(1)} s`;
  const followed = state.actors.at(-1);
  if ($("follow").checked && followed?.path) {
    const [x, y] = scene.position(followed);
    scene.camera.target = [x, y + scene.lane(scene.views[followed.run], followed), 0];
  }
  const pictured = state.actors.filter((actor) => actor.pictures).at(-1);
  $("pictures").hidden = !pictured;
  if (pictured) {
    const [k] = scene.moment(pictured);
    const picture = pictured.pictures[k];
    Object.assign($("pictures"), { width: picture.width, height: picture.height });
    $("pictures").getContext("2d").drawImage(picture, 0, 0);
  }
  const run = state.runs[0];
  scene.options.idle = run.robot && !state.actors.length ? run.idle ?? (run.idle = standing(run.robot)) : null;
}

function standing(robot) {
  const pose = new Float32Array(robot.num_positions);
  for (const joint of robot.joints) {
    pose[joint.at] = joint.zero;
    if (joint.kind === "free") pose.set([0, 0, robot.bodies[joint.body].pos[2], 1], joint.at);
  }
  return pose;
}

function setTouring(touring) {
  state.touring = touring;
  $("generations").textContent = touring ? "❚❚" : "▶";
}

function setSize() {
  scene.options.size = Number($("size").value);
  $("sized").textContent = `× ${scene.options.size}`;
  dirty = true;
}

// ---------------------------------------------------------------- what the page says and takes

function element(tag, text, attributes = {}, children = []) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function say(text, offer = "", action = null) {
  clearTimeout(state.silence);
  $("message").replaceChildren(element("span", text));
  if (action) {
    const button = element("button", offer);
    button.onclick = () => action();
    $("message").append(button);
  }
  $("message").hidden = false;
  state.silence = setTimeout(() => ($("message").hidden = true), action ? 30000 : 9000);
}

const fail = (error) => say(error.message);

function savePicture() {
  scene.draw();
  const canvas = new OffscreenCanvas($("scene").width, $("scene").height);
  const pen = canvas.getContext("2d");
  pen.drawImage($("scene"), 0, 0);
  pen.drawImage($("labels"), 0, 0);
  canvas.convertToBlob().then((blob) => download(blob, `${state.runs[0].task}-generation-${generationNow()}.png`));
}

async function saveFilm(format) {
  const run = state.actors.find((actor) => actor.poses)?.run;
  const cast = state.actors.filter((actor) => actor.run === run && actor.poses).map((actor) => `${actor.generation}.${actor.what}`);
  say(`Filming ${cast.length} robot${cast.length > 1 ? "s" : ""} …`);
  const response = await fetch(`ask/video?run=${run}&seed=${seedOf(state.runs[run])}&format=${format}&cast=${cast.join(",")}`);
  if (!response.ok) return say(await response.text());
  download(await response.blob(), `${state.runs[run].task}.${format}`);
  say("Saved.");
}

function download(blob, name) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---------------------------------------------------------------- hands

function listen() {
  const canvas = $("scene");
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held = { x: event.offsetX, y: event.offsetY, moved: false, pan: event.shiftKey || event.button !== 0 };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return hover(event.offsetX, event.offsetY);
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(held, { moved: true, x: event.offsetX, y: event.offsetY });
    const { camera } = scene;
    if (held.pan) {
      const unit = camera.distance / canvas.clientHeight;
      const [c, s] = [Math.cos(camera.yaw), Math.sin(camera.yaw)];
      camera.target = [camera.target[0] + unit * (s * dx - c * dy), camera.target[1] - unit * (c * dx + s * dy), 0];
    } else {
      camera.yaw -= dx * 0.006;
      camera.pitch = Math.min(1.56, Math.max(0.06, camera.pitch + dy * 0.006));
    }
    dirty = true;
  });
  canvas.addEventListener("pointerup", (event) => {
    const isClick = held && !held.moved && event.button === 0;
    held = null;
    if (isClick) pick(scene.viewAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY).catch(fail);
  });
  canvas.addEventListener("pointerleave", () => hover(-100, -100));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { camera } = scene;
    camera.distance = Math.min(8 * scene.reach, Math.max(0.02 * scene.reach, camera.distance * Math.exp(event.deltaY * 0.0011)));
    dirty = true;
  }, { passive: false });
  $("generation").addEventListener("input", () => goTo(Number($("generation").value)));
  const drag = (event) => {
    if (!event.buttons) return;
    const share = event.offsetX / $("timeline").clientWidth;
    const wanted = state.steps[0] + share * (state.steps.at(-1) - state.steps[0] + 1) - 0.5;
    goTo(state.steps.indexOf(nearestOf(state.steps, wanted)));
  };
  for (const name of ["pointerdown", "pointermove"]) $("timeline").addEventListener(name, drag);
  $("generations").onclick = () => {
    if (!state.touring && state.step === state.steps.length - 1) state.step = 0;
    setTouring(!state.touring);
  };
  $("color").onchange = () => {
    scene.views.forEach((_, index) => scene.paint(index, $("color").value));
    dirty = true;
  };
  $("show").onchange = () => {
    scene.options.show = $("show").value;
    showGeneration().catch(fail);
  };
  $("seed").onchange = () => {
    state.seed = Number($("seed").value);
    Promise.all([showGeneration(), refreshHistory()]).catch(fail);
  };
  $("size").oninput = setSize;
  $("play").onclick = () => (state.time >= duration() ? restart() : setPlaying(!state.playing));
  $("time").addEventListener("input", () => {
    setPlaying(false);
    state.time = Number($("time").value);
  });
  $("follow").onchange = () => {
    if (!$("follow").checked) scene.resetCamera();
    dirty = true;
  };
  $("clear").onclick = () => {
    [...state.actors].forEach(remove);
    scene.views.forEach((view) => (view.pool = null));
    dirty = true;
  };
  $("home").onclick = () => {
    $("follow").checked = false;
    scene.resetCamera();
    dirty = true;
  };
  $("png").onclick = savePicture;
  for (const format of ["mp4", "gif"]) $(format).onclick = () => saveFilm(format).catch(fail);
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName)) return;
    if (event.key === " ") $("play").click();
    if (event.key === "ArrowRight") goTo(Math.min(state.steps.length - 1, state.step + 1));
    if (event.key === "ArrowLeft") goTo(Math.max(0, state.step - 1));
  });
  new ResizeObserver(() => {
    dirty = true;
    if (state.steps.length) drawCharts();
  }).observe($("stage"));
}

function goTo(step) {
  if (step === state.step) return;
  setTouring(false);
  state.step = step;
  showGeneration().catch(fail);
}

function hover(x, y) {
  if (!scene.views.length) return;
  const index = scene.viewAt(x, y);
  const row = x < 0 ? null : scene.memberAt(index, x, y);
  $("tooltip").hidden = row === null;
  scene.views.forEach((view, k) => {
    const hovered = k === index ? row : null;
    if (view.hover !== hovered) dirty = true;
    view.hover = hovered;
  });
  if (row === null) return;
  const view = scene.views[index];
  const { cloud } = view;
  $("tooltip").textContent = `member ${cloud.index.data[row]} at ${place(view.run, behaviorOf(view, row))}\nfitness ${cloud.fitness.data[row].toFixed(2)}`;
  Object.assign($("tooltip").style, { left: `${x + 14}px`, top: `${y + 12}px` });
}

// For a console, and for tests: what is shown and where.
window.explorer = { state, scene, parsed, frames: 0 };
listen();
start().catch(fail);
