"""Gymnasium environments as tasks."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import ConfigError, TaskError, cli, evolve, make_task
from evolvability.core.types import Sample, sample_of
from evolvability.tasks.base import with_episodes
from evolvability.tasks.episodes import Episode, named_behavior
from evolvability.tasks.families import family_of
from evolvability.tasks.gymnasium import REMEMBERS, Made, gymnasium_task
from evolvability.tasks.normalizer import no_moments, scaling
from evolvability.tasks.options import GymnasiumOptions
from evolvability.tasks.policies import mlp
from evolvability.tasks.simulators import Address, Trial, part_of
from tests.optional import BOX2D

STOCK = {
    "CartPole-v1": "observation:0",
    "BipedalWalker-v3": "body:hull.x",
    "HalfCheetah-v5": "info:x_position",
    "Ant-v5": "body:torso.x",
    "LunarLander-v3": "body:lander.x",
    "MountainCarContinuous-v0": "observation:0",
}
QUICK = ("CartPole-v1", "BipedalWalker-v3", "HalfCheetah-v5")  # a simulator each


def marks(env: str) -> list[pytest.MarkDecorator]:
    needs = [BOX2D] if env in ("BipedalWalker-v3", "LunarLander-v3") else []
    return needs if env in QUICK else [*needs, pytest.mark.full]


ENVIRONMENTS = [pytest.param(env, marks=marks(env)) for env in STOCK]
TINY: dict[str, Any] = {"num_steps": 12, "hidden": 4, "observation_share": 0.5}


class Counting(gymnasium.Env[Any, Any]):
    """An environment whose every number is known: it counts, and ends or runs out of time when told to."""

    action_space: Any = gymnasium.spaces.Box(-2.0, 4.0, (2,))
    observation_space: Any = gymnasium.spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, ends: int = 100, runs_out: int = 100, nan_at: int = -1) -> None:
        self.ends, self.runs_out, self.nan_at = ends, runs_out, nan_at
        self.actions: list[Any] = []
        self.num_resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.num_resets += 1
        self.time, self.start = 0, float(self.np_random.uniform())
        return np.array([self.start]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.time += 1
        reward = np.nan if self.time == self.nan_at else 2.0
        info = {"time": self.time, "where": np.array([self.start, 7.0])}
        return np.array([self.start + self.time]), reward, self.time >= self.ends, self.time >= self.runs_out, info


def trial_of(make: Callable[[], Any], member: int = 0, generation: int = 0, **options: Any) -> Trial:
    task = gymnasium_task(make, GymnasiumOptions(**{"hidden": 3, "behavior": "info:time", **options}))
    assert task.simulator is not None
    parameters = np.asarray(task.init(jax.random.key(0)))
    memory = jax.device_get(task.memory)
    trial: Trial = task.simulator()(parameters, Address((0, 0), generation, member), memory)
    return trial


@pytest.mark.parametrize("env", ENVIRONMENTS[:5])
def test_stock_environment_runs_end_to_end(env: str) -> None:
    options = {"env": env, "behavior": STOCK[env], **TINY}
    result = evolve("gymnasium", objective="max_variance", generations=2, population_size=8, task_options=options)
    assert (result.metrics["variance"] > 0).all()
    assert (result.metrics["num_invalid"] == 0).all()
    assert (result.metrics["num_steps"] <= 8 * TINY["num_steps"]).all()
    assert result.state.memory.count[0] > 0


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_what_was_evaluated_before_does_not_matter(env: str) -> None:
    """A member's bits are the same on a worker that has seen others and on a new one."""
    task = make_task("gymnasium", {"env": env, "behavior": "observation", "hidden": 4, "num_steps": 120})
    assert task.simulator is not None
    memory = jax.device_get(task.memory)
    generator = np.random.default_rng(0)
    members = [generator.normal(size=task.init(jax.random.key(0)).shape).astype(np.float32) for _ in range(3)]
    used = task.simulator()
    trials = [used(member, Address((0,), 0, k), memory) for k, member in enumerate(members)]
    for k, member in enumerate(members):
        alone = task.simulator()(member, Address((0,), 0, k), memory)
        assert alone.behavior.tobytes() == trials[k].behavior.tobytes()
        assert alone.fitness == trials[k].fitness


@BOX2D
def test_environment_that_remembers_is_still_one_that_does() -> None:
    """If this fails, `REMEMBERS` is out of date, and the environment need not be rebuilt any more."""
    env = Made("BipedalWalker-v3", {})()
    assert env.spec.id.startswith(REMEMBERS)

    def episode(seed: int) -> list[bytes]:
        generator = np.random.default_rng(seed)
        env.reset(seed=seed)
        return [env.step(generator.uniform(-1, 1, 4).astype(np.float32))[0].tobytes() for _ in range(60)]

    first = episode(2)
    episode(12)
    assert episode(2) != first


