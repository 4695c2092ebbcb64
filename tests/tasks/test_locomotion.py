import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import ConfigError, Outcome, Sample, Task, evolve, make_task
from evolvability.config.schema import layered
from evolvability.core.noise import rows
from evolvability.tasks.directions import heading
from evolvability.tasks.normalizer import Moments
from evolvability.training.evolution import Evolution
from tests.conftest import mutations_for

NUM_STEPS = 20
NUM_MEMBERS = 16
HIDDEN = 16
"""As in other tests of robots: physics and network are compiled into one function, for each size of the latter."""
KEY = jax.random.key(3)

Evaluate = Callable[[Array, Sample, Moments], tuple[Outcome, Moments]]
names = pytest.mark.parametrize("name", ["cheetah", "ant"])
needs_warp = pytest.mark.skipif(importlib.util.find_spec("warp") is None, reason="Warp is not installed")


def task(name: str, **options: Any) -> Task:
    return make_task(
        name, {"engine": "mujoco", "num_steps": NUM_STEPS, "hidden": HIDDEN, "observation_share": 0.5, **options}
    )


def draw(task: Task, num_members: int = NUM_MEMBERS) -> Sample:
    return mutations_for(task, num_members)


def with_broken_draw(sample: Sample, index: int = 1) -> Sample:
    """Both members of a draw get torques of NaN."""
    return sample._replace(noise=rows(sample.noise).at[index].set(jnp.nan))


