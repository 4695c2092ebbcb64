// The page: it starts here.

import { askTable, isStatic } from "explorer/answers";
import { axesOf, unitOfAll } from "explorer/axes";
import { offerAxes, setAxes } from "explorer/choosing";
import { pickRow } from "explorer/clicks";
import { describe, follow, markCenters, setSteps, showGeneration } from "explorer/generations";
import { refreshCurves, refreshHistory, showRemark } from "explorer/generations";
import { listen } from "explorer/hands";
import { frame, setSize } from "explorer/playing";
import { listenToSelection } from "explorer/selecting";
import { $, fail, redraw, scene, state } from "explorer/state";

async function start() {
  const table = await askTable("overview");
  Object.assign(state, { together: table.together, most: table.max_robots, mutations: table.mutations ?? Infinity });
  state.runs = table.runs.map((run, index) => {
    const dimensions = run.behavior.length;
    return { ...run, index, dimensions, flat: dimensions === 1, unit: unitOfAll(run.behavior) };
  });
  const [run] = state.runs;
  if (isStatic) prepareFile(run);
  if (run.flat) {
    $("direction").remove();
    $("show").parentElement.hidden = true;
  }
  if (run.dimensions > 2) for (const [place, name] of run.behavior.entries()) $("color").add(new Option(name, place));
  for (const [place, seed] of run.seeds.entries()) $("seed").add(new Option(seed, place));
  $("seeds").hidden = run.seeds.length < 2;
  document.title = `${run.name} · Evolvability ES`;
  scene.setRuns(state.runs, [0, 1, 2].slice(0, run.dimensions === 3 ? 3 : 2));
  offerAxes(run);
  setSteps();
  state.step = state.steps.length - 1;
  await showGeneration();
  requestAnimationFrame(frame);
  describe();
  await Promise.all([refreshCurves(), refreshHistory(), ...state.runs.map(prepareRobot)]);
  // Where nothing walks, the ground need not have one scale in both directions.
  if (axesOf(state.runs, scene.chosen).isOwn !== scene.isOwn) await setAxes(scene.chosen);
  markCenters(); // the slider may have rested before the task was there
  if (!isStatic) follow();
}

// What a file on a paper's web page can do, and what it leaves to the explorer itself.
function prepareFile({ embedded }) {
  $("k").max = state.mutations;
  $("k").value = Math.min(state.mutations, 40);
  $("mp4").hidden = $("gif").hidden = true;
  const held = `Click a point: of the ${embedded?.members.length} mutations whose motions this file has (circled), `;
  const point = embedded ? `${held}the nearest walks. Click the ground: ` : "Click anywhere: ";
  $("clicks").textContent = `${point}of ${state.mutations} fresh mutations, the nearest does.`;
}

async function prepareRobot(run) {
  try {
    Object.assign(run, await askTable(`robot?run=${run.index}`), { playable: true });
  } catch (error) {
    Object.assign(run, { playable: false, moves: false, why: error.message });
  }
  showRemark();
  if (run.robot && $("sizes").hidden) {
    $("sizes").hidden = false;
    $("size").value = Math.min(12, Math.max(1, Math.round(scene.reach / 9)));
    setSize();
  }
  redraw();
}

// For a console, and for tests: what is shown and where.
window.explorer = { state, scene, pick: pickRow, frames: 0 };
listen();
listenToSelection();
start().catch(fail);
