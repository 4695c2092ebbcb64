"""Policy-gradient Evolvability ES: both forms against a closed form, and against networks written out."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from benchmarks.estimators import compare, quality, until, weigh
from evolvability import Config, ConfigError, Run, evolve, make_task, mixture, normal, resume
from evolvability.core.types import Parameters, Sample, sample_of
from evolvability.methods.policy_gradient import (
    Exploration,
    action_score,
    credits,
    explore,
    outcome_at,
    weights_over_time,
)
from evolvability.methods.rollouts import Actor, Rollouts, log_prob
from evolvability.tasks.base import world_of
from evolvability.tasks.policies import mlp
from evolvability.tasks.world import Situation, World, directions

SIGMA, STD = 0.4, 0.5
CENTER = 0.7
NUM_STEPS = 4
TIMES = (2, 4)


def counter() -> World:
    """Each action's square is added up. The network sees nothing, so that its bias alone decides."""

    def begin(keys: Array) -> Situation:
        zero, always = jnp.zeros((len(keys), 1)), jnp.ones(len(keys), bool)
        return Situation((), zero, zero, always, always)

    def advance(now: Situation, actions: Array) -> Situation:
        return now._replace(position=now.position + actions**2)

    return World(mlp(()), 1, 1, NUM_STEPS, begin, advance, directions(1))


COUNTER = Exploration(counter(), STD, TIMES)
POPULATION = normal(SIGMA, mirrored=False)
Estimator = Callable[[Exploration, Sample, Rollouts, Array], Parameters]


def true_gradient(times: tuple[int, ...]) -> float:
    r"""Of $\sum_t \mathrm{Var}(B_t)$, with $B_t$ the sum of $a_u^2$ up to $t$, $a_u \sim N(\theta, s^2)$.

    The squares have the variance $2 v^2 + 4 \mu^2 v$ with $v = \sigma^2 + s^2$ and, sharing $\theta$, the covariance
    $2 \sigma^4 + 4 \mu^2 \sigma^2$.
    """
    return sum(8 * CENTER * (t * (SIGMA**2 + STD**2) + t * (t - 1) * SIGMA**2) for t in times)


@partial(jax.jit, static_argnames="estimator")
def estimate(key: Array, estimator: Estimator) -> Array:
    key_noise, key_episodes = jax.random.split(key)
    center = jnp.array([[0.3, CENTER]])  # a weight on nothing, and the bias
    sample = POPULATION.sample(key_noise, Parameters(center), 0, jnp.arange(2000))
    episodes = explore(COUNTER, key_episodes, sample)
    return estimator(COUNTER, sample, episodes, weights_over_time(weigh, episodes, TIMES)).center[0]


@cache
def estimates(estimator: Estimator) -> np.ndarray[Any, Any]:
    """(repetitions, num_params) independent ones."""
    return np.asarray(jax.lax.map(lambda key: estimate(key, estimator), jax.random.split(jax.random.key(0), 100)))


UNFITTED = partial(action_score, fitted=False)


def parameter_score(exploration: Exploration, sample: Sample, episodes: Rollouts, weights: Array) -> Parameters:
    del exploration, episodes
    return POPULATION.gradient(sample, jnp.sum(weights, axis=1))


def last_action_alone(exploration: Exploration, sample: Sample, episodes: Rollouts, weights: Array) -> Parameters:
    """As the supplement prints it, with an indicator of t = tau on the score."""
    *_, last = exploration.watched
    only = episodes._replace(counts=episodes.counts & (jnp.arange(NUM_STEPS) == last - 1))
    return UNFITTED(exploration, sample, only, weights)


@pytest.mark.parametrize("estimator", [parameter_score, UNFITTED, action_score])
def test_both_forms_estimate_the_true_gradient(estimator: Estimator) -> None:
    found = estimates(estimator)[:, 1]
    error = found.std() / np.sqrt(len(found))
    assert error < 0.02 * true_gradient(TIMES)
    assert abs(found.mean() - true_gradient(TIMES)) < 4 * error + 0.005 * true_gradient(TIMES)  # and a bias of O(1/n)


def test_crediting_the_last_action_alone_misses_most_of_the_gradient() -> None:
    """Actions are exchangeable here, so the fourth gets a fourth of what is wanted at time 4, and nothing of time 2."""
    found = estimates(last_action_alone)[:, 1]
    np.testing.assert_allclose(found.mean(), true_gradient((4,)) / 4, rtol=0.03)
    assert found.mean() < 0.3 * true_gradient(TIMES)


