// To take away: the scene as a picture, the mutations on stage as a film.

import { $, element, generationNow, say, scene, seedOf, state } from "explorer/state";

export async function savePicture() {
  scene.draw();
  const canvas = new OffscreenCanvas($("scene").width, $("scene").height);
  const pen = canvas.getContext("2d");
  pen.drawImage($("scene"), 0, 0);
  pen.drawImage($("labels"), 0, 0);
  const [whole, ratio] = [$("stage").getBoundingClientRect(), canvas.width / $("stage").clientWidth];
  for (const frame of $("pictures").hidden ? [] : $("pictures").children) {
    const { x, y, width, height } = frame.getBoundingClientRect();
    const box = [x - whole.x, y - whole.y, width, height].map((side) => side * ratio);
    pen.fillStyle = frame.style.borderColor;
    pen.fillRect(...box);
    pen.drawImage(frame, box[0] + 2 * ratio, box[1] + 2 * ratio, box[2] - 4 * ratio, box[3] - 4 * ratio);
  }
  download(await canvas.convertToBlob(), `${state.runs[0].task}-generation-${generationNow()}.png`);
}

export async function saveFilm(format) {
  const filmed = (actor) => actor.poses || actor.pictures;
  const index = state.actors.find(filmed).run;
  const cast = state.actors.filter((actor) => actor.run === index && filmed(actor)).map((actor) => `${actor.generation}.${actor.what}`);
  say(`Filming ${cast.length} mutation${cast.length > 1 ? "s" : ""} …`);
  const response = await fetch(`ask/video?run=${index}&seed=${seedOf(state.runs[index])}&format=${format}&speed=${$("speed").value}&cast=${cast.join(",")}`);
  if (!response.ok) return say(await response.text());
  download(await response.blob(), `${state.runs[index].task}.${format}`);
  const others = state.actors.filter(filmed).length - cast.length;
  say(`Saved${others ? `, without the ${others} of other runs: a film has one run's` : ""}.`);
}

function download(blob, name) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "-") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
