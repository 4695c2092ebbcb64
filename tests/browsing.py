"""A headless browser for tests, and what is done in the explorer's page with it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.patience import PATIENCE, attempts

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


DRAWS = """
from evolvability.explorer.videos import draw_without_window
draw_without_window()
import mujoco
mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 32, 32).render()
"""


def until(page: Any, condition: str) -> None:
    """Wait for a condition. Playwright's own way of waiting compiles text, which the page's policy forbids."""
    for _ in attempts():
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"waited in vain for: {condition}; the page says: {page.inner_text('#message')}")


def open_page(page: Any, address: str) -> None:
    page.goto(address)
    until(page, "window.explorer?.frames > 0 && window.explorer.state.runs.every(run => run.playable)")


def screen_of(page: Any, row: int, run: int = 0) -> tuple[float, float]:
    """Where on the page a member is drawn."""
    x, y = page.evaluate(f"(scene => scene.project({run}, scene.spot({run}, {row})))(window.explorer.scene)")
    return x, y


def wait_for_actor(page: Any) -> dict[str, Any]:
    until(page, "window.explorer.state.actors.length > 0 && !window.explorer.state.actors.at(-1).waiting")
    fields = "run, behavior, recorded, what, distance, target"
    return dict(page.evaluate(f"(({{{fields}}}) => ({{{fields}}}))(window.explorer.state.actors.at(-1))"))


def go_to(page: Any, generation: int) -> None:
    page.evaluate(
        f"(() => {{ const s = document.getElementById('generation'); s.value = {generation};"
        " s.dispatchEvent(new Event('input')); })()"
    )
    until(page, f"window.explorer.state.drawn === {generation}")


@cache
def draws_here() -> bool:
    """Whether MuJoCo can draw on this machine."""
    return subprocess.run([sys.executable, "-c", DRAWS], capture_output=True, check=False).returncode == 0


def browsers() -> Iterator[Any]:
    """One browser, for all tests of a module."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: install Debian's package chromium, or set CHROMIUM to a browser's path")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def pages(browser: Any) -> Iterator[Any]:
    """A page in which nothing may go wrong unsaid, its own content policy included."""
    page = browser.new_page(viewport={"width": 1100, "height": 700})
    page.set_default_timeout(1000 * PATIENCE)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if "policy" in message.text.lower() else None)
    yield page
    page.close()
    assert problems == []
