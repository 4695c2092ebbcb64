"""Trust-region steps against closed forms."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.methods.trust_region import Step, backtrack, trust_region_step


def spd(size: int, seed: int = 0) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return np.asarray(root @ root.T / size + 0.1 * np.eye(size), np.float32)


def take(start: Any, gradient: Any, curvature: Any, evaluate: Any, **settings: Any) -> Step:
    """A step as one program."""
    return jax.jit(partial(trust_region_step, curvature=curvature, evaluate=evaluate, **settings))(start, gradient)


@pytest.mark.parametrize(("damping", "iterations"), [(0.0, 20), (0.3, 12), (0.3, 100)])
def test_step_on_a_quadratic_model_is_the_closed_form(damping: float, iterations: int) -> None:
    matrix, gradient, start, bound = spd(6), np.arange(1, 7, dtype=np.float32), np.ones(6, np.float32), 0.01
    damped = matrix + damping * np.eye(6, dtype=np.float32)

    def evaluate(x: Any) -> tuple[Any, Any]:
        return gradient @ (x - start), 0.5 * (x - start) @ damped @ (x - start) * (1 - 1e-4)

    step = take(start, gradient, lambda v: matrix @ v, evaluate, bound=bound, iterations=iterations, damping=damping)
    natural = np.linalg.solve(np.asarray(damped, np.float64), gradient)
    expected = np.sqrt(2 * bound / (natural @ gradient)) * natural
    np.testing.assert_allclose(step.position - start, expected, rtol=1e-3)
    assert step.accepted
    assert step.backtracks == 0
    assert float(step.divergence) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("iterations", [1, 2, 12])
def test_a_step_reaches_the_bound_of_its_own_model_however_far_it_is_solved(iterations: int) -> None:
    scale, gradient = np.array([2, 2, 2, 5, 5], np.float32), np.array([1, -2, 3, 0.5, 4], np.float32)
    bound = 0.02

    def evaluate(x: Any) -> tuple[Any, Any]:
        return gradient @ x, 0.5 * x @ (scale * x) * (1 - 1e-4)

    start = np.zeros(5, np.float32)
    step = take(start, gradient, lambda v: scale * v, evaluate, bound=bound, iterations=iterations, damping=0.0)
    assert float(step.divergence) == pytest.approx(bound, rel=1e-3)
    natural = gradient / scale
    moved = np.asarray(step.position)
    cosine = float(moved @ natural / np.linalg.norm(moved) / np.linalg.norm(natural))
    assert (cosine > 1 - 1e-6) == (iterations > 1)  # two eigenvalues: two iterations are exact, and more do no harm


def test_without_a_gradient_nothing_moves() -> None:
    start = jnp.ones(3)
    step = take(start, jnp.zeros(3), lambda v: 0 * v, lambda x: (x[0] - 1, 0 * x[0]), bound=1.0)
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
