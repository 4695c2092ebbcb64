"""The playground in Firefox: it simulates, draws and walks as in Chromium, and as the library says."""

from pathlib import Path

import numpy as np
import playground
import pytest

from evolvability import Run
from evolvability.studies.rebuild import fresh_one, parent_of, watchable_task
from tests.explorer.in_double import replay_in_double
from tests.firefox import Firefox, firefoxes

pytestmark = pytest.mark.full
firefox = pytest.fixture(scope="module")(firefoxes)
RESULTS = Path(__file__).parents[2] / "results" / "paper-h200"


def test_a_demonstration_in_firefox_ends_where_the_library_says(firefox: Firefox, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    output = tmp_path / "page.html"
    output.write_text(playground.page())
    firefox.goto(output.as_uri())
    firefox.until("!!window.playground?.state.tab?.ready")
    run = Run(RESULTS / "cheetah-max_entropy")
    parent = parent_of(run, watchable_task(run), run.rebuildable[-1])
    for number in (1, 2):
        brood = fresh_one(parent, number)
        motion = replay_in_double(run)(brood.key, brood.sample, parent.memory)
        changes = "{ friction: 1, push: [0, 0], broken: [] }"
        who = f"{{ of: 0, who: {{ fresh: {number} }}, factor: 1, changes: {changes} }}"
        attempt = f"window.playground.crew.attempt({who})"
        found = firefox.evaluate(f"{attempt}.then(({{ behavior }}) => behavior)")
        np.testing.assert_allclose(found, motion.behavior[0], rtol=0, atol=1e-6)
    firefox.evaluate("void (document.getElementById('k').value = 4)")
    firefox.evaluate("void window.playground.state.tab.send([-90])")
    firefox.until("!!window.playground.state.tab.batch?.best && window.playground.state.time > 0")
    assert "comes nearest" in firefox.evaluate("document.getElementById('message').textContent")
    for index, title in enumerate(["Cheetah", "Ant", "Interference", "Evolve here"]):
        firefox.evaluate(f"void document.getElementById('tabs').children[{index}].click()")
        firefox.until(f"window.playground.state.tab?.title === '{title}'")
        firefox.until("window.playground.frames > 0")
    assert "rror" not in firefox.evaluate("document.getElementById('message').textContent")
