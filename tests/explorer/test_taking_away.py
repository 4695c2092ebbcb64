"""What can be taken away from the explorer's page: pictures, videos and policies."""

import warnings
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
from PIL import Image

from evolvability import Run, evolve, load_policy
from evolvability.config.schema import layered
from evolvability.studies import rebuild
from tests.browsing import draws_here, open_page, until, wait_for_actor
from tests.explorer.serving import serving


def test_the_policy_of_a_clicked_mutation_is_saved_ready_to_act(
    opened: Any, served: str, ant_run: Run, tmp_path: Path
) -> None:
    open_page(opened, served)
    opened.evaluate("window.explorer.pick(0, 7)")
    wait_for_actor(opened)
    opened.evaluate("document.getElementById('seed').value = 1; document.getElementById('seed').onchange()")
    with opened.expect_download() as download:
        opened.click("text=save policy")
    assert download.value.suggested_filename == "ant-2.member.7.safetensors"
    download.value.save_as(tmp_path / "policy.safetensors")
    act = load_policy(tmp_path / "policy.safetensors")
    assert np.isfinite(act(np.zeros(28))).all()
    parent = rebuild.parent_of(ant_run, rebuild.watchable_task(ant_run), 2, 0)  # of the seed it was clicked in
    member = rebuild.members(parent, [7])
    np.testing.assert_array_equal(act.parameters, member.sample.members()[member.wanted[0]])


def test_sixteen_robots_play_and_are_taken_away(opened: Any, served: str, tmp_path: Path) -> None:
    open_page(opened, served)
    opened.set_viewport_size({"width": 840, "height": 500})
    opened.evaluate("(() => { for (let row = 0; row < 17; row++) window.explorer.pick(0, row); })()")
    until(opened, "window.explorer.state.actors.length === 16 && window.explorer.state.actors.every(a => !a.waiting)")
    assert opened.inner_text("#cast") == "16 of at most 16"
    assert opened.inner_text("#actors").count("as recorded") == 16
    opened.evaluate("document.getElementById('play').click(); window.explorer.state.time = 1")
    opened.check("#follow")
    where = "(e => e.scene.position(e.state.actors.at(-1)))(window.explorer)"
    until(opened, "!window.explorer.state.dirty")
    np.testing.assert_allclose(opened.evaluate("window.explorer.scene.camera.target")[:2], opened.evaluate(where))
    opened.select_option("#speed", "8")
    assert Image.open(saved(opened, "png", tmp_path)).size == (520, opened.locator("#stage").bounding_box()["height"])
    for format in ("gif", "mp4") if draws_here() else ():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, of any process started beside it
            pictures = imageio.imread(saved(opened, format, tmp_path))
        assert len(pictures) > 2
        assert pictures.std() > 5


def saved(page: Any, button: str, folder: Path) -> Path:
    """What a button downloads."""
    with page.expect_download() as download:
        page.click(f"#{button}")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == f".{button}"
    return path


def test_an_environment_that_draws_itself_plays_its_pictures(opened: Any, tmp_path: Path) -> None:
    options = {"env": "CartPole-v1", "behavior": "observation:0,2", "num_steps": 30, "hidden": 4}
    values = {"generations": 1, "population_size": 4, "task_options": options}
    evolve("gymnasium", layered("gymnasium", values=values), output=tmp_path / "pole")
    with serving(Run(tmp_path / "pole")) as address:
        open_page(opened, address)
        opened.evaluate("(() => { for (const row of [1, 2]) window.explorer.pick(0, row); })()")
        until(
            opened, "window.explorer.state.actors.length === 2 && window.explorer.state.actors.every(a => a.pictures)"
        )
        assert opened.inner_text("#actors").count("as recorded") == 2
        # Both lie in the upper right corner. A number at a time through the browser's protocol is slow.
        shown = (
            "((pen, wide) => Array.from(pen.getImageData(0.6 * wide, 20, 0.4 * wide - 20, 60).data)"
            ".filter((_, place) => place % 7 === 0))(document.getElementById('labels').getContext('2d'), 780)"
        )
        until(opened, "!window.explorer.state.playing")
        pictures = [np.array(opened.evaluate(shown))]
        opened.evaluate("(e => { e.state.time = 0; e.state.dirty = true; })(window.explorer)")
        until(opened, "!window.explorer.state.dirty")
        pictures.append(np.array(opened.evaluate(shown)))
        assert pictures[0].std() > 10
        assert (pictures[0] != pictures[1]).any()
        opened.select_option("#speed", "0.25")
        assert len(imageio.imread(saved(opened, "gif", tmp_path))) > 2
