// What both pages share: their parts by name, what is said, who is on stage, the time that passes, and the view.

import { Scene } from "explorer/scene";

const CLICK_PIXELS = 4; // a hand that moves less has clicked
const LONGEST_STEP = 0.1; // seconds between two frames: a page that was hidden does not leap
const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);
export const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;

// Text is only ever set as text: a run's names cannot become part of the page.
export function element(tag, text, attributes = {}, children = []) {
  const made = ["svg", "polyline"].includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(text, action, attributes = {}) {
  const made = element("button", text, attributes);
  made.onclick = action;
  return made;
}

// What a page carries as text.
export function unzipped(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
}

// Says something below the scene, with something to do about it, if given.
export function say(text, offer = "", action = null) {
  $("message").replaceChildren(text, ...(action ? [button(offer, action)] : []));
}

// Whatever goes wrong is said, also before anything is drawn: a browser may lack WebGL.
window.addEventListener("error", ({ message }) => say(message));
window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  say(event.reason.message);
});

// `actors` are the mutations on stage, `time` is that of their episodes.
export const state = { actors: [], time: 0, playing: false, dirty: true };
export const scene = new Scene($("scene"), $("labels"), state);

// To be called when something has changed: the next frame shows it.
export const redraw = () => (state.dirty = true);

// The first place on stage that nobody has.
export function freeSlot() {
  let slot = 0;
  while (state.actors.some((actor) => actor.slot === slot)) slot++;
  return slot;
}

export function leave(actor) {
  state.actors = state.actors.filter((one) => one !== actor);
  redraw();
}

const duration = () => Math.max(0, ...state.actors.map((actor) => actor.times?.at(-1) ?? 0));

// What has just come plays by itself; to who asked for less motion its end is shown.
export function begin() {
  state.time = isStill ? duration() : 0;
  setPlaying(!isStill);
}

function setPlaying(playing) {
  state.playing = playing;
  $("play").textContent = playing ? "❚❚" : "▶";
  redraw();
}

function toggle() {
  if (state.time >= duration()) state.time = 0;
  setPlaying(!state.playing);
}

// Plays from now on; `pass` is called for every frame, and `draw` for those that show something new.
export function animate(page, pass, draw) {
  $("play").onclick = toggle;
  $("time").oninput = () => {
    setPlaying(false);
    state.time = Number($("time").value);
  };
  let before = performance.now();
  requestAnimationFrame(function frame(now) {
    const passed = Math.min(LONGEST_STEP, (now - before) / 1000);
    before = now;
    if (state.playing) {
      state.time = Math.min(duration(), state.time + passed * Number($("speed").value));
      setPlaying(state.time < duration());
    }
    pass(now);
    if (state.dirty) {
      state.dirty = false;
      const whole = duration();
      $("player").hidden = !whole;
      Object.assign($("time"), { max: whole || 1, value: state.time });
      $("clock").textContent = `${state.time.toFixed(1)} / ${whole.toFixed(1)} s`;
      draw();
      page.frames++;
    }
    requestAnimationFrame(frame);
  });
}

// Drag turns the view, shift-drag or the right button moves it, the wheel or two fingers zoom. `click` and `hover` are
// given places on the page.
export function steer(click, hover = () => {}) {
  const canvas = $("scene");
  const fingers = new Map();
  let held = null;
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    held = { x: event.offsetX, y: event.offsetY, moved: fingers.size > 1, pan: event.shiftKey || event.button !== 0 };
  };
  canvas.onpointermove = (event) => {
    if (!held) return hover(event.offsetX, event.offsetY);
    if (fingers.size === 2) return pinch(fingers, event);
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < CLICK_PIXELS) return;
    Object.assign(held, { moved: true, x: event.offsetX, y: event.offsetY });
    const { target: [x, y], yaw, pitch, distance } = scene.camera;
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)].map((part) => (distance * part) / canvas.clientHeight);
    if (held.pan) set({ target: [x + s * dx - c * dy, y - c * dx - s * dy, 0] });
    else set({ yaw: yaw - dx * 0.006, pitch: Math.min(1.56, Math.max(0.06, pitch + dy * 0.006)) });
  };
  canvas.onpointerup = canvas.onpointercancel = ({ type, button, pointerId, offsetX, offsetY }) => {
    fingers.delete(pointerId);
    const isClick = held && !held.moved && button === 0 && type === "pointerup";
    if (!fingers.size) held = null;
    if (isClick) click(offsetX, offsetY);
  };
  canvas.onpointerleave = () => hover(-100, -100);
  canvas.oncontextmenu = (event) => event.preventDefault(); // the right button moves
  canvas.onwheel = (event) => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0011));
  };
  new ResizeObserver(() => (scene.camera.touched ? redraw() : goHome())).observe($("stage"));
}

export function goHome() {
  if (scene.views.length) scene.resetCamera(); // there is not always a ground
  redraw();
}

// A view that somebody has chosen is left alone when the window changes.
function set(values) {
  Object.assign(scene.camera, values, { touched: true });
  redraw();
}

export function zoom(factor) {
  const { reach, camera: { distance } } = scene;
  set({ distance: Math.min(8 * reach, Math.max(0.02 * reach, distance * factor)) });
}

const apart = ([one, other]) => Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);

function pinch(fingers, event) {
  const before = apart([...fingers.values()]);
  fingers.set(event.pointerId, event);
  zoom(before / Math.max(1, apart([...fingers.values()])));
}
