// The mutations on stage: who they are, what they did, whether that is what was recorded, and how to take them away.

import { css, robotColor } from "explorer/clouds";
import { ask, askArrays, generationNow, place, spread } from "explorer/runs";
import { $, begin, button, element, freeSlot, leave, redraw, say, scene, state } from "explorer/stage";

const SAME = 1e-3; // ends nearer than this are the same

const isRecorded = (actor) => actor.poses || actor.pictures;

// Puts a mutation on stage, the first one leaving where it is full, and plays it once it is simulated.
export async function bringOn(run, about, question) {
  while (state.actors.length >= state.most) remove(state.actors[0]);
  const slot = freeSlot();
  const [, seed] = /seed=(\d+)/.exec(question); // the page may show another one by now
  const actor = { run: run.index, seed, slot, color: robotColor(slot), waiting: true, question, ...about };
  state.actors.push(actor);
  listActors();
  try {
    await simulate(actor, run);
  } catch (error) {
    remove(actor);
    throw error;
  }
  listActors();
}

async function simulate(actor, run) {
  const { behavior, valid, time, path, poses, note, ...motion } = await askArrays(actor.question);
  const pictures = motion.pictures && (await unpackPictures(motion));
  if (!state.actors.includes(actor)) return; // sent away meanwhile
  Object.assign(actor, { waiting: false, valid: valid.data[0] === 1, behavior: Array.from(behavior.data) });
  Object.assign(actor, { times: time.data, path: path.data, poses: poses?.data, pictures });
  actor.note = note ? new TextDecoder().decode(note.data) : "";
  if (run.moves) scene.setRibbon(actor);
  if (run.moves || pictures) begin();
}

async function unpackPictures({ pictures, picture_ends: ends }) {
  const files = Array.from(ends.data, (end, k) => pictures.data.slice(k ? ends.data[k - 1] : 0, end));
  return Promise.all(files.map((file) => createImageBitmap(new Blob([file], { type: "image/jpeg" }))));
}

export function remove(actor) {
  leave(actor);
  actor.pictures?.forEach((picture) => picture.close());
  listActors();
}

function listActors() {
  $("cast").textContent = state.actors.length ? `${state.actors.length} of at most ${state.most}` : "";
  $("actors").replaceChildren(...state.actors.map(listed));
  $("mp4").disabled = $("gif").disabled = !state.actors.some(isRecorded);
  redraw();
}

function listed(actor) {
  const run = state.runs[actor.run];
  const origin = ` · generation ${actor.generation}${state.runs.length > 1 ? ` · ${run.name}` : ""}`;
  const lines = actor.waiting ? [[run.draws ? "simulating and drawing …" : "simulating …"]] : report(actor, run);
  const said = lines.map(([line, kind = ""]) => element("p", line, { class: kind }));
  const text = element("div", "", {}, [element("b", actor.label), origin, ...said]);
  const title = "Its network and the statistics of observations, for evolvability.load_policy";
  if (run.acts) text.append(button("save policy", () => savePolicy(actor), { title }));
  const dot = element("i", "", { style: `background:${css(actor.color)}` });
  const away = { title: "Send it away", "aria-label": `send ${actor.label} away` };
  return element("li", "", {}, [dot, text, button("✕", () => remove(actor), away)]);
}

// What is said of a mutation that was simulated: one [text, kind] per line.
function report(actor, run) {
  const { behavior, recorded, valid, missed, k, note, episodes } = actor;
  const isFirst = episodes && actor === state.actors.find((one) => one.episodes === episodes); // of this member's
  const broken = valid ? "" : " (the simulation broke down)";
  const lines = [[`${run.moves ? "ends at" : "behavior"} ${place(run, behavior)}${broken}`]];
  if (isFirst) lines.push([spread(run, episodes)]);
  if (missed) lines.push([`${missed} from your click, best of ${k}`, "good"]);
  const off = recorded && Math.hypot(...recorded.map((value, j) => value - behavior[j]));
  const isSame = off < SAME; // the episode seen is the one that was recorded
  if (isSame) lines.push([`as recorded (within ${off < 1e-6 ? "0.000001" : off.toExponential(0)})`, "good"]);
  else if (recorded) lines.push([`recorded ${place(run, recorded)}: ${off.toFixed(2)}${run.unit} apart`, "bad"]);
  const how = recorded ? "recorded by" : "trained on";
  const why = recorded ? ": engines round differently, and paths are chaotic" : "";
  const isCrossed = run.engine && run.trained_on !== run.engine;
  if (isCrossed && !isSame) lines.push([`${how} ${run.trained_on}, watched in ${run.engine}${why}`]);
  if (note) lines.push([note, "bad"]);
  return lines;
}

export async function savePicture() {
  scene.draw();
  const canvas = new OffscreenCanvas($("scene").width, $("scene").height);
  for (const layer of [$("scene"), $("labels")]) canvas.getContext("2d").drawImage(layer, 0, 0);
  download(await canvas.convertToBlob(), `${state.runs[0].task}-generation-${generationNow()}.png`);
}

async function savePolicy({ run, generation, what, question }) {
  const policy = await ask(question.replace("replay", "policy"));
  download(await policy.blob(), `${state.runs[run].task}-${generation}.${what}.safetensors`);
  say("Saved. In Python: act = evolvability.load_policy(file); action = act(observation).");
}

// A video has one run's mutations: a scene has one robot.
export async function saveVideo(format) {
  const recorded = state.actors.filter(isRecorded);
  const run = state.runs[recorded[0].run];
  const own = recorded.filter((actor) => actor.run === run.index);
  say(`Recording ${own.length} mutation${own.length > 1 ? "s" : ""} …`);
  const cast = own.map(({ seed, generation, what }) => `${seed}.${generation}.${what}`).join(",");
  const video = await ask(`video?run=${run.index}&format=${format}&speed=${$("speed").value}&cast=${cast}`);
  download(await video.blob(), `${run.task}.${format}`);
  const others = recorded.length - own.length;
  say(`Saved${others ? `, without the ${others} of other runs: a video has one run's` : ""}.`);
}

function download(blob, name) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "-") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
