// The mutations on stage: who they are, what they did, and whether that is what was recorded.

import { askArrays } from "explorer/answers";
import { css, robotColor } from "explorer/colors";
import { restart } from "explorer/playing";
import { $, element, place, redraw, say, scene, state } from "explorer/state";

const SAME = 1e-3; // ends nearer than this are the same

export function addActor(run, about) {
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

export async function simulate(actor, run, question) {
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
      note: motion.note ? new TextDecoder().decode(motion.note.data) : "",
    });
    if (run.moves) scene.setRibbon(actor);
    if (run.moves || actor.pictures) restart();
  } catch (error) {
    remove(actor);
    say(error.message);
  }
  listActors();
  redraw();
}

async function unpackPictures({ pictures, picture_ends: ends }) {
  const files = Array.from(ends.data, (end, k) => pictures.data.slice(k ? ends.data[k - 1] : 0, end));
  return Promise.all(files.map((file) => createImageBitmap(new Blob([file], { type: "image/jpeg" }))));
}

export function remove(actor) {
  state.actors = state.actors.filter((other) => other !== actor);
  scene.actors = state.actors;
  scene.painter.release(actor.ribbon?.buffer);
  actor.pictures?.forEach((picture) => picture.close());
  listActors();
  redraw();
}

export function listActors() {
  $("cast").textContent = state.actors.length ? `${state.actors.length} of at most ${state.most}` : "";
  $("actors").replaceChildren(...state.actors.map(listed));
  $("player").hidden = !state.actors.some((actor) => actor.times?.length > 1);
  $("mp4").disabled = $("gif").disabled = !state.actors.some((actor) => actor.poses || actor.pictures);
  const drawn = state.actors.filter((actor) => actor.pictures);
  $("pictures").hidden = !drawn.length;
  $("pictures").style.setProperty("--columns", Math.ceil(Math.sqrt(drawn.length)));
  $("pictures").replaceChildren(...drawn.map((actor) => (actor.frame ??= element("canvas", "", { style: `border-color:${css(actor.color)}`, title: actor.label }))));
}

function listed(actor) {
  const run = state.runs[actor.run];
  const text = element("div", "", {}, [element("b", actor.label), element("span", ` · generation ${actor.generation}${state.runs.length > 1 ? ` · ${run.name}` : ""}`)]);
  if (actor.waiting) text.append(element("p", run.draws ? "simulating and drawing …" : "simulating …"));
  else for (const [line, kind] of report(actor, run)) text.append(element("p", line, kind ? { class: kind } : {}));
  const away = element("button", "✕", { title: "Send it away" });
  away.onclick = () => remove(actor);
  return element("li", "", { "data-what": actor.what }, [element("i", "", { style: `background:${css(actor.color)}` }), text, away]);
}

// What is said of a mutation that was simulated: [text, kind] a line.
function report(actor, run) {
  const lines = [[`${run.moves ? "ends at" : "behavior"} ${place(run, actor.behavior)}${actor.valid ? "" : " (the simulation broke down)"}`, ""]];
  if (actor.target) lines.push([`${actor.missed} from your click, best of ${actor.k}`, "good"]);
  if (actor.recorded) lines.push(...verdict(actor, run));
  else if (crossed(run)) lines.push([`trained on ${run.trained_on}, watched in ${run.engine}`, ""]);
  if (actor.aside) lines.push([actor.aside, ""]);
  if (actor.note) lines.push([actor.note, "bad"]);
  return lines;
}

const crossed = (run) => run.engine && run.trained_on !== run.engine;

// Whether the episode seen is the one that was recorded.
function verdict(actor, run) {
  const off = Math.hypot(...actor.recorded.map((value, j) => value - actor.behavior[j]));
  actor.off = off;
  if (off < SAME) return [[`as recorded (within ${off < 1e-6 ? "0.000001" : off.toExponential(0)})`, "good"]];
  const apart = `recorded ${place(run, actor.recorded)}: ${off.toFixed(2)}${run.unit} apart`;
  const why = `recorded by ${run.trained_on}, watched in ${run.engine}: engines round differently, and paths are chaotic`;
  return crossed(run) ? [[apart, "bad"], [why, ""]] : [[apart, "bad"]];
}
