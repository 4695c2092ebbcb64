"""How many episodes per second a worker of the playground simulates, and how fluently forty robots are drawn.

python benchmarks/playground.py [RUN]

In headless Chromium, of the paper's ant unless a run is given. Pixels are drawn by software there, so beside the frames
per second it tells what a frame costs without them: the part that a machine with a graphics card is left with.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from evolvability import Run
from evolvability.explorer.playground import export_playground

RESULTS = Path(__file__).parents[1] / "results" / "paper-h200"
FLAGS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
EPISODES = 10
ONE_WORKER = """async (number) => {
  const { crew } = window.playground, times = [];
  crew.idle.splice(1); // the others rest
  for (let fresh = 0; fresh < number; fresh++) {
    const began = performance.now();
    await crew.attempt({ of: 0, who: { fresh }, factor: 1 });
    times.push(performance.now() - began);
  }
  return times;
}"""
FORTY = """async (number) => {
  const { state, scene, crew } = window.playground, tab = state.tab;
  const walk = await crew.attempt({ of: 0, who: { fresh: 1 }, factor: 1 });
  document.getElementById("all").checked = true;
  const tried = Array.from({ length: number }, (_, fresh) => ({ ...walk, fresh }));
  tab.batch = { target: [0, 0], numbers: tried, tried };
  tab.show();
  const counted = window.playground.frames;
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const frames = (window.playground.frames - counted) / 5;
  const posed = [];
  for (let k = 0; k < 50; k++) {
    const began = performance.now();
    for (const actor of state.actors) scene.solid(scene.views[0], actor);
    posed.push(performance.now() - began);
  }
  return { frames, posed };
}"""


def main(path: str = "") -> None:
    """Measure, and print."""
    run = Run(path or RESULTS / "ant-max_entropy")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        output = export_playground(run, Path(folder) / "page.html")
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(output.as_uri())
        page.wait_for_function("window.playground.state.tab?.ready", polling=100)
        first, *others = page.evaluate(ONE_WORKER, EPISODES)
        print(f"{run.config.task}, {output.stat().st_size / 1e6:.2f} MB")
        later = 1000 / statistics.median(others)
        print(f"one worker: the first episode takes {first / 1000:.2f} s, then {later:.1f} per second")
        drawn = page.evaluate(FORTY, 40)
        print(
            f"forty robots: {drawn['frames']:.0f} frames per second; to place them takes {min(drawn['posed']):.1f} ms"
        )
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
