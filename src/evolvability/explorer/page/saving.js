// To take away: the scene as a picture, the mutations on stage as a film, one of them as a policy to act with.

import { ask } from "explorer/answers";
import { element } from "explorer/elements";
import { $, generationNow, say, scene, state } from "explorer/state";

const BORDER = 2; // of a picture, as the style sheet has it

export async function savePicture() {
  scene.draw();
  const canvas = new OffscreenCanvas($("scene").width, $("scene").height);
  const pen = canvas.getContext("2d");
  for (const layer of [$("scene"), $("labels")]) pen.drawImage(layer, 0, 0);
  const whole = $("stage").getBoundingClientRect();
  pen.scale(canvas.width / whole.width, canvas.height / whole.height);
  pen.translate(-whole.x, -whole.y);
  for (const frame of $("pictures").children) {
    const { x, y, width, height } = frame.getBoundingClientRect();
    pen.fillStyle = frame.style.borderColor;
    pen.fillRect(x, y, width, height);
    pen.drawImage(frame, x + BORDER, y + BORDER, width - 2 * BORDER, height - 2 * BORDER);
  }
  download(await canvas.convertToBlob(), `${state.runs[0].task}-generation-${generationNow()}.png`);
}

export const isFilmed = (actor) => actor.poses || actor.pictures;

export async function savePolicy({ run, generation, what, question }) {
  const policy = await ask(question.replace("replay", "policy"));
  download(new Blob([policy]), `${state.runs[run].task}-${generation}.${what}.safetensors`);
  say("Saved. In Python: act = evolvability.load_policy(file); action = act(observation).");
}

// A film has one run's mutations: a scene has one robot.
export async function saveFilm(format) {
  const filmed = state.actors.filter(isFilmed);
  const run = state.runs[filmed[0].run];
  const own = filmed.filter((actor) => actor.run === run.index);
  say(`Filming ${own.length} mutation${own.length > 1 ? "s" : ""} …`);
  const cast = own.map(({ seed, generation, what }) => `${seed}.${generation}.${what}`).join(",");
  const how = `format=${format}&speed=${$("speed").value}`;
  const film = await ask(`video?run=${run.index}&${how}&cast=${cast}`);
  download(new Blob([film]), `${run.task}.${format}`);
  const others = filmed.length - own.length;
  say(`Saved${others ? `, without the ${others} of other runs: a film has one run's` : ""}.`);
}

function download(blob, name) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "-") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
