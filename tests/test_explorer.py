"""The explorer's data, its answers, its server and its page, in a real browser where there is one."""

import json
import os
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import safetensors.numpy

from evolvability import Run, evolve
from evolvability.config import layered
from evolvability.errors import ConfigError, RunFolderError
from evolvability.explorer import data
from evolvability.explorer.export import export_page
from evolvability.explorer.server import Server
from evolvability.explorer.service import Explorer, Kept
from evolvability.robots import ant, cheetah
from evolvability.training import resume

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


@pytest.fixture(scope="module")
def ant_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Twenty ants, of which every generation's center was kept but that of the middle one."""
    path = tmp_path_factory.mktemp("runs") / "ant"
    options = {"num_steps": 150, "hidden": 16}
    values = {"generations": 3, "population_size": 20, "seeds": 2, "checkpoint_seconds": 1e6, "task_options": options}
    evolve("ant", layered("ant", values=values), output=path)
    (path / "centers" / "000001.safetensors").unlink()
    return Run(path)


@pytest.fixture(scope="module")
def pattern_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "interference"
    values = {"generations": 30, "population_size": 64, "record_every": 10}
    evolve("interference", layered("interference", values=values), output=path)
    return Run(path)


def arrays(explorer: Explorer, question: str) -> dict[str, Any]:
    return dict(safetensors.numpy.load(explorer.answer(question)))


def test_history_holds_every_valid_member_once(ant_run: Run, pattern_run: Run) -> None:
    for run in (ant_run, pattern_run):
        history = data.history(run, 0, data.reach(run))
        assert list(history["generation"]) == run.recorded
        np.testing.assert_allclose(history["share"].sum(axis=1), 1, atol=1e-6)


def test_history_of_distances_counts_from_the_origin(ant_run: Run) -> None:
    far = 10 * data.reach(ant_run)
    share = data.history(ant_run, 1, far)["share"][-1]
    distance = np.linalg.norm(ant_run.behaviors()["behavior"][1], axis=1)
    expected, _ = np.histogram(distance, np.linspace(0, far, data.NUM_BINS + 1))
    np.testing.assert_allclose(share, expected / 20, atol=1e-6)


def test_a_cloud_tells_members_apart_when_some_are_left_out(ant_run: Run) -> None:
    some = data.cloud(ant_run, 2, 1, most=7)
    assert len(some["index"]) == 7
    np.testing.assert_array_equal(some["behavior"], ant_run.behaviors(2)["behavior"][1, some["index"]])


def test_overview_tells_what_a_run_is_and_what_can_be_rebuilt(ant_run: Run) -> None:
    table = json.loads(Explorer([ant_run]).answer("overview"))["runs"][0]
    assert table["behavior"] == ["x", "y"]
    assert (table["recorded"], table["rebuildable"]) == ([0, 1, 2], [0, 2, 3])
    assert (table["trained_on"], table["done"], table["seeds"]) == ("mujoco", True, [0, 1])


