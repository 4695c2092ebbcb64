// The playground: tabs, the settings beside them, and the hands that use them.

import { steer, zoomed } from "explorer/camera";
import { element } from "explorer/elements";
import { Crew } from "playground/crew";
import { Evolve } from "playground/evolve";
import { Ground } from "playground/ground";
import { $, number, redraw, say, scene, state, table } from "playground/page";
import { clear, listenToPlayer, pass, toggle } from "playground/walkers";
import { Waves } from "playground/waves";

const KINDS = { ground: Ground, evolve: Evolve, waves: Waves };
// Which settings a kind of tab has.
const CONTROLS = {
  ground: ["shares", "sigmas", "ks", "alls", "clear", "home", "how"],
  evolve: ["objectives", "sigmas", "ks", "alls", "run", "restart", "home", "how"],
  waves: ["objectives", "sigmas", "run", "restart"],
};
const STEP = 0.05; // by which a key moves the aim, in reaches

const crew = new Crew();
const kindOf = (tab) => tab.kind ?? "ground";
const tabs = table.tabs.map((tab, index) => new KINDS[kindOf(tab)](tab, index, crew));

const fail = (error) => say(error.message);

async function choose(index) {
  const tab = tabs[index];
  state.tab?.leave();
  state.tab = null; // nothing is drawn until it is there
  for (const [k, button] of [...$("tabs").children].entries()) {
    button.setAttribute("aria-selected", k === index);
    button.tabIndex = k === index ? 0 : -1;
  }
  const kind = kindOf(tab);
  $("waves").hidden = kind !== "waves";
  $("scene").hidden = $("labels").hidden = kind === "waves";
  $("about").textContent = tab.about ?? "";
  for (const id of new Set(Object.values(CONTROLS).flat())) $(id).hidden = !CONTROLS[kind].includes(id);
  $("alls").hidden ||= !tab.moves;
  $("objective").value = tab.settings?.objective ?? "max_entropy";
  say("…");
  await tab.prepare();
  Object.assign(state, { tab, touched: false });
  showShares(tab);
  const [low, high] = tab.sigmas ?? [-3, 3];
  Object.assign($("sigma"), { min: low, max: high, value: Math.log2(tab.factor) });
  showSigma();
  tab.enter();
  redraw();
}

function showShares(tab) {
  $("shares").hidden ||= !(tab.centers?.length > 1);
  if ($("shares").hidden) return;
  $("share").value = tab.share;
  $("one").textContent = tab.centers[0].name;
  $("other").textContent = tab.centers.at(-1).name;
}

const showSigma = () => ($("sigmaNow").textContent = number(state.tab.sigma));

function listenToSettings() {
  $("share").oninput = () => {
    state.tab.share = Number($("share").value);
    state.tab.showCloud();
  };
  $("share").onchange = () => state.tab.again().catch(fail);
  $("sigma").oninput = () => {
    state.tab.factor = 2 ** Number($("sigma").value);
    showSigma();
    state.tab.setSigma?.();
    if (kindOf(state.tab) === "ground") state.tab.showCloud();
  };
  $("sigma").onchange = () => kindOf(state.tab) === "ground" && state.tab.again().catch(fail);
  $("k").oninput = () => ($("kNow").textContent = $("k").value);
  $("all").onchange = () => state.tab.batch && state.tab.show();
  $("objective").onchange = () => state.tab.setObjective($("objective").value);
  $("run").onclick = () => state.tab.run();
  $("restart").onclick = () => state.tab.restart();
  $("clear").onclick = () => {
    state.tab.stop();
    state.tab.batch = null;
    clear();
    state.tab.showPool([]);
  };
  $("home").onclick = () => {
    state.touched = false;
    scene.resetCamera();
    redraw();
  };
}

function listenToScene() {
  const click = (x, y) => {
    const ground = state.tab?.ready && scene.groundAt(0, x, y);
    if (ground) send(ground);
  };
  steer($("scene"), scene, { click, changed: () => { state.touched = true; redraw(); } });
  $("scene").onkeydown = (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const view = scene.views[0];
    const aim = view.aim ?? [0, 0];
    if (event.key in moves) view.aim = aim.map((x, j) => x + STEP * scene.reach * moves[event.key][j]);
    else if (event.key === "Enter") send(aim);
    else if (event.key === " ") toggle();
    else if ("+-".includes(event.key)) Object.assign(scene.camera, zoomed(scene, event.key === "+" ? 0.9 : 1.1));
    else return;
    event.preventDefault();
    const place = view.aim?.map((x) => number(x, 3)).join(", ");
    if (event.key in moves) say(`Aim at (${place})${state.tab.unit}; Enter sends mutations there.`);
    redraw();
  };
  $("waves").onpointerdown = $("waves").onpointermove = (event) => {
    if (event.buttons) state.tab.place((event.offsetX - 16) / (state.tab.right - 32));
  };
}

const send = (ground) => state.tab.send(state.tab.flat ? [ground[0]] : ground).catch(fail);

function listenToTabs() {
  $("tabs").hidden = tabs.length < 2;
  const button = (tab, index) => {
    const made = element("button", tab.title, { role: "tab", "aria-controls": "stage" });
    made.onclick = () => choose(index).catch(fail);
    return made;
  };
  $("tabs").replaceChildren(...tabs.map(button));
  $("tabs").onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const index = (tabs.indexOf(state.tab) + step + tabs.length) % tabs.length;
    $("tabs").children[index].focus();
    choose(index).catch(fail);
  };
}

function frame(now) {
  state.tab?.pass?.(now);
  pass(now);
  if (state.dirty && state.tab) {
    state.dirty = false;
    if (kindOf(state.tab) === "waves") state.tab.draw();
    else scene.draw();
    window.playground.frames++;
  }
  requestAnimationFrame(frame);
}

// For a console, and for tests: what is shown and where.
window.playground = { state, scene, tabs, crew, frames: 0 };
document.title = table.title;
$("title").textContent = table.title;
listenToTabs();
listenToScene();
listenToSettings();
listenToPlayer();
new ResizeObserver(() => {
  if (scene.views.length && !state.touched) scene.resetCamera();
  redraw();
}).observe($("stage"));
choose(0).catch(fail);
requestAnimationFrame(frame);