def test_termination_ends_an_episode() -> None:
    trial = trial_of(lambda: Counting(ends=5))
    assert (trial.behavior.tolist(), trial.fitness, trial.num_steps) == ([5.0], 10.0, 5)


def test_truncation_ends_an_episode() -> None:
    assert trial_of(lambda: Counting(runs_out=6)).num_steps == 6
    assert trial_of(Counting, num_steps=4).num_steps == 4


def test_own_function_sees_how_the_episode_ended() -> None:
    seen: list[Episode] = []

    def measure(episode: Episode) -> float:
        seen.append(episode)
        return float(len(episode.observations))

    task = gymnasium_task(lambda: Counting(ends=3), GymnasiumOptions(hidden=2), behavior=measure)
    assert task.simulator is not None
    task.simulator()(np.zeros(26, np.float32), Address((0,), 0, 0), jax.device_get(task.memory))
    assert (seen[-1].terminated, seen[-1].truncated, len(seen[-1].observations)) == (True, False, 4)
    assert seen[-1].rewards == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("scope", ["member", "generation", "run"])
def test_every_episode_of_a_member_has_a_start_of_its_own(scope: Any) -> None:
    options = GymnasiumOptions(behavior="observation", num_steps=2, hidden=2, seeds_differ_by=scope)
    task = with_episodes(gymnasium_task(Counting, options), 3)
    outcome, _ = task.evaluate(jax.random.key(0), sample_of(jnp.zeros((2, 26))), task.memory)
    assert outcome.episodes is not None
    starts = np.asarray(outcome.episodes)[:, :, 0] - 2
    assert [len(set(own)) for own in starts.tolist()] == [3, 3]
    assert np.array_equal(starts[0], starts[1]) == (scope != "member")
    np.testing.assert_allclose(outcome.behavior, outcome.episodes.mean(axis=1))
    assert outcome.num_steps.tolist() == [6, 6]
    assert outcome.fitness.tolist() == [4.0, 4.0]


def _start_of(seed: int) -> float:
    return float(Counting().reset(seed=seed)[0][0])


@pytest.mark.parametrize(
    ("scope", "same_member", "same_generation"),
    [("member", False, False), ("generation", True, False), ("run", True, True)],
)
def test_scope_decides_who_shares_a_start(scope: str, same_member: bool, same_generation: bool) -> None:
    def start(member: int, generation: int) -> float:
        options = {"behavior": "observation", "num_steps": 1, "seeds_differ_by": scope}
        return float(trial_of(Counting, member, generation, **options).behavior[0])

    assert (start(0, 0) == start(1, 0)) is same_member
    assert (start(0, 0) == start(0, 1)) is same_generation


def test_box_actions_span_their_range() -> None:
    actions = []

    class Recording(Counting):
        def step(self, action: Any) -> Any:
            actions.append(action)
            return super().step(action)

    task = gymnasium_task(Recording, GymnasiumOptions(hidden=2, num_steps=1))
    assert task.simulator is not None
    for bias, expected in ((0.0, 1.0), (-0.5, -0.5), (9.0, 4.0), (-9.0, -2.0)):
        parameters = np.zeros(16, np.float32)
        parameters[-2:] = bias
        task.simulator()(parameters, Address((0,), 0, 0), jax.device_get(task.memory))
        np.testing.assert_allclose(actions[-1], expected)


def test_discrete_action_is_the_largest_output() -> None:
    actions = []

    class Choosing(Counting):
        action_space = gymnasium.spaces.Discrete(3, start=5)

        def step(self, action: Any) -> Any:
            actions.append(action)
            return super().step(action)

    task = gymnasium_task(Choosing, GymnasiumOptions(hidden=2, num_steps=1))
    assert task.simulator is not None
    parameters = np.zeros(19, np.float32)
    parameters[-1] = 1.0
    task.simulator()(parameters, Address((0,), 0, 0), jax.device_get(task.memory))
    assert actions[-1] == 7


def test_network_is_that_of_the_locomotion_tasks(key: Any) -> None:
    policy = family_of(mlp((5, 5)), 3, 2)
    center, observation = np.asarray(policy.init(key)), np.array([0.3, -1.0, 2.0], np.float32)
    noise, sign = np.zeros((1, len(center)), np.float32), np.ones(1, np.float32)
    sample: Any = (center[None], sign[None], noise, np.zeros(1, int), sign, np.zeros(1, int))
    given: Any = observation[None]
    expected = policy.act(policy.build(Sample(*sample)), given, ())[0][0]
    np.testing.assert_allclose(policy.apply(center, observation)[0], expected, rtol=1e-5)


