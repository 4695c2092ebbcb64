// Time: of the episodes on stage, and of the generations that go by.

import { showGeneration } from "explorer/generations";
import { $, fail, redraw, scene, state } from "explorer/state";

const GENERATIONS_A_SECOND = 10;

export const duration = () => state.actors.reduce((longest, actor) => Math.max(longest, actor.times?.at(-1) ?? 0), 0);

export function restart() {
  state.time = 0;
  setPlaying(true);
}

export function setPlaying(playing) {
  state.playing = playing;
  $("play").textContent = playing ? "❚❚" : "▶";
  redraw();
}

export function setTouring(touring) {
  state.touring = touring;
  $("generations").textContent = touring ? "❚❚" : "▶";
}

let before = performance.now();
let toured = 0;
export function frame(now) {
  const passed = Math.min(0.1, (now - before) / 1000);
  before = now;
  if (state.playing) {
    state.time = Math.min(duration(), state.time + passed * Number($("speed").value));
    if (state.time >= duration()) setPlaying(false);
    redraw();
  }
  if (state.touring && now - toured > 1000 / GENERATIONS_A_SECOND && state.drawn === state.step) {
    toured = now;
    if (state.step >= state.steps.length - 1) setTouring(false);
    else {
      state.step++;
      showGeneration().catch(fail);
    }
  }
  if (state.dirty) {
    state.dirty = false;
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
  for (const actor of state.actors) if (actor.pictures) showPicture(actor);
  const [run] = state.runs;
  scene.options.idle = run.robot && !state.actors.length ? (run.idle ??= standing(run.robot)) : null;
}

function showPicture(actor) {
  const picture = actor.pictures[scene.moment(actor)[0]];
  Object.assign(actor.frame, { width: picture.width, height: picture.height });
  actor.frame.getContext("2d").drawImage(picture, 0, 0);
}

function standing(robot) {
  const pose = new Float32Array(robot.num_positions);
  for (const joint of robot.joints) {
    pose[joint.at] = joint.zero;
    if (joint.kind === "free") pose.set([0, 0, robot.bodies[joint.body].pos[2], 1], joint.at);
  }
  return pose;
}

export function setSize() {
  scene.options.size = Number($("size").value);
  $("sized").textContent = `× ${scene.options.size}`;
  redraw();
}