def test_a_weight_that_does_nothing_gets_noise_from_parameters_and_none_from_actions() -> None:
    assert estimates(parameter_score)[:, 0].std() > 0.05
    assert np.all(estimates(action_score)[:, 0] == 0)


@pytest.fixture(scope="module")
def point() -> Exploration:
    world = world_of(make_task("point", {"num_steps": 12, "hidden": 4}))
    return Exploration(world, 0.3, (5, 12))


@pytest.fixture(scope="module")
def acted(point: Exploration) -> tuple[Sample, Rollouts]:
    @jax.jit
    def act() -> tuple[Sample, Rollouts]:
        centers = jax.random.normal(jax.random.key(3), (2, point.world.networks.num_params)) / 2
        sample = mixture(2, 0.3).sample(jax.random.key(4), Parameters(centers), 0, jnp.arange(10))
        return sample, explore(point, jax.random.key(5), sample)

    sample, episodes = act()
    # Two episodes that ended early, and one that broke down.
    counts = episodes.counts.at[0, 3:].set(False).at[1, 9:].set(False).at[2].set(False)
    return sample, episodes._replace(counts=counts, valid=episodes.valid.at[2].set(False))


def test_action_score_is_that_of_networks_written_out(point: Exploration, acted: tuple[Sample, Rollouts]) -> None:
    """Members' networks in full, log-densities in full, and a loop over the times: another way to the same."""
    sample, episodes = acted
    weights = jax.jit(lambda: weights_over_time(weigh, episodes, point.watched))()
    offsets = sample.members() - sample.center[sample.member_components()]
    log_std = jnp.full(2, jnp.log(point.action_std))

    def surrogate(centers: Array) -> Array:
        members = centers[sample.member_components()] + offsets
        scores = jax.vmap(lambda member, *acts: log_prob(point.world.networks, Actor(member, log_std), *acts))(
            members, episodes.inputs, episodes.actions
        )
        scores = jnp.where(episodes.counts, scores, 0)
        until_then = [scores[:, :time].sum(axis=1) for time in point.watched]
        return jnp.sum(weights * jnp.stack(until_then, axis=1)) / sample.num_members

    found = jax.jit(lambda: UNFITTED(point, sample, episodes, weights))().center
    np.testing.assert_allclose(found, jax.jit(jax.grad(surrogate))(sample.center), rtol=1e-3, atol=1e-5)


def test_weights_are_squared_deviations_of_the_valid_at_each_time(
    point: Exploration, acted: tuple[Sample, Rollouts]
) -> None:
    _, episodes = acted
    weights = jax.jit(lambda: weights_over_time(weigh, episodes, point.watched))()
    good = np.asarray(episodes.valid)
    for index, time in enumerate(point.watched):
        behavior = np.asarray(episodes.path)[good, time]
        squares = ((behavior - behavior.mean(axis=0)) ** 2).sum(axis=1)
        expected = len(good) / good.sum() * (squares - squares.mean())  # gradients are means over all members
        np.testing.assert_allclose(weights[good, index], expected, rtol=1e-3, atol=1e-6)
    assert float(weights[2].sum()) == 0


def test_point_walks_in_its_world_as_in_its_task() -> None:
    task = make_task("point", {"num_steps": 12, "hidden": 4})
    exploration = Exploration(world_of(task), 0.0)
    sample = sample_of(jax.random.normal(jax.random.key(0), (6, exploration.world.networks.num_params)))
    episodes = jax.jit(lambda: explore(exploration, jax.random.key(1), sample))()
    outcome, _ = jax.jit(lambda: task.evaluate(jax.random.key(2), sample, ()))()
    np.testing.assert_allclose(outcome_at(episodes, 12).behavior, outcome.behavior, atol=1e-6)
    assert outcome_at(episodes, 5).num_steps.tolist() == [5] * 6
    np.testing.assert_allclose(until(episodes, 5).path[:, -1], outcome_at(episodes, 5).behavior)


@pytest.mark.full
def test_actions_score_is_far_less_noisy_in_short_episodes(point: Exploration) -> None:
    """386 parameters' scores against a few steps' actions': the trace of the covariance, from the same episodes."""
    population, exploration = normal(0.05, mirrored=False), replace(point, times=(12,))
    center = point.world.networks.init(jax.random.key(0))
    rows = compare(population, exploration, jax.random.key(1), center, num_episodes=64, repetitions=12)
    noise = {row["estimator"]: row["noise"] for row in rows}
    assert noise["actions, baseline"] < noise["actions"] < noise["parameters"] / 10


