"""How soon the explorer shows a run, how fluently its slider moves, and what memory it takes, in headless Chromium.

python benchmarks/explorer.py [RUN]

Without a run, one of the paper's size is made up: 100 generations of 10,000 ants on a ring that grows. Then one that is
ten times as long, to see whether memory grows with it.
"""

import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from evolvability import Run
from evolvability.config.schema import layered
from evolvability.explorer.server import Server
from evolvability.explorer.service import Explorer
from evolvability.runs.writer import RunWriter

FLAGS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
STEP = """async step => {
  const slider = document.getElementById("generation"), began = performance.now();
  slider.value = step;
  slider.dispatchEvent(new Event("input"));
  while (window.explorer.state.drawn !== step) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


JAVASCRIPT_HEAP = "Math.round(performance.memory.usedJSHeapSize / 1e6)"


def made_up(path: Path, generations: int, members: int = 10_000) -> Run:
    """A run folder of an ant's size, with nothing in it that was simulated."""
    config = layered("ant", values={"generations": generations, "population_size": members})
    path.mkdir()
    writer = RunWriter(path)
    writer.create(config)
    generator = np.random.default_rng(0)
    for generation in range(generations):
        angle, spread = generator.uniform(0, 2 * np.pi, (1, members)), generator.normal(1, 0.2, (1, members))
        behavior = (
            30 * (generation + 1) / generations * spread[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)
        )
        behavior = behavior.astype(np.float32)
        arrays = {"behavior": behavior, "fitness": behavior[..., 0], "valid": np.ones((1, members), bool)}
        writer.record("behaviors", generation, arrays | {"component": np.zeros((1, members), np.uint16)})
        names = ("variance", "entropy", "distance", "fitness_mean")
        writer.append(
            "metrics.jsonl", [{"generation": generation, "seed": 0} | dict.fromkeys(names, float(generation))]
        )
    return Run(path)


def main(path: str = "") -> None:
    if path:
        measure(Run(path))
        return
    with tempfile.TemporaryDirectory() as folder:
        for generations in (100, 1000):
            print(f"{generations:,} generations of 10,000 members")
            measure(made_up(Path(folder) / str(generations), generations))


def measure(run: Run) -> None:
    server = Server(Explorer([run]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        first = []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1400, "height": 860})
            began = time.perf_counter()
            page.goto(server.address)
            while not page.evaluate("window.explorer?.frames > 0"):
                time.sleep(0.005)
            first.append(time.perf_counter() - began)
        print(f"first picture: median {statistics.median(first):.2f} s, worst {max(first):.2f} s")
        page.wait_for_timeout(3000)
        steps = page.evaluate("window.explorer.state.steps.length")
        for name in ("new", "seen before"):
            order = range(steps - 2, max(-1, steps - 42), -1)
            times = sorted(page.evaluate(STEP, step) for step in order)
            middle, late = statistics.median(times), times[int(0.95 * len(times))]
            print(f"slider, clouds {name}: median {middle:.0f} ms, 95 % within {late:.0f} ms per step")
        every = max(1, steps // 100)  # all of a run of the paper's size
        for step in range(0, steps, every):
            page.evaluate(STEP, step)
        print(f"page's memory after a tour: {page.evaluate(JAVASCRIPT_HEAP)} MB of JavaScript")
        browser.close()
    print(f"server's memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
