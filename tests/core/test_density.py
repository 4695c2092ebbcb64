"""The density estimate: both ways of computing it, and its memory."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core import density
from evolvability.core.density import kernel_density
from evolvability.core.objectives import max_entropy
from evolvability.core.shaping import unshaped
from tests.conftest import clustered_outcome, compiled_outcome, compiled_weights

compiled_density = jax.jit(kernel_density, static_argnames="leave_one_out")


def normal_points(num_members: int, num_behaviors: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(num_members, num_behaviors)).astype(np.float32)


def pairwise(behavior: Any, bandwidth: float) -> np.ndarray:
    """The kernel of every pair, in float64."""
    points = np.asarray(behavior, np.float64) / bandwidth
    return np.exp(-0.5 * np.sum((points[:, None] - points) ** 2, axis=-1))


@pytest.mark.parametrize("num_behaviors", [1, 2, 3])
@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0])
def test_density_is_the_mean_kernel(num_behaviors: int, bandwidth: float) -> None:
    outcome = clustered_outcome(300, num_behaviors)
    found = compiled_density(outcome.behavior, np.zeros(300), outcome.valid, bandwidth)
    np.testing.assert_allclose(found, pairwise(outcome.behavior, bandwidth).mean(axis=1), rtol=2e-5)


def afresh(behavior: np.ndarray) -> Array:
    """The density, traced anew: parts of it may have been replaced."""
    number = len(behavior)
    return jax.jit(lambda points: kernel_density(points, jnp.zeros(number), jnp.ones(number, bool), 1.0))(behavior)


@pytest.mark.parametrize(("num_behaviors", "farthest"), [(1, 20.0), (2, 20.0), (1, 100.0), (2, 50.0)])
def test_grids_are_as_exact_for_the_log_density_of_few(
    num_behaviors: int, farthest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast way must hold 1e-4 in the logarithm, where a density is one kernel in thousands."""
    behavior = normal_points(3000, num_behaviors)
    behavior[:300] = np.linspace(-farthest, farthest, 300)[:, None]
    monkeypatch.setattr(density, "_pair_by_pair", lambda *_, **__: jnp.zeros(3000))  # the grid, or nothing
    found = afresh(behavior)
    exact = pairwise(behavior, 1.0).mean(axis=1)
    assert np.max(np.abs(np.log(found) - np.log(exact))) < 1e-4


@pytest.mark.parametrize("num_behaviors", [1, 2])
def test_an_outlier_keeps_nobody_else_off_the_grid(num_behaviors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    behavior = normal_points(3000, num_behaviors)
    behavior[7] = 1e6
    exact = pairwise(behavior, 1.0).mean(axis=1)
    np.testing.assert_allclose(afresh(behavior), exact, rtol=2e-5)
    monkeypatch.setattr(density, "_pair_by_pair", lambda *_, **__: jnp.zeros(3000))
    found = afresh(behavior)
    np.testing.assert_allclose(np.delete(found, 7), np.delete(exact, 7), rtol=2e-5)


NARROW = max_entropy(0.5, unshaped)


@pytest.mark.parametrize("num_behaviors", [1, 2, 3])
@pytest.mark.parametrize("outlier", [1e8, 1e10, 1e14])
def test_an_outlier_takes_no_digits_from_the_others(num_behaviors: int, outlier: float) -> None:
    """Weights of MaxEnt, w_k = -log p_k - mean_i(phi_ik / p_i), against float64."""
    behavior = normal_points(500, num_behaviors)
    behavior[7] = outlier
    weights, _ = compiled_weights(NARROW, compiled_outcome(behavior))
    kernel = pairwise(behavior, 0.5)
    densities = kernel.mean(axis=1)
    closed = -np.log(densities) - (kernel / densities[:, None]).mean(axis=0)
    np.testing.assert_allclose(weights, closed, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bandwidth", [0.1, 1.0])
def test_no_finite_behavior_makes_a_density_nan(bandwidth: float) -> None:
    behavior = np.array([[0.0], [0.1], [3e38], [-3e38]], np.float32)
    found = np.asarray(compiled_density(behavior, np.zeros(4), np.ones(4, bool), bandwidth))
    np.testing.assert_allclose(found[2:], 0.25, rtol=1e-5)
    assert np.isfinite(found).all()


@jax.jit
@partial(jax.value_and_grad, has_aux=True)
def log_density(log_prob: Array, behavior: Array) -> tuple[Array, Array]:
    each = jnp.log(kernel_density(behavior, log_prob, jnp.ones(300, bool), 1.0))
    return each.sum(), each


@pytest.mark.parametrize("num_outside", [1, 70, 250])
def test_members_off_the_grid_are_paired_with_all(num_outside: int) -> None:
    """Near to each other and to the grid's edge, so that every kind of pair counts; in value and in slope."""
    behavior = np.linspace(-80, 80, 300, dtype=np.float32)[:, None]
    behavior[:num_outside] += 100.0
    (_, found), slope = log_density(np.zeros(300, np.float32), behavior)
    kernel = pairwise(behavior, 1.0)
    np.testing.assert_allclose(found, np.log(kernel.mean(axis=1)), atol=1e-4)
    np.testing.assert_allclose(slope, (kernel / kernel.sum(axis=1, keepdims=True)).sum(axis=0), rtol=1e-3)


def test_each_of_a_batch_has_outliers_of_its_own() -> None:
    clouds = normal_points(300, 1).reshape(3, 100, 1)
    clouds[1, 0] = 1e6
    clouds[2, :90] *= 100
    found = jax.jit(jax.vmap(lambda points: kernel_density(points, jnp.zeros(100), jnp.ones(100, bool), 1.0)))(clouds)
    exact = [pairwise(points, 1.0).mean(axis=1) for points in clouds]
    np.testing.assert_allclose(found, np.stack(exact), rtol=1e-4)


def test_leaving_one_out_leaves_itself_out() -> None:
    outcome = clustered_outcome(100)
    found = compiled_density(outcome.behavior, np.zeros(100), outcome.valid, 2.0, leave_one_out=True)
    kernel = pairwise(outcome.behavior, 2.0)
    np.fill_diagonal(kernel, 0.0)
    np.testing.assert_allclose(found, kernel.sum(axis=1) / 99, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_invalid_members_add_nothing(leave_one_out: bool) -> None:
    outcome = clustered_outcome(100)
    valid = np.arange(100) < 60
    behavior = np.where(valid[:, None], outcome.behavior, np.float32(0))
    found = compiled_density(behavior, np.zeros(100), valid, 1.5, leave_one_out=leave_one_out)
    alone = compiled_density(behavior[:60], np.zeros(60), valid[:60], 1.5, leave_one_out=leave_one_out)
    np.testing.assert_allclose(np.asarray(found)[:60], alone, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("num_behaviors", [2, 3])
def test_memory_grows_with_members_not_with_pairs(num_behaviors: int) -> None:
    """The compiler's own count for value and gradient of 100,000 members, whose pairs would take 4e10 bytes."""

    def entropy(log_prob: Array, behavior: Array) -> Array:
        return -jnp.mean(jnp.log(kernel_density(behavior, log_prob, jnp.ones(100_000, bool), 1.0)))

    shapes = jax.ShapeDtypeStruct((100_000,), jnp.float32), jax.ShapeDtypeStruct((100_000, num_behaviors), jnp.float32)
    compiled = jax.jit(jax.value_and_grad(entropy)).lower(*shapes).compile()
    memory = compiled.memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes < 1e9
