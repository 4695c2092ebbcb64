"""Trust-region steps against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.methods.trust_region import backtrack, trust_region_step


def spd(size: int, seed: int = 0) -> Array:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return jnp.asarray(root @ root.T / size + 0.1 * np.eye(size), jnp.float32)


@pytest.mark.parametrize(("damping", "iterations"), [(0.0, 20), (0.3, 12), (0.3, 100)])
def test_step_on_a_quadratic_model_is_the_closed_form(damping: float, iterations: int) -> None:
    matrix, gradient, start, bound = spd(6), jnp.arange(1.0, 7.0), jnp.ones(6), 0.01
    damped = matrix + damping * jnp.eye(6)

    def evaluate(x: Array) -> tuple[Array, Array]:
        return gradient @ (x - start), 0.5 * (x - start) @ damped @ (x - start) * (1 - 1e-4)

    step = trust_region_step(
        start, gradient, lambda v: matrix @ v, evaluate, bound=bound, iterations=iterations, damping=damping
    )
    natural = np.linalg.solve(np.asarray(damped, np.float64), gradient)
    expected = np.sqrt(2 * bound / (natural @ np.asarray(gradient))) * natural
    np.testing.assert_allclose(step.position - start, expected, rtol=1e-3)
    assert step.accepted
    assert step.backtracks == 0
    assert float(step.divergence) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("iterations", [1, 2, 12])
def test_a_step_reaches_the_bound_of_its_own_model_however_far_it_is_solved(iterations: int) -> None:
    scale, gradient, bound = jnp.array([2.0, 2.0, 2.0, 5.0, 5.0]), jnp.array([1.0, -2.0, 3.0, 0.5, 4.0]), 0.02

    def evaluate(x: Array) -> tuple[Array, Array]:
        return gradient @ x, 0.5 * x @ (scale * x) * (1 - 1e-4)

    step = trust_region_step(
        jnp.zeros(5), gradient, lambda v: scale * v, evaluate, bound=bound, iterations=iterations, damping=0.0
    )
    assert float(step.divergence) == pytest.approx(bound, rel=1e-3)
    natural = gradient / scale
    cosine = float(step.position @ natural / jnp.linalg.norm(step.position) / jnp.linalg.norm(natural))
    assert (cosine > 1 - 1e-6) == (iterations > 1)  # two eigenvalues: two iterations are exact, and more do no harm


def test_without_a_gradient_nothing_moves() -> None:
    start = jnp.ones(3)
    step = trust_region_step(start, jnp.zeros(3), lambda v: 0 * v, lambda x: (x[0] - 1, 0 * x[0]), bound=1.0)
    assert step.position.tolist() == [1, 1, 1]
    assert not step.accepted


@pytest.mark.parametrize("bound", [0.3, 0.05, 0.004])
def test_line_search_takes_the_longest_step_within_the_bound(bound: float) -> None:
    step = backtrack(
        lambda x: (x[0], x[0] ** 2), jnp.zeros(1), jnp.ones(1), bound=bound, steps=15, ratio=0.8
    )  # lengths 0.8^k, of divergence 0.8^2k
    number = int(np.ceil(np.log(bound) / (2 * np.log(0.8))))
    assert int(step.backtracks) == number
    np.testing.assert_allclose(step.position, [0.8**number], rtol=1e-5)
    assert float(step.divergence) <= bound


@pytest.mark.parametrize("gain", [-1.0, np.nan])
def test_no_step_is_taken_where_none_gains(gain: float) -> None:
    calls = []

    def evaluate(x: Array) -> tuple[Array, Array]:
        jax.debug.callback(lambda: calls.append(1))
        return gain * x[0], jnp.zeros(())

    step = jax.block_until_ready(backtrack(evaluate, jnp.zeros(1), jnp.ones(1), bound=1.0, steps=15, ratio=0.8))
    assert not step.accepted
    assert step.position.tolist() == [0]
    assert len(calls) == 15
