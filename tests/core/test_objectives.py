"""Objectives: weights against closed forms, gradients against finite differences."""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core.objectives import (
    Objective,
    largest_share,
    max_entropy,
    max_variance,
    mean_fitness,
    raw_variance,
)
from evolvability.core.populations import normal
from evolvability.core.shaping import centered_ranks, standardize, unshaped
from evolvability.core.stateful_objectives import weighted_sum
from evolvability.core.types import Outcome, Parameters, make_outcome
from tests.conftest import clustered_outcome, compiled_outcome, compiled_weights, in_tiers


def test_variance_weights_match_closed_form() -> None:
    """w_k = |B_k - mean B|^2."""
    result = clustered_outcome()
    weights, value = compiled_weights(max_variance(unshaped), result)
    behavior = np.asarray(result.behavior, np.float64)
    squares = np.sum((behavior - behavior.mean(axis=0)) ** 2, axis=1)
    np.testing.assert_allclose(weights, squares, rtol=1e-4)
    assert float(value) == pytest.approx(float(squares.mean()), rel=1e-5)


def test_variance_weights_keep_their_digits_far_from_the_origin() -> None:
    behavior = 1e6 + np.arange(1000, dtype=np.float32)[:, None] % 100
    weights, value = compiled_weights(max_variance(unshaped), compiled_outcome(behavior))
    np.testing.assert_allclose(weights, (np.arange(1000) % 100 - 49.5) ** 2, rtol=1e-5)
    assert float(value) == pytest.approx(833.25, rel=1e-5)


@pytest.mark.parametrize(
    "objective", [max_variance(unshaped), max_variance(), max_entropy(), max_entropy(1.0, unshaped)]
)
@pytest.mark.parametrize("blown", [1e14, 2e19, 1e37, -3e38])
def test_no_finite_behavior_makes_weights_nan(objective: Objective, blown: float) -> None:
    generator = np.random.default_rng(0)
    behavior, fitness = generator.normal(size=(100, 2)).astype(np.float32), np.ones(100, np.float32)
    behavior[3] = fitness[4] = blown
    result = compiled_outcome(behavior, fitness)
    weights, value = compiled_weights(objective, result)
    assert np.isfinite(weights).all()
    assert np.isfinite(value)
    assert bool(result.valid[3]) == bool(result.valid[4]) == (abs(blown) < 1e15)


def test_the_largest_share_tells_of_a_member_that_blew_up() -> None:
    share = jax.jit(lambda behavior: largest_share(make_outcome(behavior)))
    behavior = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    assert float(share(behavior)) < 0.02
    behavior[5, 1] = 1000.0
    assert float(share(behavior)) > 0.99
    behavior[6, 1] = -1000.0
    assert float(share(behavior)) > 0.49
    assert float(share(np.ones_like(behavior))) == 0


def standardized(result: Outcome) -> np.ndarray:
    """Behaviors as objectives see them, in float64."""
    return np.asarray(jax.jit(standardize)(result.behavior, result.valid), np.float64)


@pytest.mark.parametrize(
    ("num_behaviors", "bandwidth"),
    in_tiers(itertools.product((1, 2, 3), (0.7, 1.0)), [(1, 0.7), (2, 1.0), (3, 0.7)]),
)
def test_entropy_weights_match_closed_form(num_behaviors: int, bandwidth: float) -> None:
    """w_k = -log p_k - mean_i(phi_ik / p_i)."""
    result = clustered_outcome(400, num_behaviors)
    weights, value = compiled_weights(max_entropy(bandwidth), result)
    points = standardized(result)
    kernel = np.exp(-np.sum((points[:, None] - points) ** 2, axis=-1) / (2 * bandwidth**2))
    density = kernel.mean(axis=1)
    closed = -np.log(density) - (kernel / density[:, None]).mean(axis=0)
    np.testing.assert_allclose(weights, closed, atol=1e-4)
    normalized = density / (2 * np.pi * bandwidth**2) ** (num_behaviors / 2)
    assert float(value) == pytest.approx(-np.log(normalized).mean(), abs=1e-4)


def test_leave_one_out_weights_match_closed_form() -> None:
    result = clustered_outcome(100, 1)
    weights, _ = compiled_weights(max_entropy(leave_one_out=True), result)
    points = standardized(result)[:, 0]
    kernel = np.exp(-((points[:, None] - points) ** 2) / 2)
    np.fill_diagonal(kernel, 0)
    density = kernel.sum(axis=1) / 99
    closed = -np.log(density) - (kernel / density[:, None]).sum(axis=0) / 99
    np.testing.assert_allclose(weights, closed, rtol=1e-4, atol=1e-4)


def test_fitness_weights_are_the_shaped_fitness() -> None:
    result = clustered_outcome()
    weights, _ = compiled_weights(mean_fitness(), result)
    np.testing.assert_allclose(weights, jax.jit(centered_ranks)(result.fitness, result.valid), atol=1e-6)