def test_statistics_of_observations_are_remembered() -> None:
    seen = trial_of(Counting, observation_share=1.0, num_steps=4).seen
    inputs = [_start_of(Address((0, 0), 0, 0).seed()) + step for step in range(4)]
    assert seen is not None
    expected = [4.0, float(np.mean(inputs)), float(np.var(inputs) * 4)]
    np.testing.assert_allclose([seen.count, seen.mean[0], seen.spread[0]], expected, rtol=1e-5)
    assert trial_of(Counting, observation_share=0.0, num_steps=4).seen is None
    mean, std = scaling(jax.device_get(no_moments(2)))
    assert (mean == 0).all()
    assert (std == 1).all()


def test_reward_that_is_not_finite_makes_a_member_invalid() -> None:
    trial = trial_of(lambda: Counting(nan_at=3), num_steps=5, observation_share=1.0)
    assert not part_of(trial).outcome.valid[0]
    assert part_of(trial).seen == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "which environment"),
        ({"env": "CartPoly-v1"}, "could not be made"),
        ({"env": "CartPole-v1", "behavior": "info:nowhere"}, "has no 'nowhere'"),
        ({"env": "CartPole-v1", "behavior": "observation:9"}, "no entry 9"),
        ({"env": "CartPole-v1", "behavior": "body:hull"}, "no body 'hull'"),
        pytest.param(
            {"env": "BipedalWalker-v3", "behavior": "body:head.x"}, "no body 'head'. There are: hull", marks=BOX2D
        ),
        ({"env": "HalfCheetah-v5", "behavior": "body:head"}, "There are: world, torso"),
        ({"env": "CartPole-v1", "behavior": "nothing"}, "module:function is expected"),
        ({"env": "CartPole-v1", "behavior": "observation:x"}, "whole numbers"),
        ({"env": "CartPole-v1", "fitness": "nowhere:f"}, "could not be imported"),
        ({"env": "CartPole-v1", "env_arguments": "[1]"}, "JSON object"),
    ],
)
def test_bad_options_are_refused_with_what_to_do(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ConfigError, TaskError), match=words):
        make_task("gymnasium", options)


def test_without_box2d_it_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "Box2D", missing)
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=r"'Box2D' \(extra 'box2d'\), which is not installed"):
        make_task("gymnasium", {"env": "BipedalWalker-v3"})


def test_action_space_of_another_kind_is_refused() -> None:
    class Odd(Counting):
        action_space = gymnasium.spaces.MultiBinary(2)

    with pytest.raises(ConfigError, match="must be a Box or Discrete"):
        gymnasium_task(Odd)


def test_a_task_from_python_is_named_by_its_environment() -> None:
    options = GymnasiumOptions(hidden=2)
    assert gymnasium_task(lambda: gymnasium.make("CartPole-v1"), options).name == "CartPole-v1"
    assert gymnasium_task(lambda: Counting(ends=3), options).name == "gymnasium"  # it has no id
    assert make_task("gymnasium", {"env": "CartPole-v1", "hidden": 2}).name == "gymnasium"


def test_names_of_another_number_than_behaviors_are_refused() -> None:
    with pytest.raises(TaskError, match="1 behavior dimensions, but names for 2"):
        gymnasium_task(Counting, GymnasiumOptions(hidden=2), behavior_names=("x", "y"))


def test_measures_have_names() -> None:
    assert make_task("gymnasium", {"env": "CartPole-v1", "behavior": "observation:0,2"}).behavior == (
        "observation 0",
        "observation 2",
    )
    assert dataclasses.astuple(named_behavior("body:left.leg")) == ("left.leg", "xy")  # type: ignore[call-overload]


def test_command_line_runs_an_environment_and_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("measures.py").write_text(
        "def middle(episode):\n    return episode.observations[len(episode.rewards) // 2][:1]\n"
    )
    options = ("--env", "CartPole-v1", "--behavior", "measures:middle", "--hidden", "4", "--population-size", "8")
    cli.main(["train", "gymnasium", *options, "--generations", "2", "--workers", "0", "--output", "run"])
    cli.main(["resume", "run", "--generations", "3", "--workers", "0"])
    output = capsys.readouterr().out
    assert "CartPoleEnv (Gymnasium), this process" in output
    assert "in 3 generations" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workers", "-1"), "--workers must be 0 or more"),
        (("--workers", "1", "--dask", "tcp://x:1"), "not both"),
        (("--dask", "nowhere.json"), "there is no such file"),
        (("--deadline", "0"), "--deadline must be positive"),
    ],
)
def test_command_line_refuses_workers_that_make_no_sense(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["train", "gymnasium", "--env", "CartPole-v1", "--output", str(tmp_path / "run"), *arguments])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err
