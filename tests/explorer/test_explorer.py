"""The explorer's data, its answers, its server and its page, in a real browser where there is one."""

import json
import shutil
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import imageio.v3 as imageio
import mujoco
import numpy as np
import pytest
import safetensors.numpy
from PIL import Image

from evolvability import Run, cli, evolve
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.explorer import data
from evolvability.explorer.export import export_page
from evolvability.explorer.server import Server
from evolvability.explorer.service import Explorer, Kept
from evolvability.runs.folder import RunWriter
from evolvability.studies import rebuild
from evolvability.tasks.robots import ant, cheetah
from evolvability.training.driver import resume
from tests.browsing import draws_here, go_to, open_page, screen_of, until, wait_for_actor


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
    assert table["rest"] == model.qpos0.tolist()


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
    with pytest.raises(RunFolderError, match="generation 1 was not kept"):
        explorer.answer("replay?run=0&seed=0&generation=1&member=0")
    with pytest.raises(ConfigError, match=r"'clouds'.*'cloud'"):
        explorer.answer("clouds?run=0")
    with pytest.raises(ConfigError, match=r"generation.*'x'"):
        explorer.answer("cloud?run=0&seed=0&generation=x")
    with pytest.raises(ConfigError, match=r"1 runs.*got 4"):
        explorer.answer("cloud?run=4&seed=0&generation=0")
    with pytest.raises(ConfigError, match="'seed'"):
        explorer.answer("cloud?run=0&generation=0")
    with pytest.raises(ConfigError, match="number of behaviors"):
        Explorer([ant_run, pattern_run])
    with pytest.raises(ConfigError, match="at least one run"):
        Explorer([])


def test_kept_results_are_bounded() -> None:
    kept, made = Kept(2), []
    for name in ("a", "b", "a", "c", "a", "b"):
        kept(name, lambda name=name: made.append(name))  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_a_result_is_made_once_and_keeps_nobody_else_waiting() -> None:
    kept, made, begun, finish = Kept(4), [], threading.Event(), threading.Event()

    def slow() -> str:
        made.append("slow")
        begun.set()
        assert finish.wait(60)
        return "slow"

    with ThreadPoolExecutor() as threads:
        both = [threads.submit(kept, "slow", slow) for _ in range(2)]
        assert begun.wait(60)
        others = [threads.submit(kept, name, lambda: "quick") for name in "abc"]
        try:
            assert [other.result(timeout=20) for other in others] == ["quick"] * 3
            both.append(threads.submit(kept, "slow", slow))
        finally:
            finish.set()
        assert [one.result(timeout=60) for one in both] == ["slow"] * 3
    assert made == ["slow"]