def test_quality_knows_signal_and_noise_apart() -> None:
    generator = np.random.default_rng(0)
    truth = np.array([3.0, 4.0, 0.0])
    found = quality(truth + generator.normal(size=(2000, 3)))
    np.testing.assert_allclose([found.noise, found.signal], [3, 25], rtol=0.05)
    assert abs(found.signal - 25) < 4 * found.signal_error
    nothing = quality(generator.normal(size=(50, 300)))
    assert abs(nothing.signal) < 4 * nothing.signal_error
    assert nothing.signal_error < nothing.noise / 50


SETTINGS: dict[str, Any] = {
    "task_options": {"num_steps": 40, "hidden": 8},
    "objective": "max_variance",
    "estimator": "actions",
    "action_std": 0.3,
    "population_size": 64,
    "generations": 20,
}


def test_policy_gradient_makes_the_toy_world_evolvable() -> None:
    metrics = evolve("point", learning_rate=0.03, **SETTINGS).metrics
    assert metrics["variance"][0, -1] > 10 * metrics["variance"][0, 0]
    assert metrics["num_steps"].tolist() == [[64 * 40] * 20]
    assert np.isnan(metrics["fitness_mean"]).all()


@pytest.mark.full
def test_drawn_actions_may_be_credited_to_parameters_as_well() -> None:
    settings = SETTINGS | {"generations": 2, "l2": 0.0, "optimizer": "sgd"}
    found = [evolve("point", **settings | {"estimator": name}) for name in ("actions", "parameters")]
    actions, parameters = (np.asarray(result.centers) for result in found)
    first = [float(result.metrics["variance"][0, 0]) for result in found]
    assert first[0] == first[1]  # of the same episodes
    assert not np.allclose(actions, parameters)


@pytest.mark.full
def test_times_and_a_goal_are_heeded() -> None:
    settings = SETTINGS | {"generations": 1, "objective": "mean_fitness", "goal": "right"}
    last, early = (np.asarray(evolve("point", **settings, times=times).centers) for times in ((), (5, 20)))
    assert not np.allclose(last, early)
    same = np.asarray(evolve("point", **settings, times=(40,)).centers)
    np.testing.assert_array_equal(last, same)


@pytest.mark.full
def test_a_run_with_drawn_actions_is_written_and_resumed_bit_by_bit(tmp_path: Path) -> None:
    settings = SETTINGS | {"population_size": 8, "seeds": 2, "times": (10, 40)}
    evolve("point", output=tmp_path / "whole", **settings | {"generations": 4})
    evolve("point", output=tmp_path / "part", **settings | {"generations": 2})
    resume(tmp_path / "part", generations=4)
    whole, part = Run(tmp_path / "whole"), Run(tmp_path / "part")
    assert part.config == whole.config
    assert part.config.times == (10, 40)
    np.testing.assert_array_equal(part.checkpoint()["parameters/center"], whole.checkpoint()["parameters/center"])


def test_every_action_is_credited_with_what_follows_it() -> None:
    weights = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    found = credits(jnp.asarray(weights), (2, 4), 5)
    np.testing.assert_allclose(found[:, :2], np.repeat(weights.sum(axis=1, keepdims=True), 2, axis=1), rtol=1e-6)
    np.testing.assert_allclose(found[:, 2:4], np.repeat(weights[:, 1:], 2, axis=1), rtol=1e-6)
    assert not found[:, 4].any()


def test_bad_explorations_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"times .* 4"):
        replace(COUNTER, times=(5,))
    with pytest.raises(ConfigError, match=r"times .* 40"):
        evolve("point", **SETTINGS, times=(41,))
    with pytest.raises(ConfigError, match="interference"):
        evolve("interference", action_std=0.1)
    with pytest.raises(ConfigError, match="workers"):
        evolve("point", **SETTINGS, workers=1)
    with pytest.raises(ConfigError, match="goal='right'"):
        evolve("navigation", action_std=0.1, objective="mean_fitness")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"action_std": -1.0}, "action_std"),
        ({"estimator": "actions"}, "action_std"),
        ({"action_std": 0.1, "times": (0,)}, "times"),
        ({"action_std": 0.1, "chunk_size": 2}, "chunk_size"),
        ({"action_std": 0.1, "objective": "maml"}, "objective"),
        ({"action_std": 0.1, "estimator": "actions", "population": "diagonal_normal"}, "population"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=f"^{named} must be"):
        Config("point", **settings)
