"""Episodes of the same member: MaxCov and MaxInfo against closed forms, finite differences and a toy's known answer."""

import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import Config, ConfigError, evolve, function_task
from evolvability.core.objectives import (
    Objective,
    max_covariance,
    max_entropy,
    max_information,
    max_variance,
    mean_fitness,
    repeatability,
)
from evolvability.core.populations import diagonal_normal, low_rank, mixture, normal
from evolvability.core.shaping import Shaping, centered_ranks, robust, standardize, unshaped
from evolvability.core.stateful_objectives import weighted_sum
from evolvability.core.types import Outcome, make_outcome, merge_episodes
from tests.conftest import clustered_outcome, compiled_weights, in_tiers

merged = jax.jit(lambda rows, number: merge_episodes(make_outcome(rows), number), static_argnums=1)
SHAPES = list(itertools.product((2, 3, 5), (1, 2, 3)))


def episodes_of(num_episodes: int, num_behaviors: int, num_members: int = 60, seed: int = 0) -> Outcome:
    """Members whose episodes differ, each by as much as pleases it."""
    generator = np.random.default_rng(seed)
    means = 3 * generator.normal(size=(num_members, 1, num_behaviors)) + np.arange(num_behaviors)
    luck = generator.normal(size=(num_members, num_episodes, num_behaviors))
    luck *= generator.uniform(0.1, 2, size=(num_members, 1, 1))
    rows = (means + luck).reshape(-1, num_behaviors).astype(np.float32)
    return merged(rows, num_episodes)


def alike(outcome: Outcome, number: int) -> Outcome:
    """The same members in a world that does not vary."""
    return merged(np.repeat(np.asarray(outcome.behavior), number, axis=0), number)


@pytest.mark.parametrize(("number", "dimensions"), SHAPES)
def test_covariance_weights_match_closed_form(number: int, dimensions: int) -> None:
    """w_i = |mean_i - mean|^2 - s_i^2 / k, which is the mean of the products of two different episodes."""
    result = episodes_of(number, dimensions)
    weights, value = compiled_weights(max_covariance(unshaped), result)
    each = np.asarray(result.episodes, np.float64)
    each -= each.mean(axis=(0, 1))
    pairs = list(itertools.permutations(range(number), 2))
    products = np.mean([(each[:, a] * each[:, b]).sum(axis=1) for a, b in pairs], axis=0)
    np.testing.assert_allclose(weights, products, rtol=1e-3, atol=1e-4)
    assert float(value) == pytest.approx(products.mean(), rel=1e-4)
    assert number > 2 or np.any(products < 0)  # of members that behave now so, now otherwise


@pytest.mark.parametrize(("number", "dimensions"), in_tiers(SHAPES, [(2, 1), (3, 2), (2, 3)]))
def test_information_weights_match_closed_form(number: int, dimensions: int) -> None:
    """With K_ia the density of the other episodes at episode a, differentiated by hand."""
    result, width = episodes_of(number, dimensions), 1.3
    weights, value = compiled_weights(max_information(width, unshaped), result)
    each = np.asarray(result.episodes, np.float64)
    gap = each[:, :, None, None] - each[None, None]  # (i, a, j, b, dimension)
    kernel = np.exp(-np.sum(gap**2, axis=-1) / (2 * width**2))
    kernel *= ~np.eye(number, dtype=bool)[None, :, None]
    density = kernel.sum(axis=3).mean(axis=2) / (number - 1)
    pairs = list(itertools.permutations(range(number), 2))
    own = np.mean([-np.sum((each[:, a] - each[:, b]) ** 2, axis=1) for a, b in pairs], axis=0) / (2 * width**2)
    slope = (kernel / density[:, :, None, None]).sum(axis=3).mean(axis=(0, 1)) / (number - 1)
    values = own - np.log(density).mean(axis=1)
    np.testing.assert_allclose(weights, values - slope, rtol=2e-3, atol=2e-3)
    assert float(value) == pytest.approx(values.mean(), rel=1e-4)
    assert float(value) < np.log(len(each))


