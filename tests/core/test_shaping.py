"""Shaping: what objectives see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from evolvability.core.shaping import SHAPINGS, Shaping, centered_ranks, robust, standardize
from tests.conftest import clustered_outcome


def test_standardized_behaviors_have_mean_zero_and_deviation_one() -> None:
    result = clustered_outcome()
    shaped = np.asarray(standardize(result.behavior, result.valid))
    np.testing.assert_allclose(shaped.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(shaped.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("value", [3.0, 0.1, 12345.678])
def test_a_dimension_without_spread_stays_at_zero(value: float) -> None:
    """Also where the mean of equal float32 numbers, rounded, is not that number."""
    behavior, valid = jnp.full((500, 1), value).at[0].set(jnp.nan), jnp.arange(500) > 0
    np.testing.assert_array_equal(standardize(behavior, valid), np.zeros((500, 1)))


def test_a_dimension_without_spread_but_for_rounding_stays_at_zero() -> None:
    jitter = jnp.where(jnp.arange(500) % 2, 1e-7, 0.0)
    behavior = jnp.stack([1 + jitter, 1e6 + jnp.arange(500.0) % 7, jitter], axis=1)
    shaped = standardize(behavior, jnp.ones(500, bool))
    np.testing.assert_array_equal(shaped[:, 0], 0)
    np.testing.assert_allclose(shaped[:, 1:].std(axis=0), 1, rtol=1e-5)  # small, or far away, but there


def test_robust_whitening_sees_the_spread_of_those_that_did_not_blow_up() -> None:
    clean = jax.random.normal(jax.random.key(0), (10_000, 2))
    valid = jnp.ones(10_000, bool)
    blown = np.asarray(robust(clean.at[0].set(1e6), valid))
    np.testing.assert_allclose(blown[1:], robust(clean, valid)[1:], atol=0.01)
    np.testing.assert_allclose(blown.std(axis=0), 1, rtol=1e-3)
    assert np.abs(blown).max() < 3
    assert np.asarray(standardize(clean.at[0].set(1e6), valid))[1:].std() < 1e-3


def test_centered_ranks_match_scipy_ties_included() -> None:
    values = jnp.array([3.0, -1.0, 3.0, 8.0, 3.0, 0.0])
    expected = (stats.rankdata(values) - 1) / 5 - 0.5
    np.testing.assert_allclose(centered_ranks(values, jnp.ones(6, bool)), expected, atol=1e-6)


@pytest.mark.parametrize("shaping", SHAPINGS.values(), ids=SHAPINGS)
def test_invalid_members_become_zero_and_change_no_other(shaping: Shaping) -> None:
    values = jnp.array([[1.0, 5.0], [jnp.nan, 1e30], [3.0, -2.0], [4.0, 4.0]])
    valid = jnp.array([True, False, True, True])
    shaped = shaping(values, valid)
    np.testing.assert_array_equal(shaped[1], 0)
    np.testing.assert_allclose(shaped[valid], shaping(values[valid], jnp.ones(3, bool)), rtol=1e-6)
