"""Quality Evolvability ES: fronts against all pairs, weights against closed forms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from evolvability.core.shaping import centered_ranks
from evolvability.methods.quality_evolvability import nondominated_fronts, qe_es
from tests.conftest import clustered_outcome, compiled_weights


def fronts_by_peeling(values: np.ndarray) -> np.ndarray:
    """Front after front of members whom nobody left dominates, by comparing all pairs; values: (num_members, 2)."""
    fronts = np.full(len(values), -1)
    number = 0
    while (left := np.flatnonzero(fronts < 0)).size:
        own = values[left]
        better = (own[:, None] >= own).all(axis=-1) & (own[:, None] > own).any(axis=-1)
        fronts[left[~better.any(axis=0)]] = number
        number += 1
    return fronts


@pytest.mark.parametrize("kind", ["spread", "many ties", "one chain", "all alike"])
def test_fronts_are_those_of_all_pairs(kind: str) -> None:
    generator = np.random.default_rng(0)
    values = {
        "spread": generator.normal(size=(300, 2)),
        "many ties": generator.integers(0, 6, size=(300, 2)).astype(float),
        "one chain": np.repeat(generator.normal(size=(300, 1)), 2, axis=1),
        "all alike": np.ones((300, 2)),
    }[kind]
    found = jax.jit(nondominated_fronts)(jnp.asarray(values[:, 0]), jnp.asarray(values[:, 1]))
    np.testing.assert_array_equal(found, fronts_by_peeling(values.astype(np.float32)))


def crowding_by_hand(values: np.ndarray, fronts: np.ndarray) -> np.ndarray:
    """Deb et al.'s crowding distance, front by front as they write it; values: (num_members, 2)."""
    distance = np.zeros(len(values))
    for front in np.unique(fronts):
        members = np.flatnonzero(fronts == front)
        for value in values.T:
            ordered = members[np.argsort(value[members])]
            distance[ordered[[0, -1]]] = np.inf
            for before, own, after in zip(ordered, ordered[1:], ordered[2:], strict=False):
                distance[own] += (value[after] - value[before]) / (value[ordered[-1]] - value[ordered[0]])
    return distance


def test_the_default_is_katonas_ranking() -> None:
    """Spearman's correlation with a reimplementation: raw variance contributions, fronts, and crowding within them."""
    result = clustered_outcome(500)
    behavior = np.asarray(result.behavior, np.float64) * [
        1.0,
        50.0,
    ]  # standardized, it would be another order
    result = result._replace(behavior=jnp.asarray(behavior, jnp.float32))
    values = np.stack([result.fitness, ((behavior - behavior.mean(axis=0)) ** 2).sum(axis=1)], axis=1)
    fronts = fronts_by_peeling(values)
    order = np.lexsort((-crowding_by_hand(values, fronts), fronts))
    places = np.empty(500)
    places[order] = np.arange(500)
    weights, _ = compiled_weights(qe_es(), result)
    assert stats.spearmanr(weights, -places).statistic > 0.999
    assert len(np.unique(weights)) > 400  # ties are those of the two ends of a front


def test_weights_are_the_ranks_of_fitness_and_contribution() -> None:
    """A member's contribution to the variance is its squared distance from the mean."""
    result = clustered_outcome()
    weights, value = compiled_weights(qe_es(), result)
    behavior = np.asarray(result.behavior)
    values = np.stack([result.fitness, ((behavior - behavior.mean(axis=0)) ** 2).sum(axis=1)], axis=1)
    fronts = fronts_by_peeling(values)
    room = crowding_by_hand(values, fronts)
    # Members of one front with equal room share a place.
    places = np.unique(np.stack([fronts, -room], axis=1), axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_allclose(weights, jax.jit(centered_ranks)(-places.astype(np.float32), result.valid), atol=1e-6)
    assert float(value) == pytest.approx(float(weights.mean()), abs=1e-5)


def test_invalid_members_weigh_nothing_and_change_nothing() -> None:
    result = clustered_outcome(100)
    broken: Any = jax.tree.map(np.array, result)
    broken.behavior[3], broken.fitness[3], broken.valid[3] = 1e9, np.nan, False
    alone = jax.tree.map(lambda leaf: np.delete(leaf, 3, axis=0), result)
    weights, _ = compiled_weights(qe_es(), broken)
    expected, _ = compiled_weights(qe_es(), alone)
    assert float(weights[3]) == 0
    # n * dJ / dlog p: the factor n cancels in the gradient, which divides by it.
    np.testing.assert_allclose(np.delete(weights, 3) / 100, np.asarray(expected) / 99, atol=1e-6)
