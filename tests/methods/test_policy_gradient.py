"""Policy-gradient Evolvability ES: both forms against a closed form, and against networks written out."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from evolvability import ConfigError, diagonal_normal, make_task, max_variance, mixture, normal
from evolvability.core.shaping import identity
from evolvability.core.strategy import start
from evolvability.core.types import Cloud, Sample, written_out
from evolvability.methods.policy_gradient import (
    Episodes,
    Estimator,
    Exploration,
    action_score,
    credits,
    explore,
    outcome_at,
    parameter_score,
    policy_gradient_es,
    weights_over_time,
)
from evolvability.methods.rollouts import Actor, log_prob
from evolvability.studies.estimators import compare, quality, until
from evolvability.tasks.base import world_of
from evolvability.tasks.policies import mlp
from evolvability.tasks.world import Situation, World, directions

SIGMA, STD = 0.4, 0.5
CENTER = 0.7
NUM_STEPS = 4
TIMES = (2, 4)
MAX_VARIANCE = max_variance(identity)


@pytest.fixture(scope="module", autouse=True)
def quick_compilation() -> Iterator[None]:
    """Programs this small take longer to optimize than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def counter() -> World:
    """Each action's square is added up. The network sees nothing, so that its bias alone decides."""

    def begin(key: Array, number: int) -> Situation:
        zero, always = jnp.zeros((number, 1)), jnp.ones(number, bool)
        return Situation((), zero, zero, always, always)

    def advance(now: Situation, actions: Array) -> Situation:
        return now._replace(position=now.position + actions**2)

    return World(mlp((1, 1)), 1, 1, NUM_STEPS, begin, advance, directions(1))


COUNTER = Exploration(counter(), normal(SIGMA, mirrored=False), STD, TIMES)


def true_gradient(times: tuple[int, ...]) -> float:
    r"""Of $\sum_t \mathrm{Var}(B_t)$, with $B_t$ the sum of $a_u^2$ up to $t$, $a_u \sim N(\theta, s^2)$.

    The squares have the variance $2 v^2 + 4 \mu^2 v$ with $v = \sigma^2 + s^2$ and, sharing $\theta$, the covariance
    $2 \sigma^4 + 4 \mu^2 \sigma^2$.
    """
    return sum(8 * CENTER * (t * (SIGMA**2 + STD**2) + t * (t - 1) * SIGMA**2) for t in times)


@partial(jax.jit, static_argnames=("estimator", "exploration"))
def estimate(key: Array, estimator: Estimator, exploration: Exploration = COUNTER) -> Array:
    key_noise, key_episodes = jax.random.split(key)
    center = jnp.array([[0.3, CENTER]])  # a weight on nothing, and the bias
    sample = exploration.population.sample(key_noise, Cloud(center), 0, jnp.arange(2000))
    episodes = explore(exploration, key_episodes, sample)
    weights, _ = weights_over_time(exploration, MAX_VARIANCE, episodes)
    return estimator(exploration, sample, episodes, weights).center[0]


@cache
def estimates(estimator: Estimator) -> np.ndarray[Any, Any]:
    """(repetitions, num_params) independent ones."""
    return np.asarray(jax.lax.map(lambda key: estimate(key, estimator), jax.random.split(jax.random.key(0), 100)))


UNFITTED = partial(action_score, fitted=False)


def last_action_alone(exploration: Exploration, sample: Sample, episodes: Episodes, weights: Array) -> Cloud:
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
    return Exploration(world, mixture(2, 0.3), 0.3, (5, 12))


@pytest.fixture(scope="module")
def acted(point: Exploration) -> tuple[Sample, Episodes]:
    @jax.jit
    def act() -> tuple[Sample, Episodes]:
        centers = jax.random.normal(jax.random.key(3), (2, point.world.policy.num_params)) / 2
        sample = point.population.sample(jax.random.key(4), Cloud(centers), 0, jnp.arange(10))
        return sample, explore(point, jax.random.key(5), sample)

    sample, episodes = act()
    # Two episodes that ended early, and one that broke down.
    counts = episodes.counts.at[0, 3:].set(False).at[1, 9:].set(False).at[2].set(False)
    return sample, episodes._replace(counts=counts, valid=episodes.valid.at[2].set(False))