def test_weights_of_a_sum_are_the_sum_of_weights() -> None:
    result = clustered_outcome()
    combined, _ = compiled_weights(weighted_sum((2.0, max_variance()), (0.5, mean_fitness())), result)
    variance, fitness = (compiled_weights(objective, result)[0] for objective in (max_variance(), mean_fitness()))
    np.testing.assert_allclose(combined, 2.0 * variance + 0.5 * fitness, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objective", [max_variance(), max_entropy(), max_entropy(leave_one_out=True), mean_fitness()])
def test_invalid_members_weigh_nothing_and_change_nothing(objective: Objective) -> None:
    alone = clustered_outcome(100)
    broken = Outcome(
        *(
            jnp.asarray(np.concatenate([part, np.array(more, part.dtype)]))
            for part, more in (
                (alone.behavior, [[np.nan, 0.0], [9e5, 1e30]]),
                (alone.fitness, [np.nan, np.inf]),
                (alone.valid, [False, False]),
                (alone.num_steps, [1, 1]),
            )
        )
    )
    weights, value = compiled_weights(objective, broken)
    expected, expected_value = compiled_weights(objective, alone)
    np.testing.assert_array_equal(np.asarray(weights)[100:], 0)
    # n * dJ / dlog p: the factor n cancels in the gradient, which divides by it.
    np.testing.assert_allclose(np.asarray(weights)[:100] / 102, np.asarray(expected) / 100, rtol=1e-4, atol=1e-6)
    assert float(value) == pytest.approx(float(expected_value), rel=1e-5, abs=1e-6)  # ranks have mean zero


def smooth_behavior(parameters: Array) -> Array:
    """Two behaviors of three parameters, wavy enough for every objective to have a slope."""
    x, y, z = parameters
    return jnp.array([jnp.sin(2 * x) + y**2, jnp.cos(y) * z + x])


@pytest.mark.parametrize(
    "objective",
    [
        max_variance(unshaped),
        max_entropy(1.0, unshaped),
        pytest.param(max_entropy(0.5, unshaped), marks=pytest.mark.full),
        mean_fitness(unshaped),
    ],
    ids=["variance", "entropy", "narrow entropy", "fitness"],
)
def test_gradient_matches_finite_differences_of_the_smoothed_objective(objective: Objective) -> None:
    """The same noise moves with the center: the objective's change is the smoothed objective's, and so is its slope."""
    num_draws = 10_000
    population = normal(0.3)
    cloud = Parameters(jnp.array([[0.4, -0.6, 0.8]]))

    def outcome_at(cloud: Parameters) -> Outcome:
        members = population.sample(jax.random.key(0), cloud, 0, jnp.arange(num_draws)).members()
        behavior = jax.vmap(smooth_behavior)(members)
        return make_outcome(behavior, behavior[:, 0])

    sample = jax.jit(population.sample)(jax.random.key(0), cloud, 0, np.arange(num_draws))
    weights, _ = compiled_weights(objective, jax.jit(outcome_at)(cloud))
    gradient = jax.jit(population.gradient)(sample, weights).center[0]
    value: Callable[[Array], Array] = jax.jit(
        lambda step: objective(outcome_at(Parameters(cloud.center + step)), jnp.zeros(2 * num_draws))
    )
    size = 0.02
    steps = size * np.eye(3, dtype=np.float32)
    differences = np.array([(value(step) - value(-step)) / (2 * size) for step in steps])
    per_member = np.asarray(weights).reshape(num_draws, 2) @ np.array([0.5, -0.5])
    error = np.std(per_member[:, None] * np.asarray(sample.noise) / 0.3, axis=0) / num_draws**0.5
    assert np.all(np.abs(gradient - differences) < 4 * error + 1e-3), (gradient, differences, error)
    assert np.linalg.norm(gradient) > 10 * np.linalg.norm(error), "the slope drowns in noise"


def test_standardized_variance_climbs_the_sum_of_log_variances() -> None:
    """The value is constant, the gradient that of sum_j log Var_j: w = sum_j (B_j - m_j)^2 / Var_j."""
    result = clustered_outcome()
    weights, value = compiled_weights(max_variance(), result)
    behavior = np.asarray(result.behavior, np.float64)
    squares = (behavior - behavior.mean(axis=0)) ** 2
    np.testing.assert_allclose(weights, np.sum(squares / behavior.var(axis=0), axis=1), rtol=1e-4)
    assert float(value) == pytest.approx(2.0, rel=1e-4)


def test_raw_variance_is_the_trace_of_the_covariance() -> None:
    result = clustered_outcome()
    covariance = np.cov(np.asarray(result.behavior), rowvar=False, bias=True)
    assert float(jax.jit(raw_variance)(result)) == pytest.approx(np.trace(covariance), rel=1e-4)


def test_bandwidth_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"bandwidth must be positive, got -1\.0"):
        max_entropy(-1.0)
