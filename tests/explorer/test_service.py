"""The explorer's data, its answers and its server."""

import json
import shutil
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import Run, cli, evolve, load_policy
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.types import sample_of
from evolvability.explorer import data
from evolvability.explorer.server import Handler, Server
from evolvability.explorer.service import BROODS, Explorer, Kept
from evolvability.explorer.shapes import robot_table
from evolvability.explorer.videos import make_video
from evolvability.runs.sealed import to_json
from evolvability.runs.writer import RunWriter
from evolvability.studies import rebuild
from evolvability.tasks.replay import Stage
from evolvability.tasks.robots.paper import ant, cheetah
from tests.explorer.serving import arrays
from tests.patience import PATIENCE
from tests.synthetic import config, made_up


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


def test_further_behaviors_have_ranges_and_do_not_change_the_distance_on_the_ground(tmp_path: Path) -> None:
    behavior = np.zeros((1, 201, 3))
    behavior[0, :, 0], behavior[0, :, 2] = np.linspace(-1, 1, 201), 300
    run = made_up(tmp_path / "run", config(), behavior)
    expected = np.array([[-0.99, 0.99], [0, 0], [300, 300]])
    np.testing.assert_allclose(np.array(data.ranges(run)), expected, atol=1e-6)
    share = data.history(run, 0, data.reach(run))["share"][0]
    assert share[:-1].sum() > 0.95  # 300 would be beyond the last bin


def test_a_cloud_tells_members_apart_when_some_are_left_out(ant_run: Run) -> None:
    some = data.cloud(ant_run, 2, 1, most=7)
    assert len(some["index"]) == 7
    np.testing.assert_array_equal(some["behavior"], ant_run.behaviors(2)["behavior"][1, some["index"]])


def test_a_cloud_tells_hundreds_of_components_apart(tmp_path: Path) -> None:
    run = made_up(tmp_path / "run", config(), np.zeros((1, 4, 2)), component=np.array([[0, 255, 256, 300]]))
    assert data.cloud(run, 1, 0)["component"].tolist() == [0, 255, 256, 300]


def test_dimensions_are_those_of_recorded_members_and_of_fresh_ones(ant_run: Run) -> None:
    whole, turned = Explorer([ant_run]), Explorer([Run(ant_run.path, [1, 0])])
    assert json.loads(turned.answer("overview"))["runs"][0]["behavior"] == ["y (m)", "x (m)"]
    for question in ("cloud?run=0&seed=0&generation=2", "center?run=0&seed=0&generation=2"):
        expected = arrays(whole, question)["behavior"][:, ::-1]
        np.testing.assert_array_equal(arrays(turned, question)["behavior"], expected)
    assert not json.loads(turned.answer("robot?run=0"))["moves"]  # its way is along x and y


def test_overview_tells_what_a_run_is_and_what_can_be_rebuilt(ant_run: Run) -> None:
    table = json.loads(Explorer([ant_run]).answer("overview"))["runs"][0]
    assert table["behavior"] == ["x (m)", "y (m)"]
    assert (table["recorded"], table["rebuildable"]) == ([0, 1, 2], [0, 2, 3])
    assert (table["trained_on"], table["done"], table["seeds"]) == ("fused", True, [0, 1])