def test_a_run_made_on_an_accelerator_was_not_trained_on_mujoco(ant_run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "gpu"
    shutil.copytree(ant_run.path, copy)
    environment = json.loads((copy / "environment.json").read_text())
    (copy / "environment.json").write_text(json.dumps(environment | {"devices": ["gpu: NVIDIA H200"]}))
    assert data.trained_on(Run(copy)) == "mjx"


@pytest.mark.parametrize("make", [ant, cheetah])
def test_robot_table_has_every_shape_but_the_floor(make: Any) -> None:
    model = make().model
    table = data.robot(model)
    assert len(table["geoms"]) == model.ngeom - 1
    assert {geom["kind"] for geom in table["geoms"]} <= {"capsule", "sphere"}
    assert len(table["bodies"]) == model.nbody
    assert table["num_positions"] == model.nq


def test_replay_ends_where_the_member_was_recorded(ant_run: Run) -> None:
    explorer = Explorer([ant_run])
    motion = arrays(explorer, "replay?run=0&seed=1&generation=2&member=13")
    recorded = ant_run.behaviors(2)["behavior"][1, 13]
    np.testing.assert_array_equal(motion["behavior"], recorded)
    np.testing.assert_allclose(motion["path"][-1] - motion["path"][0], recorded, atol=1e-5)
    assert np.all(np.diff(motion["time"]) > 0)
    assert motion["poses"].shape == (len(motion["time"]), 15)


def test_a_fresh_mutation_ends_where_the_pool_promised(ant_run: Run) -> None:
    explorer = Explorer([ant_run])
    pool = arrays(explorer, "fresh?run=0&seed=0&generation=3&chunk=0")["behavior"]
    motion = arrays(explorer, "replay?run=0&seed=0&generation=3&fresh=7")
    np.testing.assert_array_equal(motion["behavior"], pool[7])


def test_what_cannot_be_answered_is_said(ant_run: Run, pattern_run: Run) -> None:
    explorer = Explorer([ant_run])
    with pytest.raises(RunFolderError, match="center of generation 1 was not kept"):
        explorer.answer("replay?run=0&seed=0&generation=1&member=0")
    with pytest.raises(ConfigError, match=r"Unknown question 'clouds'. Did you mean 'cloud'"):
        explorer.answer("clouds?run=0")
    with pytest.raises(ConfigError, match="generation must be an integer, got 'x'"):
        explorer.answer("cloud?run=0&seed=0&generation=x")
    with pytest.raises(ConfigError, match="There are 1 runs, numbered from 0, got 4"):
        explorer.answer("cloud?run=4&seed=0&generation=0")
    with pytest.raises(ConfigError, match="lacks a value for 'seed'"):
        explorer.answer("cloud?run=0&generation=0")
    with pytest.raises(ConfigError, match="differ in their number of behaviors"):
        Explorer([ant_run, pattern_run])
    with pytest.raises(ConfigError, match="at least one run"):
        Explorer([])


def test_kept_results_are_bounded() -> None:
    kept, made = Kept(2), []
    for name in ("a", "b", "a", "c", "a", "b"):
        kept(name, lambda name=name: made.append(name))  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


@pytest.fixture(scope="module")
def served(ant_run: Run) -> Iterator[str]:
    server = Server(Explorer([ant_run]))
    threading.Thread(target=server.serve, daemon=True).start()
    yield server.address
    server.stop()


def test_server_answers_this_machine_alone(served: str) -> None:
    with urllib.request.urlopen(served) as response:
        assert b"Evolvability" in response.read()
    stranger = urllib.request.Request(served, headers={"Host": "somebody.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(stranger)


def test_server_explains_an_error(served: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{served}ask/replay?run=0&seed=0&generation=1&member=0")
    assert caught.value.code == 422
    assert "was not kept" in caught.value.read().decode()


def test_a_port_in_use_is_refused(served: str, ant_run: Run) -> None:
    with pytest.raises(ConfigError, match="Choose another --port"):
        Server(Explorer([ant_run]), int(served.rstrip("/").rpartition(":")[2]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium: install Debian's package chromium, or set CHROMIUM to a browser's path")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1100, "height": 700})
    page.set_default_timeout(90_000)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    page.close()
    assert problems == []


def until(page: Any, condition: str) -> None:
    """Wait for a condition. Playwright's own way of waiting compiles text, which the page's policy forbids."""
    for _ in range(1800):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"waited in vain for: {condition}; the page says: {page.inner_text('#message')}")


def open_page(page: Any, address: str) -> None:
    page.goto(address)
    until(page, "window.explorer?.frames > 0 && window.explorer.state.runs.every(run => run.playable)")


def screen_of(page: Any, row: int) -> tuple[float, float]:
    """Where on the page a member is drawn."""
    x, y = page.evaluate(
        f"(() => {{ const s = window.explorer.scene, p = s.views[0].places;"
        f" return s.project(0, [p[{2 * row}], p[{2 * row + 1}]]); }})()"
    )
    return x, y


def wait_for_actor(page: Any) -> dict[str, Any]:
    until(page, "window.explorer.state.actors.length > 0 && !window.explorer.state.actors.at(-1).waiting")
    fields = "behavior, recorded, what, distance, target"
    return dict(page.evaluate(f"(({{{fields}}}) => ({{{fields}}}))(window.explorer.state.actors.at(-1))"))


def go_to(page: Any, generation: int) -> None:
    page.evaluate(
        f"(() => {{ const s = document.getElementById('generation'); s.value = {generation};"
        " s.dispatchEvent(new Event('input')); })()"
    )
    until(page, f"window.explorer.state.drawn === {generation}")


def test_slider_changes_the_cloud(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    for generation in (0, 2):
        go_to(opened, generation)
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), ant_run.behaviors(generation)["behavior"][0])
    assert "generation 2" in opened.inner_text("#now").replace("\n", " ")


def test_click_on_a_point_plays_the_recorded_mutation(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    row = int(np.argmax(ant_run.behaviors(2)["behavior"][0, :, 0]))  # at the rim, with nobody before it
    opened.mouse.click(*screen_of(opened, row))
    actor = wait_for_actor(opened)
    assert actor["what"] == f"member.{row}"
    np.testing.assert_allclose(actor["behavior"], ant_run.behaviors(2)["behavior"][0, row], atol=1e-3)
    assert "as recorded" in opened.inner_text("#actors")
    until(opened, "window.explorer.state.time > 0")  # it plays by itself
    opened.evaluate("window.explorer.state.playing = false; window.explorer.state.time = 99")
    script = "(e => { e.scene.time = 99; return e.scene.position(e.state.actors[0]); })(window.explorer)"
    end = opened.evaluate(script)
    np.testing.assert_allclose(end, ant_run.behaviors(2)["behavior"][0, row], atol=1e-3)


def test_bodies_stand_in_the_browser_where_mujoco_puts_them(opened: Any, served: str) -> None:
    open_page(opened, served)
    for make in (ant, cheetah):
        robot = make()
        pose = robot.start + np.linspace(-0.4, 0.5, len(robot.start))
        if robot.name == "ant":
            pose[3:7] /= np.linalg.norm(pose[3:7])
        state = mujoco.MjData(robot.model)
        state.qpos[:] = pose
        mujoco.mj_kinematics(robot.model, state)
        table, numbers = json.dumps(data.robot(robot.model)), json.dumps(pose.tolist())
        found = opened.evaluate(f"import('explorer/robots').then(m => m.bodies({table}, {numbers}).map(b => b.pos))")
        np.testing.assert_allclose(found, state.xpos, atol=1e-6)


def test_click_on_the_ground_finds_the_nearest_of_k(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    go_to(opened, 1)  # whose center is not there: the newest one's mutations are offered instead
    opened.fill("#k", "12")
    opened.mouse.click(540, 480)
    actor = wait_for_actor(opened)
    pool = arrays(Explorer([ant_run]), "fresh?run=0&seed=0&generation=3&chunk=0")["behavior"][:12]
    distance = np.linalg.norm(pool - np.float32(actor["target"]), axis=1)
    assert actor["what"] == f"fresh.{distance.argmin()}"
    assert actor["distance"] == pytest.approx(distance.min(), abs=1e-4)
    text = opened.inner_text("#message")
    assert f"Of 12 fresh mutations of the center of generation 3, number {distance.argmin()} comes nearest" in text


def test_a_member_that_cannot_be_rebuilt_is_said_and_fresh_ones_are_offered(
    opened: Any, served: str, ant_run: Run
) -> None:
    open_page(opened, served)
    go_to(opened, 1)
    row = int(np.argmax(ant_run.behaviors(1)["behavior"][0, :, 0]))
    opened.mouse.click(*screen_of(opened, row))
    opened.wait_for_selector("#message button")
    assert "center of generation 1 was not kept, so it cannot be rebuilt" in opened.inner_text("#message")
    assert opened.evaluate("window.explorer.state.actors.length") == 0
    opened.click("#message button")
    assert wait_for_actor(opened)["what"].startswith("fresh.")


def test_exported_page_needs_no_server(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    output = export_page(ant_run, tmp_path / "ant.html", generations=2, members=10, mutations=3)
    requests: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    open_page(opened, output.as_uri())
    assert opened.evaluate("window.explorer.state.steps") == [0, 2]
    go_to(opened, 0)
    opened.mouse.click(540, 480)
    actor = wait_for_actor(opened)
    assert actor["what"] in {"fresh.0", "fresh.1", "fresh.2"}
    until(opened, "window.explorer.state.time > 0")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_page_follows_a_run_that_is_training(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "training"
    shutil.copytree(ant_run.path, path)
    config = (path / "config.toml").read_text()
    (path / "config.toml").write_text(config.replace("generations = 3", "generations = 4"))
    server = Server(Explorer([Run(path)]))
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        open_page(opened, server.address)
        assert "training: generation 3 of 4" in opened.inner_text("#status")
        resume(path)
        until(opened, "window.explorer.state.drawn === 3 && window.explorer.state.runs[0].done")
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), Run(path).behaviors(3)["behavior"][0])
    finally:
        server.stop()


def test_a_task_without_a_robot_shows_its_plots(opened: Any, pattern_run: Run) -> None:
    server = Server(Explorer([pattern_run, pattern_run]))
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        open_page(opened, server.address)
        row = int(np.argmax(pattern_run.behaviors()["behavior"][0]))
        opened.mouse.click(*screen_of(opened, row))
        actor = wait_for_actor(opened)
        np.testing.assert_allclose(actor["behavior"], actor["recorded"], atol=1e-3)
        assert opened.is_hidden("#player")
    finally:
        server.stop()


def test_an_export_that_makes_no_sense_is_refused(ant_run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mutations must be 1 or more, got 0"):
        export_page(ant_run, tmp_path / "page.html", mutations=0)
    with pytest.raises(ConfigError, match=r"must end in \.html"):
        export_page(ant_run, tmp_path / "page.pdf")
