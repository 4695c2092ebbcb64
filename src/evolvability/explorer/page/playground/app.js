// The playground: tabs, the settings beside them, and the hands that use them.

import { $, animate, button, goHome, redraw, say, scene, state, steer, zoom } from "explorer/stage";
import { listenToChanges, showChanges } from "playground/changes";
import { Crew } from "playground/crew";
import { Evolve } from "playground/evolve";
import { Ground } from "playground/ground";
import { clear, number } from "playground/walkers";
import { Waves } from "playground/waves";

const KINDS = { ground: Ground, evolve: Evolve, waves: Waves };
const STEP = 0.05; // by which a key moves the aim, in reaches
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const table = JSON.parse($("table").textContent);
const crew = new Crew();
const tabs = table.tabs.map((tab, index) => new KINDS[tab.kind ?? "ground"](tab, index, crew));

async function choose(index) {
  const tab = tabs[index];
  state.tab?.leave?.();
  state.tab = null; // nothing is drawn until it is there
  for (const [k, button] of [...$("tabs").children].entries()) {
    button.setAttribute("aria-selected", k === index);
    button.tabIndex = k === index ? 0 : -1;
  }
  document.body.dataset.kind = tab.kind ?? "ground"; // the style sheet shows what this kind has
  $("about").textContent = tab.about ?? "";
  $("alls").hidden = !tab.moves;
  $("shares").hidden = !(tab.centers?.length > 1);
  $("objective").value = tab.settings?.objective ?? "max_entropy";
  say("…");
  await tab.prepare();
  state.tab = tab;
  $("share").value = tab.share;
  $("one").textContent = tab.centers?.[0].name;
  $("other").textContent = tab.centers?.at(-1).name;
  const [low, high] = tab.sigmas ?? [-3, 3];
  Object.assign($("sigma"), { min: low, max: high, value: Math.log2(tab.factor) });
  showSigma();
  showChanges(tab);
  tab.enter();
  redraw();
}

const showSigma = () => ($("sigmaNow").textContent = number(state.tab.sigma));

function listenToSettings() {
  $("share").oninput = () => {
    state.tab.share = Number($("share").value);
    state.tab.showCloud();
  };
  $("sigma").oninput = () => {
    state.tab.factor = 2 ** Number($("sigma").value);
    showSigma();
    state.tab.setSigma();
  };
  $("share").onchange = $("sigma").onchange = () => state.tab.again?.();
  $("k").oninput = () => ($("kNow").textContent = $("k").value);
  $("all").onchange = () => state.tab.batch && state.tab.show();
  $("objective").onchange = () => {
    state.tab.evolution.settings.objective = $("objective").value;
    state.tab.settle?.();
  };
  $("run").onclick = () => {
    state.tab.evolving = !state.tab.evolving;
    clear();
  };
  $("restart").onclick = () => state.tab.restart();
  $("clear").onclick = () => {
    state.tab.stop();
    Object.assign(state.tab, { batch: null, wanted: null });
    clear();
    state.tab.showPool([]);
  };
  $("home").onclick = goHome;
}

function listenToScene() {
  const send = (ground) => state.tab.send(state.tab.flat ? [ground[0]] : ground);
  steer((x, y) => {
    const ground = state.tab?.ready && scene.groundAt(0, x, y);
    if (ground) send(ground);
  });
  $("scene").onkeydown = (event) => {
    const [view] = scene.views;
    const aim = view.aim ?? [0, 0];
    if (event.key in MOVES) view.aim = aim.map((x, j) => x + STEP * scene.reach * MOVES[event.key][j]);
    else if (event.key === "Enter") send(aim);
    else if (event.key === " ") $("play").click();
    else if ("+-".includes(event.key)) zoom(event.key === "+" ? 0.9 : 1.1);
    else return;
    event.preventDefault();
    const place = view.aim?.map((x) => number(x, 3)).join(", ");
    if (event.key in MOVES) say(`Aim at (${place})${state.tab.unit}; Enter sends mutations there.`);
    redraw();
  };
  $("waves").onpointerdown = $("waves").onpointermove = (event) => {
    if (event.buttons) state.tab.place((event.offsetX - 16) / (state.tab.right - 32));
  };
}

function listenToTabs() {
  $("tabs").hidden = tabs.length < 2;
  const made = (tab, index) => button(tab.title, () => choose(index), { role: "tab", "aria-controls": "stage" });
  $("tabs").replaceChildren(...tabs.map(made));
  $("tabs").onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const index = (tabs.indexOf(state.tab) + step + tabs.length) % tabs.length;
    $("tabs").children[index].focus();
    choose(index);
  };
}

function pass(now) {
  state.tab?.pass?.(now);
  $("run").textContent = state.tab?.evolving ? "pause" : "evolve here";
}

// For a console, and for tests: what is shown and where.
window.playground = { state, scene, tabs, crew, frames: 0 };
document.title = $("title").textContent = table.title;
listenToTabs();
listenToSettings();
listenToChanges();
choose(0).then(listenToScene);
animate(window.playground, pass, () => state.tab?.draw());