def test_a_run_made_on_an_accelerator_was_not_trained_on_mujoco(ant_run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "gpu"
    shutil.copytree(ant_run.path, copy)
    environment = ant_run.environment
    for packages, engine in (({"mujoco-mjx": "3.17"}, "mjx"), ({"warp-lang": "1.19"}, "fused on a GPU")):
        table = environment | {"devices": ["gpu: NVIDIA H200"], "packages": packages}
        (copy / "environment.json").write_text(to_json(table))
        assert data.trained_on(Run(copy)) == engine


@pytest.mark.parametrize("make", [ant, cheetah])
def test_robot_table_has_every_shape_but_the_floor(make: Any) -> None:
    model = make().model
    table = robot_table(model)
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


@pytest.mark.parametrize("which", ["member=13", "fresh=27"])
def test_a_downloaded_policy_is_the_mutation_that_was_watched(which: str, ant_run: Run, tmp_path: Path) -> None:
    explorer, where = Explorer([ant_run]), f"run=0&seed=1&generation=2&{which}"
    (tmp_path / "policy.safetensors").write_bytes(explorer.answer(f"policy?{where}"))
    policy = load_policy(tmp_path / "policy.safetensors")
    center = ant_run.drawn_around(2)
    np.testing.assert_array_equal(policy.memory.mean, center["memory/mean"][1])
    kind, _, number = which.partition("=")
    parent = rebuild.parent_of(ant_run, rebuild.watchable_task(ant_run), 2, 1)
    brood = BROODS[kind](parent, int(number), 0)
    brood = replace(brood, sample=sample_of(jnp.asarray(policy.parameters)[None]), wanted=np.array([0]))
    ended = np.asarray(rebuild.evaluate(parent.task, parent, brood).behavior)[0]
    np.testing.assert_allclose(ended, arrays(explorer, f"replay?{where}")["behavior"], atol=1e-4)


def test_parameters_that_are_no_network_are_not_saved_as_a_policy(pattern_run: Run) -> None:
    explorer = Explorer([pattern_run])
    assert not json.loads(explorer.answer("robot?run=0"))["acts"]
    with pytest.raises(ConfigError, match="not a policy"):
        explorer.answer("policy?run=0&seed=0&generation=30&member=0")


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
        assert finish.wait(PATIENCE)
        return "slow"

    with ThreadPoolExecutor() as threads:
        both = [threads.submit(kept, "slow", slow) for _ in range(2)]
        assert begun.wait(PATIENCE)
        others = [threads.submit(kept, name, lambda: "quick") for name in "abc"]
        try:
            assert [other.result(PATIENCE / 2) for other in others] == ["quick"] * 3
            both.append(threads.submit(kept, "slow", slow))
        finally:
            finish.set()
        assert [one.result(PATIENCE) for one in both] == ["slow"] * 3
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
        assert finish.wait(PATIENCE)
        return evaluate(*arguments)

    known = explorer.answer("fresh?run=0&seed=0&generation=30&chunk=0")
    monkeypatch.setattr(rebuild, "evaluate", slow)
    with ThreadPoolExecutor() as threads:
        both = [threads.submit(explorer.answer, "center?run=0&seed=0&generation=30") for _ in range(2)]
        assert begun.wait(PATIENCE)
        questions = ("overview", "cloud?run=0&seed=0&generation=29", "robot?run=0", "curves?run=0")
        others = [threads.submit(explorer.answer, question) for question in questions]
        again = threads.submit(explorer.answer, "fresh?run=0&seed=0&generation=30&chunk=0")
        try:
            assert all(other.result(PATIENCE / 2) for other in others)
            assert again.result(PATIENCE / 2) == known
        finally:
            finish.set()
        assert both[0].result(PATIENCE) == both[1].result(PATIENCE)
    assert len(simulated) == 1


def test_server_answers_this_machine_alone(served: str) -> None:
    with urllib.request.urlopen(served) as response:
        assert b"Evolvability" in response.read()
    foreign = urllib.request.Request(served, headers={"Host": "somebody.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(foreign)


@pytest.mark.parametrize("token", ["", "guess/", "ask/overview", "guess/ask/overview"])
def test_who_does_not_know_the_token_is_not_answered(served: str, token: str) -> None:
    parts = urlsplit(served)
    assert len(parts.path.strip("/")) > 20
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"http://{parts.netloc}/{token}")


def test_many_requests_at_once_are_all_answered(served: str) -> None:
    def ask(number: int) -> int:
        with urllib.request.urlopen(f"{served}ask/overview", timeout=PATIENCE) as response:
            return int(response.status)

    with ThreadPoolExecutor(60) as threads:
        assert set(threads.map(ask, range(120))) == {200}
    assert Server.request_queue_size >= 600
    assert Handler.timeout


def test_served_to_all_the_printed_address_works_elsewhere(ant_run: Run) -> None:
    server = Server(Explorer([ant_run]), 0, "0.0.0.0")
    server.server_close()
    assert urlsplit(server.address).hostname not in ("0.0.0.0", "")


@pytest.mark.parametrize("speed", ["0.001", "0", "nan", "1e9"])
def test_a_film_that_would_never_end_is_refused(speed: str) -> None:
    with pytest.raises(ConfigError, match=r"speed must be between .* and .*got"):
        make_video(Stage(None, 0.01), [], "gif", speed=float(speed))


def test_a_video_has_each_mutation_of_its_own_seed(ant_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Any] = []
    monkeypatch.setattr(
        "evolvability.explorer.videos.make_video", lambda stage, motions, *_, **__: recorded.extend(motions)
    )
    Explorer([ant_run]).answer("video?run=0&format=gif&speed=1&cast=0.2.member.13,1.2.member.13")
    behavior = ant_run.behaviors(2)["behavior"][:, 13]
    np.testing.assert_array_equal([motion.behavior[0] for motion in recorded], behavior)


def test_a_member_is_replayed_in_each_of_its_episodes(lucky_run: Run) -> None:
    explorer, recorded = Explorer([lucky_run]), lucky_run.behaviors()
    shown = arrays(explorer, "cloud?run=0&seed=0&generation=0")
    np.testing.assert_array_equal(shown["episodes"], recorded["episodes"][0])
    found = [
        arrays(explorer, f"replay?run=0&seed=0&generation=0&member=5&episode={episode}")["behavior"]
        for episode in range(2)
    ]
    np.testing.assert_allclose(found, recorded["episodes"][0, 5], atol=1e-3)
    assert np.linalg.norm(found[0] - found[1]) > 1e-2  # luck
    with pytest.raises(ConfigError, match="from 0 to 1 in this run, got 2"):
        explorer.answer("replay?run=0&seed=0&generation=0&member=5&episode=2")


def test_of_members_with_many_episodes_fewer_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_up(tmp_path / "run", config(population_size=40), np.zeros((1, 40, 2)))
    RunWriter(run.path).record("behaviors", 1, run.behaviors() | {"episodes": np.zeros((1, 40, 5, 2), np.float32)})
    monkeypatch.setattr(data, "MAX_NUMBERS", 200)
    shown = data.cloud(run, 1, 0)
    assert shown["episodes"].shape == (20, 5, 2)
    assert shown["behavior"].shape == (20, 2)


def test_server_explains_an_error(served: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{served}ask/replay?run=0&seed=0&generation=1&member=0")
    assert caught.value.code == 422
    assert "was not kept" in caught.value.read().decode()


def test_a_port_in_use_is_refused(served: str, ant_run: Run) -> None:
    with pytest.raises(ConfigError, match="Choose another port, or any: port=0"):
        Server(Explorer([ant_run]), urlsplit(served).port or 0)


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
        cli.main(["video", str(tmp_path / "dark"), "--members", "0", "--output", str(tmp_path / "dark.gif")])
