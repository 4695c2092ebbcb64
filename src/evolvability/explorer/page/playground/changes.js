// What somebody may change of a robot's world: the friction, a push at the start, and which motors work.

import { $, button, state } from "explorer/stage";
import { number } from "playground/walkers";

export const UNCHANGED = { friction: 1, push: [0, 0], broken: [] };

// What is different now, for people; empty where nothing is.
export function inWords({ friction, push, broken }, motors) {
  const said = friction === 1 ? [] : [`friction ${Math.round(100 * friction)} %`];
  if (push.some(Boolean)) said.push(`pushed at ${number(Math.hypot(...push))} m/s`);
  if (broken.length) said.push(`${broken.map((k) => motors[k].name).join(" and ")} broken`);
  return said.join(", ");
}

// Sliders and buttons show what a tab's world is like.
export function showChanges({ changes, robot, setup }) {
  $("changes").hidden = !setup?.program;
  if (!setup?.program) return;
  const { friction, push, broken } = changes;
  $("friction").value = 100 * friction;
  [$("pushX").value, $("pushY").value] = push;
  $("frictions").hidden = !setup.touches;
  $("pushes").hidden = setup.pushes.length < 1;
  $("pushesY").hidden = setup.pushes.length < 2;
  write();
  const made = ({ name }, k) => {
    const title = broken.includes(k) ? "Broken: it does nothing. Click to mend it." : "It works. Click to break it.";
    return button(name, () => toggle(k), { "aria-pressed": broken.includes(k), title });
  };
  $("motors").replaceChildren(...robot.motors.map(made));
}

function write() {
  $("frictionNow").textContent = `${$("friction").value} %`;
  for (const axis of ["X", "Y"]) $(`push${axis}Now`).textContent = `${$(`push${axis}`).value} m/s`;
}

function change(changed) {
  const { tab } = state;
  tab.change({ ...tab.changes, ...changed });
  showChanges(tab);
}

function toggle(motor) {
  const { broken } = state.tab.changes;
  const others = broken.filter((one) => one !== motor);
  change({ broken: others.length < broken.length ? others : [...broken, motor].toSorted((a, b) => a - b) });
}

export function listenToChanges() {
  for (const name of ["friction", "pushX", "pushY"]) $(name).oninput = write;
  $("friction").onchange = () => change({ friction: $("friction").value / 100 });
  const pushed = () => change({ push: [$("pushX"), $("pushY")].map((slider) => Number(slider.value)) });
  $("pushX").onchange = $("pushY").onchange = pushed;
  $("mend").onclick = () => change(UNCHANGED);
}