def test_action_score_is_that_of_networks_written_out(point: Exploration, acted: tuple[Sample, Episodes]) -> None:
    """Members' networks in full, log-densities in full, and a loop over the times: another way to the same."""
    sample, episodes = acted
    weights, _ = jax.jit(lambda: weights_over_time(point, MAX_VARIANCE, episodes))()
    offsets = sample.members() - sample.center[sample.member_components()]
    log_std = jnp.full(2, jnp.log(point.action_std))

    def surrogate(centers: Array) -> Array:
        members = centers[sample.member_components()] + offsets
        scores = jax.vmap(lambda member, *acts: log_prob(point.world.policy, Actor(member, log_std), *acts))(
            members, episodes.inputs, episodes.actions
        )
        scores = jnp.where(episodes.counts, scores, 0)
        until_then = [scores[:, :time].sum(axis=1) for time in point.watched]
        return jnp.sum(weights * jnp.stack(until_then, axis=1)) / sample.num_members

    found = jax.jit(lambda: UNFITTED(point, sample, episodes, weights))().center
    np.testing.assert_allclose(found, jax.jit(jax.grad(surrogate))(sample.center), rtol=1e-3, atol=1e-5)


def test_weights_are_squared_deviations_of_the_valid_at_each_time(
    point: Exploration, acted: tuple[Sample, Episodes]
) -> None:
    _, episodes = acted
    weights, value = jax.jit(lambda: weights_over_time(point, MAX_VARIANCE, episodes))()
    good = np.asarray(episodes.valid)
    variances = 0.0
    for index, time in enumerate(point.watched):
        behavior = np.asarray(episodes.path)[good, time]
        squares = ((behavior - behavior.mean(axis=0)) ** 2).sum(axis=1)
        expected = len(good) / good.sum() * (squares - squares.mean())  # gradients are means over all members
        np.testing.assert_allclose(weights[good, index], expected, rtol=1e-3, atol=1e-6)
        variances += squares.mean()
    assert float(weights[2].sum()) == 0
    np.testing.assert_allclose(value, variances, rtol=1e-5)


def test_point_walks_in_its_world_as_in_its_task() -> None:
    task = make_task("point", {"num_steps": 12, "hidden": 4})
    exploration = Exploration(world_of(task), normal(0.5), 0.0)
    sample = written_out(jax.random.normal(jax.random.key(0), (6, exploration.world.policy.num_params)))
    episodes = jax.jit(lambda: explore(exploration, jax.random.key(1), sample))()
    outcome, _ = jax.jit(lambda: task.evaluate(jax.random.key(2), sample, ()))()
    np.testing.assert_allclose(outcome_at(episodes, 12).behavior, outcome.behavior, atol=1e-6)
    assert outcome_at(episodes, 5).num_steps.tolist() == [5] * 6
    np.testing.assert_allclose(until(episodes, 5).path[:, -1], outcome_at(episodes, 5).behavior)


def test_actions_score_is_far_less_noisy_in_short_episodes(point: Exploration) -> None:
    """386 parameters' scores against a few steps' actions': the trace of the covariance, from the same episodes."""
    exploration = replace(point, population=normal(0.05, mirrored=False), times=(12,))
    center = point.world.policy.init(jax.random.key(0))
    rows = compare(exploration, MAX_VARIANCE, jax.random.key(1), center, num_episodes=64, repetitions=12)
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


def test_policy_gradient_makes_the_toy_world_evolvable() -> None:
    task = make_task("point", {"num_steps": 40, "hidden": 8})
    exploration = Exploration(world_of(task), normal(0.05), 0.3)
    learner = policy_gradient_es(exploration, max_variance(), optax.adam(0.03), population_size=64)
    first = start(learner, task, 1, jax.random.key(0))
    _, info = jax.jit(lambda state: jax.lax.scan(lambda state, _: learner.step(state), state, length=20))(first)
    assert float(info.variance[-1]) > 10 * float(info.variance[0])
    assert info.num_steps.tolist() == [64 * 40] * 20


def test_every_action_is_credited_with_what_follows_it() -> None:
    weights = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    found = credits(jnp.asarray(weights), (2, 4), 5)
    np.testing.assert_allclose(found[:, :2], np.repeat(weights.sum(axis=1, keepdims=True), 2, axis=1), rtol=1e-6)
    np.testing.assert_allclose(found[:, 2:4], np.repeat(weights[:, 1:], 2, axis=1), rtol=1e-6)
    assert not found[:, 4].any()


def test_bad_explorations_are_refused() -> None:
    with pytest.raises(ConfigError, match="times must be steps from 1 to 4"):
        replace(COUNTER, times=(5,))
    with pytest.raises(ConfigError, match="action_std must be 0 or more"):
        replace(COUNTER, action_std=-1.0)
    with pytest.raises(ConfigError, match="only drawn actions have a score"):
        estimate(jax.random.key(0), action_score, replace(COUNTER, action_std=0.0))
    scales = policy_gradient_es(
        replace(COUNTER, population=diagonal_normal(0.1)), MAX_VARIANCE, optax.sgd(1.0), population_size=4
    )
    with pytest.raises(ConfigError, match="use normal or mixture"):
        scales.init(jax.random.key(0), jnp.zeros((1, 2)))
