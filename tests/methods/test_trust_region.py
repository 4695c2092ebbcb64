"""Trust-region steps against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.methods.trust_region import backtrack, conjugate_gradient, trust_region_step


def spd(size: int, seed: int = 0) -> Array:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return jnp.asarray(root @ root.T / size + 0.1 * np.eye(size), jnp.float32)


def test_conjugate_gradient_solves_the_damped_system() -> None:
    matrix, target = spd(8), jnp.arange(1.0, 9.0)
    found = conjugate_gradient(lambda v: matrix @ v, target, iterations=16, damping=0.3)[0]
    np.testing.assert_allclose(found, np.linalg.solve(matrix + 0.3 * np.eye(8), target), rtol=2e-4)


def test_conjugate_gradient_is_exact_after_as_many_steps_as_there_are_eigenvalues() -> None:
    scale = jnp.array([2.0, 2.0, 2.0, 5.0, 5.0])
    target = jnp.array([1.0, -2.0, 3.0, 0.5, 4.0])
    found = [conjugate_gradient(lambda v: scale * v, target, iterations=k)[0] for k in (1, 2, 12)]
    assert float(jnp.abs(found[0] - target / scale).max()) > 0.05
    np.testing.assert_allclose(found[1], target / scale, rtol=1e-5)
    np.testing.assert_allclose(found[2], target / scale, rtol=1e-5)  # and more of them do no harm


def test_what_is_left_to_solve_is_told() -> None:
    matrix, target = spd(8), jnp.arange(1.0, 9.0)
    found, left = conjugate_gradient(lambda v: matrix @ v, target, iterations=3, damping=0.3)
    np.testing.assert_allclose(left, target - matrix @ found - 0.3 * found, atol=1e-4)


def test_conjugate_gradient_of_nothing_is_nothing() -> None:
    assert conjugate_gradient(lambda v: 0 * v, jnp.zeros(3), iterations=5)[0].tolist() == [0, 0, 0]


def test_step_on_a_quadratic_model_is_the_closed_form() -> None:
    matrix, gradient, start, bound = spd(6), jnp.arange(1.0, 7.0), jnp.ones(6), 0.01

    def evaluate(x: Array) -> tuple[Array, Array]:
        return gradient @ (x - start), 0.5 * (x - start) @ matrix @ (x - start) * (1 - 1e-4)

    step = trust_region_step(
        start, gradient, lambda v: matrix @ v, evaluate, bound=bound, iterations=20, damping=0.0, steps=15, ratio=0.8
    )
    natural = np.linalg.solve(np.asarray(matrix, np.float64), gradient)
    expected = np.sqrt(2 * bound / (natural @ np.asarray(gradient))) * natural
    np.testing.assert_allclose(step.position - start, expected, rtol=1e-3)
    assert step.accepted
    assert step.backtracks == 0
    assert float(step.divergence) == pytest.approx(bound, rel=1e-3)


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