@pytest.mark.parametrize(
    ("number", "shaping"),
    in_tiers(itertools.product((2, 4), (standardize, unshaped)), [(2, standardize), (4, unshaped)]),
)
def test_without_circumstances_they_are_maxvar_and_maxent(number: int, shaping: Shaping) -> None:
    plain = clustered_outcome(80)
    result = alike(plain, number)
    for objective, expected in (
        (max_covariance(shaping), max_variance(shaping)),
        (max_information(1.0, shaping), max_entropy(1.0, shaping)),
    ):
        weights, value = compiled_weights(objective, result)
        wanted, wanted_value = compiled_weights(expected, plain)
        np.testing.assert_allclose(weights, wanted, rtol=1e-4, atol=1e-5)
        # An entropy has the log of the kernel's integral beside it, which changes no weight.
        constant = np.log(2 * np.pi) if expected is not objective and "entropy" in str(expected.settings) else 0.0  # type: ignore[attr-defined]
        assert float(value) == pytest.approx(float(wanted_value) - constant, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("number", in_tiers([2, 3], [2]))
def test_by_ranks_they_are_so_up_to_a_known_factor(number: int) -> None:
    """Ranks are taken over all episodes: they are ((k (n - 1) / (k n - 1)) times as far apart."""
    plain = clustered_outcome(80)
    size = len(plain.valid)
    factor = number * (size - 1) / (number * size - 1)
    weights, _ = compiled_weights(max_covariance(centered_ranks), alike(plain, number))
    wanted, _ = compiled_weights(max_variance(centered_ranks), plain)
    np.testing.assert_allclose(weights, factor**2 * np.asarray(wanted), rtol=1e-4, atol=1e-6)
    weights, _ = compiled_weights(max_information(factor * 0.5, centered_ranks), alike(plain, number))
    wanted, _ = compiled_weights(max_entropy(0.5, centered_ranks), plain)
    np.testing.assert_allclose(weights, wanted, rtol=1e-3, atol=1e-4)


def test_the_wide_kernel_limit_of_information_is_the_covariance() -> None:
    result, width = episodes_of(3, 2), 25.0
    weights, value = compiled_weights(max_information(width, standardize), result)
    expected, expected_value = compiled_weights(max_covariance(standardize), result)
    # Up to what is the same for all members, which moves no center. What is left is of the order of 1 / width^2.
    ours, theirs = (np.asarray(found) - np.mean(found) for found in (weights, expected))
    assert np.linalg.norm(width**2 * ours - theirs) < 0.02 * np.linalg.norm(theirs)
    assert width**2 * float(value) == pytest.approx(float(expected_value), rel=0.02)


def test_covariance_and_repeatability_are_unbiased() -> None:
    """Against closed forms: V_B = 4 and V_W = 1, over 2,000 populations of 20 members with two episodes."""
    generator = np.random.default_rng(1)
    means = 2 * generator.normal(size=(2000, 20, 1, 1))
    rows = (means + generator.normal(size=(2000, 20, 2, 1))).astype(np.float32).reshape(2000, 40, 1)
    objective = max_covariance(unshaped)
    values = jax.jit(jax.vmap(lambda own: objective(merge_episodes(make_outcome(own), 2), jnp.zeros(20))))(rows)
    # The mean that is subtracted is these members' own: all but one of twenty degrees of freedom are left.
    expected, error = 4 * 19 / 20 - 1 / 2 / 20, float(np.std(values)) / 2000**0.5
    assert abs(float(np.mean(values)) - expected) < 4 * error
    assert error < 0.1
    many = merged(rows.reshape(-1, 1), 2)
    assert float(jax.jit(repeatability)(many)) == pytest.approx(0.8, abs=0.01)


def noisy_behavior(parameters: Array, luck: Array) -> Array:
    """Two behaviors of three parameters, one of which decides how much luck there is."""
    x, y, z = parameters
    return jnp.array([jnp.sin(2 * x) + y**2, jnp.cos(y) * z + x]) + 0.5 * (1 + x**2) * luck


OBJECTIVES: dict[str, tuple[Objective, int]] = {
    # The density takes every pair of episodes, so that draws cost their square.
    "cov": (max_covariance(unshaped), 20_000),
    "info": (max_information(1.5, unshaped), 4_000),
}
"""Each with how many draws an estimate takes."""
KINDS = itertools.product(OBJECTIVES, ("normal", "diagonal", "mixture"))


@pytest.mark.parametrize(
    ("name", "kind"), in_tiers(KINDS, [("cov", "diagonal"), ("cov", "mixture"), ("info", "normal")])
)
def test_gradient_matches_finite_differences(name: str, kind: str) -> None:
    objective, num_draws = OBJECTIVES[name]
    population = {"normal": normal(0.3), "diagonal": diagonal_normal(0.3), "mixture": mixture(2, 0.3)}[kind]
    centers = jnp.array([[0.4, -0.6, 0.8], [-0.7, 0.5, 0.2]])[: population.num_components]
    parameters = population.init(jax.random.key(9), centers)._replace(center=centers)
    luck = jax.random.normal(jax.random.key(2), (2 * num_draws, 2, 2))

    def outcome_at(step: Array) -> Outcome:
        moved = parameters._replace(center=parameters.center + step)
        members = population.sample(jax.random.key(0), moved, 0, jnp.arange(num_draws)).members()
        rows = jax.vmap(jax.vmap(noisy_behavior, (None, 0)))(members, luck)
        return merge_episodes(make_outcome(rows.reshape(-1, 2)), 2)

    @jax.jit
    def gradient(step: Array) -> Array:
        sample = population.sample(jax.random.key(0), parameters, 0, jnp.arange(num_draws))
        weights = compiled_weights(objective, outcome_at(step))[0]
        return population.gradient(sample, weights).center

    value = jax.jit(lambda step: objective(outcome_at(step), jnp.zeros(2 * num_draws)))
    uphill = np.asarray(gradient(jnp.zeros(())))
    for seed in range(2):
        # One way for all components: a mixture's gradient credits members to those that might have drawn them.
        direction = np.tile(np.random.default_rng(seed).normal(size=(1, 3)), (len(centers), 1)).astype(np.float32)
        slope = np.sum(uphill * direction)
        difference = (float(value(0.02 * direction)) - float(value(-0.02 * direction))) / 0.04
        assert abs(slope - difference) < 0.25 * (1 + abs(difference))


def toy(x: Array, key: Array) -> Array:
    """b = 5 sin(x / 5) sin(20 x) + 6 exp(-(x - 3)^2 / 2) s: V_B is largest at 2.5 pi, V_P in the noise at 3."""
    return 5 * jnp.sin(x / 5) * jnp.sin(20 * x) + 6 * jnp.exp(-((x - 3) ** 2) / 2) * jax.random.normal(key)


def trained(objective: str, episodes: int) -> tuple[float, float]:
    settings: dict[str, Any] = {"sigma": 0.5, "mirrored": False, "learning_rate": 0.03, "l2": 0.0, "progress": False}
    task = function_task(toy, start=jnp.ones(1), takes_key=True)
    run = evolve(
        task,
        objective=objective,
        episodes=episodes,
        generations=700,
        population_size=500 // episodes,
        **settings,
    )
    last = run.metrics["repeatability"][0, -1]
    return float(run.center[0]), float(last)


TRAPPED = [("max_variance", 1), ("max_variance", 2), ("max_entropy", 2)]


@pytest.mark.parametrize(("objective", "episodes"), in_tiers(TRAPPED, [("max_variance", 2)]))
def test_variance_and_entropy_fall_into_the_trap_of_noise(objective: str, episodes: int) -> None:
    center, share = trained(objective, episodes)
    assert center == pytest.approx(3, abs=0.6)
    assert episodes == 1 or share < 0.3


def test_covariance_finds_what_the_toy_repeats() -> None:
    center, share = trained("max_covariance", 2)
    assert center == pytest.approx(2.5 * np.pi, abs=0.4)
    assert share > 0.99


@pytest.mark.full
def test_information_finds_what_the_toy_repeats() -> None:
    center, share = trained("max_information", 2)
    assert abs(center) > 5
    assert share > 0.99


MADE = list(
    itertools.product((max_covariance, partial(max_information, 1.0)), (standardize, robust, centered_ranks, unshaped))
)


@pytest.mark.parametrize(("make", "shaping"), in_tiers(MADE, [*MADE[:4], MADE[6]]))
def test_a_member_with_one_broken_episode_weighs_nothing(make: Any, shaping: Shaping) -> None:
    good = episodes_of(2, 2)
    rows = np.asarray(good.episodes).reshape(-1, 2)
    broken = merged(np.concatenate([rows, [[1.0, 2.0], [np.nan, 0.0]]]).astype(np.float32), 2)
    objective = make(shaping)
    weights, value = compiled_weights(objective, broken)
    expected, expected_value = compiled_weights(objective, good)
    assert float(weights[-1]) == 0
    np.testing.assert_allclose(np.asarray(weights)[:-1] / 61, np.asarray(expected) / 60, rtol=1e-3, atol=1e-5)
    assert float(value) == pytest.approx(float(expected_value), rel=1e-3)


def test_they_are_terms_of_sums() -> None:
    result = merge_episodes(make_outcome(jnp.asarray(np.random.default_rng(0).normal(size=(8, 1)), jnp.float32)), 2)
    both, _ = compiled_weights(weighted_sum((2.0, max_covariance()), (1.0, mean_fitness())), result)
    alone = [compiled_weights(one, result)[0] for one in (max_covariance(), mean_fitness())]
    np.testing.assert_allclose(both, 2 * alone[0] + alone[1], rtol=1e-5)


POPULATIONS = {
    "normal": lambda: normal(0.3),
    "diagonal": lambda: diagonal_normal(0.3),
    "mixture": lambda: mixture(2, 0.3),
    "low rank": lambda: low_rank(((2, 3),), 1, 0.3),
}


@pytest.mark.parametrize("name", in_tiers(POPULATIONS, ["mixture", "low rank"]))
def test_every_population_climbs_them(name: str) -> None:
    population = POPULATIONS[name]()
    task = function_task(lambda x, key: toy(x[0], key), start=jnp.ones((2, 3)), takes_key=True)
    run = evolve(task, objective="max_covariance", population=population, generations=2, population_size=8)
    assert np.isfinite(run.metrics["objective"]).all()


def test_one_episode_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"compares episodes of the same member.*episodes=2"):
        max_covariance()(make_outcome(jnp.zeros((4, 1))), jnp.zeros(4))
    with pytest.raises(ConfigError, match="episodes must be 2 or more for max_information"):
        Config("point", objective="max_information", episodes=1)


def test_episodes_of_a_task_that_does_not_vary_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"does not vary.*start_noise"):
        evolve("point", objective="max_variance", episodes=2, generations=1, population_size=4)


def test_metrics_are_over_episodes_so_that_one_and_several_compare() -> None:
    """In a world of luck alone, variance and distance do not depend on the number of episodes."""
    task = function_task(lambda x, key: x + jax.random.normal(key), start=jnp.zeros(1), takes_key=True)
    shared: dict[str, Any] = {"objective": "max_variance", "generations": 1, "sigma": 0.1, "progress": False}
    one = evolve(task, population_size=4000, **shared).metrics
    four = evolve(task, population_size=1000, episodes=4, **shared).metrics
    for name in ("variance", "distance", "entropy"):
        assert float(four[name][0, 0]) == pytest.approx(float(one[name][0, 0]), rel=0.1), name
    assert float(four["evaluations"][0, 0]) == float(one["evaluations"][0, 0]) == 4000
    assert float(four["repeatability"][0, 0]) == pytest.approx(0.01, abs=0.05)
    assert np.isnan(one["repeatability"]).all()
