// The mutations on stage: who they are, what they did, and whether that is what was recorded.

import { askArrays, isStatic } from "explorer/answers";
import { css, robotColor } from "explorer/colors";
import { button, element } from "explorer/elements";
import { begin } from "explorer/playing";
import { isFilmed, savePolicy } from "explorer/saving";
import { $, fail, place, redraw, say, scene, state } from "explorer/state";

const SAME = 1e-3; // ends nearer than this are the same

// Puts a mutation on stage, the first one leaving where it is full, and plays it once it is simulated.
export async function bringOn(run, about, question) {
  while (state.actors.length >= state.most) remove(state.actors[0]);
  const used = new Set(state.actors.map((actor) => actor.slot));
  let slot = 0;
  while (used.has(slot)) slot++;
  const [, seed] = /seed=(\d+)/.exec(question); // the page may show another one by now
  const actor = { run: run.index, seed, slot, color: robotColor(slot), waiting: true, question, ...about };
  state.actors.push(actor);
  listActors();
  try {
    await simulate(actor, run, question);
  } catch (error) {
    remove(actor);
    say(error.message);
  }
  listActors();
  redraw();
}

async function simulate(actor, run, question) {
  const motion = await askArrays(question);
  const pictures = motion.pictures ? await unpackPictures(motion) : null;
  if (!state.actors.includes(actor)) return; // sent away meanwhile
  Object.assign(actor, {
    waiting: false,
    behavior: Array.from(motion.behavior.data),
    valid: motion.valid.data[0] === 1,
    times: motion.time.data,
    path: motion.path.data,
    poses: motion.poses?.data ?? null,
    pictures,
    note: motion.note ? new TextDecoder().decode(motion.note.data) : "",
  });
  if (run.moves) scene.setRibbon(actor);
  if (run.moves || actor.pictures) begin();
}

async function unpackPictures({ pictures, picture_ends: ends }) {
  const files = Array.from(ends.data, (end, k) => pictures.data.slice(k ? ends.data[k - 1] : 0, end));
  return Promise.all(files.map((file) => createImageBitmap(new Blob([file], { type: "image/jpeg" }))));
}

export function remove(actor) {
  const index = state.actors.indexOf(actor);
  if (index >= 0) state.actors.splice(index, 1);
  scene.painter.release(actor.ribbon);
  actor.pictures?.forEach((picture) => picture.close());
  listActors();
  redraw();
}

function listActors() {
  $("cast").textContent = state.actors.length ? `${state.actors.length} of at most ${state.most}` : "";
  $("actors").replaceChildren(...state.actors.map(listed));
  $("player").hidden = !state.actors.some((actor) => actor.times?.length > 1);
  $("mp4").disabled = $("gif").disabled = !state.actors.some(isFilmed);
  const drawn = state.actors.filter((actor) => actor.pictures);
  $("pictures").hidden = !drawn.length;
  $("pictures").style.setProperty("--columns", Math.ceil(Math.sqrt(drawn.length)));
  $("pictures").replaceChildren(...drawn.map(framed));
}

const framed = (actor) =>
  (actor.frame ??= element("canvas", "", { style: `border-color:${css(actor.color)}`, title: actor.label }));

function listed(actor) {
  const run = state.runs[actor.run];
  const origin = ` · generation ${actor.generation}${state.runs.length > 1 ? ` · ${run.name}` : ""}`;
  const lines = actor.waiting ? [[run.draws ? "simulating and drawing …" : "simulating …"]] : report(actor, run);
  const text = element("div", "", {}, [
    element("b", actor.label),
    element("span", origin),
    ...lines.map(([line, kind]) => element("p", line, kind ? { class: kind } : {})),
  ]);
  const title = "Its network and the statistics of observations, for evolvability.load_policy";
  // A file has what mutations did, not what they are made of.
  if (run.acts && !isStatic) text.append(button("save policy", () => savePolicy(actor).catch(fail), { title }));
  const dot = element("i", "", { style: `background:${css(actor.color)}` });
  const away = { title: "Send it away", "aria-label": `send ${actor.label} away` };
  return element("li", "", {}, [dot, text, button("✕", () => remove(actor), away)]);
}

// What is said of a mutation that was simulated: one [text, kind] per line.
function report(actor, run) {
  const broken = actor.valid ? "" : " (the simulation broke down)";
  const isCrossed = run.engine && run.trained_on !== run.engine;
  const lines = [[`${run.moves ? "ends at" : "behavior"} ${place(run, actor.behavior)}${broken}`]];
  if (actor.missed) lines.push([`${actor.missed} from your click, best of ${actor.k}`, "good"]);
  if (actor.recorded) lines.push(...verdict(actor, run, isCrossed));
  else if (isCrossed) lines.push([`trained on ${run.trained_on}, watched in ${run.engine}`]);
  if (actor.aside) lines.push([actor.aside]);
  if (actor.note) lines.push([actor.note, "bad"]);
  return lines;
}

// Whether the episode seen is the one that was recorded.
function verdict(actor, run, isCrossed) {
  const off = Math.hypot(...actor.recorded.map((value, j) => value - actor.behavior[j]));
  if (off < SAME) return [[`as recorded (within ${off < 1e-6 ? "0.000001" : off.toExponential(0)})`, "good"]];
  const lines = [[`recorded ${place(run, actor.recorded)}: ${off.toFixed(2)}${run.unit} apart`, "bad"]];
  const by = `recorded by ${run.trained_on}, watched in ${run.engine}`;
  if (isCrossed) lines.push([`${by}: engines round differently, and paths are chaotic`]);
  return lines;
}
