"""How soon the explorer shows a run, and how fluently its slider moves, in headless Chromium.

python benchmarks/explorer.py RUN
"""

import resource
import shutil
import statistics
import sys
import threading
import time

from playwright.sync_api import sync_playwright

from evolvability import Run
from evolvability.explorer.server import Server
from evolvability.explorer.service import Explorer

FLAGS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
STEP = """async step => {
  const slider = document.getElementById("generation"), began = performance.now();
  slider.value = step;
  slider.dispatchEvent(new Event("input"));
  while (window.explorer.state.drawn !== step) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main(path: str) -> None:
    server = Server(Explorer([Run(path)]))
    threading.Thread(target=server.serve, daemon=True).start()
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
            print(f"slider, clouds {name}: median {middle:.0f} ms, 95 % within {late:.0f} ms a step")
        browser.close()
    print(f"server's memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
