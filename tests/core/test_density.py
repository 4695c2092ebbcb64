"""The density estimate: both ways of computing it, and its memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core import density
from evolvability.core.density import kernel_density
from tests.conftest import clustered_outcome


def pairwise(behavior: Array, bandwidth: float) -> np.ndarray:
    """The kernel of every pair, in float64."""
    points = np.asarray(behavior, np.float64) / bandwidth
    return np.exp(-0.5 * np.sum((points[:, None] - points) ** 2, axis=-1))


@pytest.mark.parametrize("num_behaviors", [1, 2, 3])
@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0])
def test_density_is_the_mean_kernel(num_behaviors: int, bandwidth: float) -> None:
    outcome = clustered_outcome(300, num_behaviors)
    found = kernel_density(outcome.behavior, jnp.zeros(300), outcome.valid, bandwidth)
    np.testing.assert_allclose(found, pairwise(outcome.behavior, bandwidth).mean(axis=1), rtol=2e-5)


@pytest.mark.parametrize(("num_behaviors", "outlier"), [(1, 20.0), (2, 20.0), (1, 200.0), (2, 100.0)])
def test_grid_is_as_exact_for_the_log_density_of_outliers(
    num_behaviors: int, outlier: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast way must hold 1e-4 in the logarithm, where an outlier's density is one kernel in thousands."""
    behavior = jax.random.normal(jax.random.key(0), (3000, num_behaviors)).at[0].set(outlier)
    monkeypatch.setattr(density, "_direct", lambda *_, **__: jnp.zeros(3000))  # the grid, or nothing
    found = kernel_density(behavior, jnp.zeros(3000), jnp.ones(3000, bool), 1.0)
    exact = pairwise(behavior, 1.0).mean(axis=1)
    assert np.max(np.abs(np.log(found) - np.log(exact))) < 1e-4


def test_behaviors_too_far_apart_for_the_grid_are_computed_pair_by_pair() -> None:
    behavior = jnp.array([[0.0], [0.5], [1e6]])
    found = kernel_density(behavior, jnp.zeros(3), jnp.ones(3, bool), 1.0)
    np.testing.assert_allclose(found, pairwise(behavior, 1.0).mean(axis=1), rtol=1e-5)


def test_a_batch_uses_the_grid_only_if_all_of_it_fits() -> None:
    near, far = jnp.array([[0.0], [0.5], [2.0]]), jnp.array([[0.0], [0.5], [1e6]])
    found = jax.vmap(lambda points: kernel_density(points, jnp.zeros(3), jnp.ones(3, bool), 1.0))(
        jnp.stack([near, far])
    )
    exact = [pairwise(points, 1.0).mean(axis=1) for points in (near, far)]
    np.testing.assert_allclose(found, np.stack(exact), rtol=1e-5)


def test_leaving_one_out_leaves_itself_out() -> None:
    outcome = clustered_outcome(100)
    found = kernel_density(outcome.behavior, jnp.zeros(100), outcome.valid, 2.0, leave_one_out=True)
    kernel = pairwise(outcome.behavior, 2.0)
    np.fill_diagonal(kernel, 0.0)
    np.testing.assert_allclose(found, kernel.sum(axis=1) / 99, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_invalid_members_add_nothing(leave_one_out: bool) -> None:
    outcome = clustered_outcome(100)
    valid = jnp.arange(100) < 60
    behavior = jnp.where(valid[:, None], outcome.behavior, 0.0)
    found = kernel_density(behavior, jnp.zeros(100), valid, 1.5, leave_one_out=leave_one_out)
    alone = kernel_density(behavior[:60], jnp.zeros(60), valid[:60], 1.5, leave_one_out=leave_one_out)
    np.testing.assert_allclose(found[:60], alone, rtol=1e-5, atol=1e-12)


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