def test_a_result_that_failed_is_made_again_when_asked_again() -> None:
    kept = Kept(2)
    with pytest.raises(ZeroDivisionError):
        kept("a", lambda: 1 // 0)
    assert kept("a", lambda: 1) == 1


def test_the_page_is_answered_while_a_mutation_is_simulated(pattern_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer, simulated = Explorer([pattern_run]), []
    begun, finish = threading.Event(), threading.Event()
    evaluate = rebuild.evaluate

    def slow(*arguments: Any) -> Any:
        simulated.append(arguments)
        begun.set()
        assert finish.wait(60)
        return evaluate(*arguments)

    known = explorer.answer("fresh?run=0&seed=0&generation=30&chunk=0")
    monkeypatch.setattr(rebuild, "evaluate", slow)
    with ThreadPoolExecutor() as threads:
        both = [threads.submit(explorer.answer, "center?run=0&seed=0&generation=30") for _ in range(2)]
        assert begun.wait(60)
        questions = ("overview", "cloud?run=0&seed=0&generation=29", "robot?run=0", "curves?run=0")
        others = [threads.submit(explorer.answer, question) for question in questions]
        again = threads.submit(explorer.answer, "fresh?run=0&seed=0&generation=30&chunk=0")
        try:
            assert all(other.result(timeout=20) for other in others)
            assert again.result(timeout=20) == known
        finally:
            finish.set()
        assert both[0].result(timeout=60) == both[1].result(timeout=60)
    assert len(simulated) == 1


@contextmanager
def serving(*runs: Run) -> Iterator[str]:
    """The address of an explorer."""
    server = Server(Explorer(runs))
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        yield server.address
    finally:
        server.stop()


@pytest.fixture(scope="module")
def served(ant_run: Run) -> Iterator[str]:
    with serving(ant_run) as address:
        yield address


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


def test_slider_changes_the_cloud(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    for generation in (0, 2):
        go_to(opened, generation)
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), ant_run.behaviors(generation)["behavior"][0])
    assert "generation 2" in opened.inner_text("#now").replace("\n", " ")
    until(opened, "window.explorer.scene.views[0].centers.length === 1")  # once the slider rests
    center = arrays(Explorer([ant_run]), "center?run=0&seed=0&generation=2")["behavior"]
    np.testing.assert_array_equal(np.float32(opened.evaluate("window.explorer.scene.views[0].centers")), center)


def test_the_center_is_marked_however_long_the_task_takes_to_load(
    opened: Any, pattern_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Explorer.robot

    def slow(explorer: Explorer, asked: Any) -> bytes:
        time.sleep(1)
        return robot(explorer, asked)

    monkeypatch.setattr(Explorer, "robot", slow)
    with serving(pattern_run) as address:
        open_page(opened, address)
        until(opened, "window.explorer.scene.views[0].centers?.length === 1")


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
        found = opened.evaluate(
            f"import('explorer/robots').then(m => m.bodies({table}, {numbers}).map(b => [b.m41, b.m42, b.m43]))"
        )
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
    assert all(part in text for part in ("12 fresh", "generation 3", f"number {distance.argmin()} "))


def test_a_member_that_cannot_be_rebuilt_is_said_and_fresh_ones_are_offered(
    opened: Any, served: str, ant_run: Run
) -> None:
    open_page(opened, served)
    go_to(opened, 1)
    row = int(np.argmax(ant_run.behaviors(1)["behavior"][0, :, 0]))
    opened.mouse.click(*screen_of(opened, row))
    opened.wait_for_selector("#message button")
    assert "generation 1 was not kept" in opened.inner_text("#message")
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


def test_a_file_plays_the_nearest_member_whose_motion_it_holds(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    output = export_page(ant_run, tmp_path / "ant.html", generations=2, members=20, mutations=1, embed=4)
    open_page(opened, output.as_uri())
    held = opened.evaluate("window.explorer.state.runs[0].embedded")
    behavior = ant_run.behaviors(2)["behavior"][0]
    np.testing.assert_array_equal(np.float32(held["behavior"]), behavior[held["members"]])
    outermost = int(np.linalg.norm(behavior - behavior.mean(axis=0), axis=1).argmax())
    assert (held["generation"], held["members"][0], len(set(held["members"]))) == (2, outermost, 4)
    row = int(np.argmax(np.where(np.isin(np.arange(20), held["members"]), -np.inf, behavior[:, 0])))
    opened.mouse.click(*screen_of(opened, row))
    actor = wait_for_actor(opened)
    distance = np.linalg.norm(behavior[held["members"]] - behavior[row], axis=1)
    nearest = held["members"][int(distance.argmin())]
    assert actor["what"] == f"member.{nearest}"
    text = opened.inner_text("#message")
    assert "4 of the 20 mutations of generation 2" in text
    assert f"#{nearest}: {distance.min():.2f} m away" in text
    assert "as recorded" in opened.inner_text("#actors")


def test_a_run_of_another_engine_shows_both_ends(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "gpu"
    shutil.copytree(ant_run.path, path)
    environment = json.loads((path / "environment.json").read_text())
    (path / "environment.json").write_text(json.dumps(environment | {"devices": ["gpu: NVIDIA H200"]}))
    arrays = ant_run.behaviors(2)
    recorded = arrays["behavior"] + np.array([0.3, 0.4], np.float32)
    RunWriter(path).record_behaviors(2, arrays | {"behavior": recorded})
    with serving(Run(path)) as address:
        open_page(opened, address)
        row = int(np.argmax(recorded[0, :, 0]))
        opened.mouse.click(*screen_of(opened, row))
        actor = wait_for_actor(opened)
    np.testing.assert_allclose(actor["behavior"], arrays["behavior"][0, row], atol=1e-3)
    (x, y), (u, v) = arrays["behavior"][0, row], recorded[0, row]
    text = opened.inner_text("#actors")
    assert f"ends at ({x:.2f}, {y:.2f}) m" in text
    assert f"recorded ({u:.2f}, {v:.2f}) m: 0.50 m apart" in text
    assert "recorded by mjx, watched in mujoco" in text


def test_views_show_what_they_are_asked_for(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    arrays = ant_run.behaviors(2)
    colors = "Array.from({length: 20}, (_, k) => window.explorer.scene.views[0].shades.of(k))"
    for name, values in (
        ("fitness", arrays["fitness"][0]),
        ("distance", np.linalg.norm(arrays["behavior"][0], axis=1)),
    ):
        opened.select_option("#color", name)
        brightness = np.sum(opened.evaluate(colors), axis=1)  # the map goes from dark to bright
        assert brightness[values.argmax()] == brightness.max() > brightness[values.argmin()] == brightness.min()
    opened.select_option("#color", "component")
    assert len(np.unique(opened.evaluate(colors), axis=0)) == 1  # this population has one
    opened.select_option("#show", "density")
    until(opened, "window.explorer.scene.views[0].heat !== null")
    assert opened.evaluate("window.explorer.scene.memberAt(0, 400, 300)") is None
    opened.set_viewport_size({"width": 400, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    scene, aside = (opened.locator(name).bounding_box() for name in ("#scene", "aside"))
    assert scene["width"] == 400
    assert aside["y"] >= scene["y"] + scene["height"]


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
    until(opened, "window.explorer.scene.time === window.explorer.state.time && !window.explorer.state.dirty")
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
        assert opened.locator("#pictures canvas").count() == 2
        shown = (
            "Array.from(document.querySelector('#pictures canvas').getContext('2d').getImageData(0, 0, 600, 400).data)"
            ".filter((_, place) => place % 7 === 0)"  # a number at a time through the browser's protocol is slow
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


def test_an_environment_that_does_not_draw_shows_behaviors_and_says_so(tmp_path: Path) -> None:
    gymnasium.register("Dark-v0", entry_point="tests.tasks.test_gymnasium:Counting")
    options = {"env": "Dark-v0", "behavior": "info:time", "num_steps": 4, "hidden": 2}
    values = {"generations": 1, "population_size": 4, "task_options": options}
    evolve("gymnasium", layered("gymnasium", values=values), output=tmp_path / "dark")
    explorer = Explorer([Run(tmp_path / "dark")])
    assert "does not draw itself" in json.loads(explorer.answer("robot?run=0"))["note"]
    motion = arrays(explorer, "replay?run=0&seed=0&generation=0&member=1")
    assert (motion["behavior"], "pictures" in motion) == (4, False)
    with pytest.raises(SystemExit):
        cli.main(["video", str(tmp_path / "dark"), "--offspring", "0", "--output", str(tmp_path / "dark.gif")])


def test_the_page_follows_a_run_that_is_training(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "training"
    shutil.copytree(ant_run.path, path)
    config = (path / "config.toml").read_text()
    (path / "config.toml").write_text(config.replace("generations = 3", "generations = 4"))
    with serving(Run(path)) as address:
        open_page(opened, address)
        assert "training: generation 3 of 4" in opened.inner_text("#status")
        resume(path)
        until(opened, "window.explorer.state.drawn === 3 && window.explorer.state.runs[0].done")
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), Run(path).behaviors(3)["behavior"][0])
        until(opened, "window.explorer.state.runs[0].curves.generation.data.length === 4")
        entropy = opened.evaluate("Array.from(window.explorer.state.runs[0].curves.entropy.data)")
        np.testing.assert_allclose(np.reshape(entropy, (2, 4)), Run(path).metrics["entropy"], rtol=1e-6)


def test_a_task_without_a_robot_shows_its_plots(opened: Any, pattern_run: Run) -> None:
    with serving(pattern_run, pattern_run) as address:
        open_page(opened, address)
        row = int(np.argmax(pattern_run.behaviors()["behavior"][0]))
        for index in (0, 1):  # one above the other
            opened.mouse.click(*screen_of(opened, row, index))
            until(opened, f"window.explorer.state.actors.length === {index + 1}")
            actor = wait_for_actor(opened)
            assert actor["run"] == index
            np.testing.assert_allclose(actor["behavior"], actor["recorded"], atol=1e-3)
        assert opened.is_hidden("#player")


def test_an_export_that_makes_no_sense_is_refused(ant_run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mutations.*got 0"):
        export_page(ant_run, tmp_path / "page.html", mutations=0)
    with pytest.raises(ConfigError, match=r"\.html.*page\.pdf"):
        export_page(ant_run, tmp_path / "page.pdf")
