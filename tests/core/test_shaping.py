"""Shaping: what objectives see."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from evolvability.core.shaping import SHAPINGS, Shaping, centered_ranks, standardize
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
