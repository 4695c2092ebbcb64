"""Shaping: what objectives see."""

import gc
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from evolvability.core import shaping
from tests.conftest import clustered_outcome

COMPILED = {name: jax.jit(function) for name, function in shaping.SHAPINGS.items()}
standardize, robust, centered_ranks = map(jax.jit, (shaping.standardize, shaping.robust, shaping.centered_ranks))


def test_standardized_behaviors_have_mean_zero_and_deviation_one() -> None:
    result = clustered_outcome()
    shaped = np.asarray(standardize(result.behavior, result.valid))
    np.testing.assert_allclose(shaped.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(shaped.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("value", [3.0, 0.1, 12345.678])
def test_a_dimension_without_spread_stays_at_zero(value: float) -> None:
    """Also where the mean of equal float32 numbers, rounded, is not that number."""
    behavior, valid = np.full((500, 1), value, np.float32), np.arange(500) > 0
    behavior[0] = np.nan
    np.testing.assert_array_equal(standardize(behavior, valid), np.zeros((500, 1)))


def test_a_dimension_without_spread_but_for_rounding_stays_at_zero() -> None:
    jitter = np.where(np.arange(500) % 2, np.float32(1e-7), np.float32(0))
    behavior = np.stack([1 + jitter, 1e6 + np.arange(500, dtype=np.float32) % 7, jitter], axis=1)
    shaped = np.asarray(standardize(behavior, np.ones(500, bool)))
    np.testing.assert_array_equal(shaped[:, 0], 0)
    np.testing.assert_allclose(shaped[:, 1:].std(axis=0), 1, rtol=1e-5)  # small, or far away, but there


def test_robust_standardizing_sees_the_spread_of_those_that_did_not_blow_up() -> None:
    clean, valid = np.random.default_rng(0).normal(size=(10_000, 2)).astype(np.float32), np.ones(10_000, bool)
    broken = clean.copy()
    broken[0] = 1e6
    blown = np.asarray(robust(broken, valid))
    np.testing.assert_allclose(blown[1:], np.asarray(robust(clean, valid))[1:], atol=0.01)
    np.testing.assert_allclose(blown.std(axis=0), 1, rtol=1e-3)
    assert np.abs(blown).max() < 3
    assert np.asarray(standardize(broken, valid))[1:].std() < 1e-3


def test_centered_ranks_match_scipy_ties_included() -> None:
    values = np.array([3, -1, 3, 8, 3, 0], np.float32)
    expected = (stats.rankdata(values) - 1) / 5 - 0.5
    np.testing.assert_allclose(centered_ranks(values, np.ones(6, bool)), expected, atol=1e-6)


@pytest.mark.parametrize("shape", COMPILED.values(), ids=COMPILED)
def test_invalid_members_become_zero_and_change_no_other(shape: shaping.Shaping) -> None:
    values: Any = np.array([[1, 5], [np.nan, 1e30], [3, -2], [4, 4]], np.float32)
    valid: Any = np.array([True, False, True, True])
    shaped = np.asarray(shape(values, valid))
    np.testing.assert_array_equal(shaped[1], 0)
    np.testing.assert_allclose(shaped[valid], shape(values[valid], valid[valid]), rtol=1e-6)


@pytest.mark.parametrize("shape", COMPILED.values(), ids=COMPILED)
def test_what_is_compiled_again_leaves_nothing_behind(shape: shaping.Shaping) -> None:
    """Or a process that resumes its run again and again would grow."""

    def objects_after_lowering() -> int:
        jax.jit(partial(shape)).lower(np.zeros((4, 2), np.float32), np.ones(4, bool))
        gc.collect()
        return len(gc.get_objects())

    gc.freeze()  # what is there already is not counted, which is sooner
    objects_after_lowering()  # what is kept once
    assert objects_after_lowering() + 10 > objects_after_lowering()