def on_device(name: str) -> tuple[Task, Evaluate]:
    """A robot's task as one compiled program, as it is on a GPU or on several devices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "device_count", lambda: 2)
        compiled = task(name, engine="fused")
    assert not compiled.on_host
    return compiled, jax.jit(compiled.evaluate)


@pytest.fixture(params=["mujoco", "fused", "fused on a device"])
def evaluated(request: pytest.FixtureRequest) -> tuple[Task, Evaluate]:
    """The ant on each engine."""
    if request.param != "mujoco":
        pytest.importorskip("warp", reason="Warp is not installed")
    if request.param == "fused on a device":
        return on_device("ant")
    ant = task("ant", engine=request.param)
    return ant, ant.evaluate


@pytest.mark.parametrize(("name", "num_params"), [("cheetah", 74_246), ("ant", 75_272)])
def test_networks_have_the_papers_sizes(name: str, num_params: int) -> None:
    assert task(name, hidden=256).init(jax.random.key(0)).shape == (num_params,)


@names
@needs_warp
def test_engines_agree_over_a_short_horizon(name: str) -> None:
    reference = task(name)
    sample = draw(reference)
    expected, seen_expected = reference.evaluate(KEY, sample, reference.memory)
    fused = task(name, engine="fused")
    for evaluate in (fused.evaluate, on_device(name)[1]):
        outcome, seen = evaluate(KEY, sample, reference.memory)
        off = np.abs(outcome.behavior - expected.behavior)
        # A foot that touches a step earlier sends a robot elsewhere: most members agree closely, all of them roughly.
        assert np.median(off) < 1e-6
        assert np.max(off) < 1e-3
        np.testing.assert_array_equal(outcome.valid, expected.valid)
        np.testing.assert_array_equal(outcome.num_steps, expected.num_steps)
        assert float(seen.count) == float(seen_expected.count)
        np.testing.assert_allclose(seen.mean, seen_expected.mean, atol=1e-3)
        np.testing.assert_allclose(seen.spread, seen_expected.spread, rtol=1e-2, atol=1e-2)


@needs_warp
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cheetah", "paper"),
        pytest.param("cheetah", "gymnasium", marks=pytest.mark.full),
        pytest.param("ant", "paper", marks=pytest.mark.full),
    ],
)
def test_robots_with_networks_of_the_papers_size_move_as_in_mujoco(
    name: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compiled as in use: what a compiler makes of an episode's program depends on its size, and may be wrong.
    monkeypatch.setattr("warp.config.optimization_level", None)
    settings: dict[str, Any] = {"hidden": 256, "body": body}
    reference, fused = task(name, **settings), task(name, engine="fused", **settings)
    sample = draw(reference)
    expected, _ = reference.evaluate(KEY, sample, reference.memory)
    outcome, _ = fused.evaluate(KEY, sample, reference.memory)
    np.testing.assert_array_equal(outcome.valid, expected.valid)
    assert np.median(np.abs(outcome.behavior - expected.behavior)) < 1e-6


@needs_warp
@names
def test_a_member_is_the_same_to_the_bit_whoever_is_evaluated_beside_it(name: str) -> None:
    robot = task(name, engine="fused", threads=2)
    sample = draw(robot)
    whole = robot.evaluate(KEY, sample, robot.memory)[0]
    part = robot.evaluate(KEY, sample.of_draws(slice(2, 5)), robot.memory)[0]
    np.testing.assert_array_equal(whole.behavior[4:10], part.behavior)
    assert robot.stage
    assert robot.stage.replay
    watched = robot.stage.replay(KEY, sample.of_draws(slice(2, 5)), robot.memory)
    np.testing.assert_array_equal(watched.behavior, part.behavior)
    np.testing.assert_array_equal(watched.num_frames, part.num_steps + 1)


def test_broken_members_count_for_nothing(evaluated: tuple[Task, Evaluate]) -> None:
    ant, evaluate = evaluated
    sample = draw(ant)
    whole, _ = evaluate(KEY, sample, ant.memory)
    others, seen = evaluate(KEY, with_broken_draw(sample), ant.memory)
    broken = np.arange(NUM_MEMBERS) // 2 == 1
    np.testing.assert_array_equal(others.valid, ~broken)
    np.testing.assert_array_equal(others.behavior[~broken], whole.behavior[~broken])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((others, seen)))


def test_statistics_are_those_of_the_observations_of_valid_members(evaluated: tuple[Task, Evaluate]) -> None:
    ant, evaluate = evaluated
    sample = with_broken_draw(draw(ant))
    outcome, seen = evaluate(KEY, sample, ant.memory)
    keys = sample.member_keys(jax.random.split(KEY)[1])
    kept = jax.vmap(lambda key: jax.random.bernoulli(key, 0.5))(keys)
    assert bool(jnp.any(kept & ~outcome.valid))
    assert seen.count == jnp.sum(outcome.num_steps[kept & outcome.valid])
    assert ant.remember(seen, seen).count == 2 * seen.count  # they add up over generations


def test_behavior_is_frozen_after_termination() -> None:
    short, long = task("ant", num_steps=60, hidden=256), task("ant", num_steps=120, hidden=256)
    sample = draw(short, 32)
    first, _ = short.evaluate(KEY, sample, short.memory)
    second, _seen = long.evaluate(KEY, sample, long.memory)
    ended = np.asarray(first.num_steps) < 60
    assert 0 < ended.sum() < 32
    np.testing.assert_array_equal(first.behavior[ended], second.behavior[ended])
    np.testing.assert_array_equal(first.num_steps[ended], second.num_steps[ended])
    assert not np.array_equal(first.behavior[~ended], second.behavior[~ended])
    goes_on, _ = task("ant", num_steps=60, hidden=256, early_termination=False).evaluate(KEY, sample, short.memory)
    assert np.all(goes_on.num_steps == 60)


def test_episodes_end_early_for_the_ant_alone_unless_asked() -> None:
    assert layered("ant").task_options.early_termination
    assert not layered("cheetah").task_options.early_termination


@names
def test_episodes_are_deterministic_unless_the_start_varies(name: str) -> None:
    fixed, varied = task(name), task(name, start_noise=0.1)
    sample = draw(fixed)

    def behavior(task: Task, seed: int) -> Array:
        return task.evaluate(jax.random.key(seed), sample, task.memory)[0].behavior

    np.testing.assert_array_equal(behavior(fixed, 0), behavior(fixed, 1))
    np.testing.assert_array_equal(behavior(varied, 0), behavior(varied, 0))
    assert not np.array_equal(behavior(varied, 0), behavior(varied, 1))


def test_blocks_and_threads_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = draw(task("cheetah"))
    whole = task("cheetah", threads=1).evaluate(KEY, sample, task("cheetah").memory)
    monkeypatch.setattr("evolvability.tasks.engines.mujoco.BLOCK", 3)
    parts = task("cheetah", threads=2).evaluate(KEY, sample, task("cheetah").memory)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.full
def test_chunks_do_not_change_a_run() -> None:
    options = {"engine": "mujoco", "num_steps": 5, "hidden": HIDDEN, "observation_share": 0.5, "start_noise": 0.1}
    run = partial(evolve, "cheetah", objective="max_variance", sigma=0.2, seeds=2, task_options=options)
    whole, chunked = (run(population_size=16, generations=2, chunk_size=size) for size in (0, 4))
    for one, other in zip(jax.tree.leaves(whole.state), jax.tree.leaves(chunked.state), strict=True):
        if not jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_fitness_is_the_distance_in_the_chosen_direction() -> None:
    sample = draw(task("ant"))
    for direction, (x, y) in {"right": (1, 0), "left": (-1, 0), "90": (0, 1), "-45": (0.5**0.5, -(0.5**0.5))}.items():
        ant = task("ant", direction=direction)
        outcome, _ = ant.evaluate(KEY, sample, ant.memory)
        np.testing.assert_allclose(outcome.fitness, outcome.behavior @ np.array([x, y]), atol=1e-6)


def test_directions_that_make_no_sense_are_refused() -> None:
    assert heading("180") == heading("left")
    with pytest.raises(ConfigError, match="right, left or an angle"):
        task("ant", direction="up")
    with pytest.raises(ConfigError, match="the cheetah runs right"):
        task("cheetah", direction="90")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_steps": 0}, "num_steps must be 1 or more, got 0"),
        ({"observation_share": 1.5}, "between 0 and 1"),
        ({"solver_iterations": 0}, "solver_iterations must be 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        task("ant", **options)


@needs_warp
def test_engine_is_chosen_by_the_machine_and_said() -> None:
    ant = make_task("ant", {"hidden": HIDDEN, "threads": 2})
    assert ant.engine == "fused, 2 CPU threads"
    assert ant.on_host
    assert make_task("ant", {"engine": "mujoco", "threads": 1}).engine == "mujoco, 1 CPU thread"


def test_without_warp_mujoco_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "warp" else find(name))
    with pytest.warns(UserWarning, match=r"Install it with: .*warp"):
        assert make_task("ant", {"threads": 2}).engine == "mujoco, 2 CPU threads"
    with pytest.raises(ConfigError, match=r"'warp-lang' \(extra 'warp'\)"):
        make_task("ant", {"engine": "fused"})


def test_presets_mean_something_different_for_each_task() -> None:
    paper, laptop = layered("ant", preset="paper"), layered("ant", preset="laptop")
    assert (paper.population_size, paper.generations, paper.task_options.num_steps) == (10_000, 100, 1000)
    assert laptop.population_size < 1000
    assert layered("ant", preset="laptop", values={"task_options": {"num_steps": 7}}).task_options.num_steps == 7
    assert layered("point", preset="laptop") == layered("point")


def test_normalizer_is_part_of_the_state() -> None:
    config = layered(
        "cheetah",
        preset="smoke",
        values={"population_size": 8, "task_options": {"observation_share": 1.0, "hidden": HIDDEN}},
    )
    evolution = Evolution(config)
    counts = [float(state.memory.count[0]) for state, _, _ in evolution.generations(evolution.start())]
    assert counts == [8 * 20.0, 16 * 20.0, 24 * 20.0]


def test_missing_simulator_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for name in [name for name in sys.modules if name.startswith(("mujoco.", "evolvability.tasks.robots.paper"))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=r"'mujoco' \(extra 'locomotion'\), which is not installed"):
        make_task("ant")
