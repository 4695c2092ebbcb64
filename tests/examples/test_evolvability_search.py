"""Evolvability search: what it counts, whom it selects, and what it finds."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import make_task
from evolvability.core.populations import mixture
from evolvability.core.strategy import State
from evolvability.core.types import make_outcome
from evolvability.studies.measures import num_distinct as counted_one_by_one
from evolvability.tasks.interference import MOST_EVOLVABLE, pattern
from examples.evolvability_search import TOURNAMENT, count_distinct, evolvability_search, in_turn, search


@pytest.mark.parametrize("threshold", [0.01, 0.5, 2.0])
def test_distinct_behaviors_are_counted_as_one_by_one(threshold: float) -> None:
    behavior = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    valid = np.arange(60) % 7 > 0
    found = jax.jit(count_distinct)(behavior, valid, threshold)
    assert int(found) == counted_one_by_one(behavior[valid], threshold)


@pytest.mark.parametrize("mirrored", [pytest.param(True, marks=pytest.mark.full), False])
def test_each_parent_is_judged_by_its_own_offspring(mirrored: bool) -> None:
    population = in_turn(mixture(3, 0.5, mirrored=mirrored))
    algorithm = evolvability_search(population, population_size=24, threshold=0.3)

    @jax.jit
    def judge(centers: Array) -> tuple[Array, Array, Array, Array]:
        state = algorithm.init(jax.random.key(0), centers)
        sample = algorithm.ask(state)
        members = sample.members()
        judged = algorithm.remember(state, make_outcome(members))
        return members, sample.member_components(), judged.history, algorithm.weigh(judged, make_outcome(members))[1]

    members, owners, history, value = map(np.asarray, judge(jnp.array([[0.0], [4.0], [8.0]])))
    assert np.bincount(owners).tolist() == [8, 8, 8]
    assert history.tolist() == [counted_one_by_one(members[owners == parent], 0.3) for parent in range(3)]
    assert value == max(history)


@jax.jit
def parents(counts: Array) -> State:
    algorithm = evolvability_search(in_turn(mixture(4, 0.1)), population_size=8, threshold=1.0)
    state = algorithm.init(jax.random.key(1), 10.0 * jnp.arange(4.0)[:, None])._replace(history=counts)
    return algorithm.ascend(state, state.parameters)


def test_the_best_lives_on_and_the_others_descend_from_winners() -> None:
    after = parents(jnp.array([3, 9, 5, 1]))
    centers = np.asarray(after.parameters.center)[:, 0]
    assert centers[0] == 10.0
    ancestors = np.round(centers / 10)
    assert np.abs(centers - 10 * ancestors).max() < 1.0  # mutations of sigma 0.1
    assert (centers[1:] != 10 * ancestors[1:]).all()
    assert int(after.generation) == 1


def test_the_worst_wins_only_a_tournament_of_its_own() -> None:
    def worst_share(seed: int) -> Any:
        algorithm = evolvability_search(in_turn(mixture(4, 0.1)), population_size=8, threshold=1.0)
        start = algorithm.init(jax.random.key(seed), 10.0 * jnp.arange(4.0)[:, None])
        after = algorithm.ascend(start._replace(history=jnp.array([3, 9, 5, 1])), start.parameters)
        return jnp.mean(jnp.round(after.parameters.center[1:, 0] / 10) == 3)

    share = float(jnp.mean(jax.lax.map(worst_share, jnp.arange(2000))))
    assert share == pytest.approx(0.25**TOURNAMENT, abs=0.006)  # four standard errors


@pytest.mark.full
def test_it_finds_where_the_pattern_is_most_evolvable() -> None:
    """Slowly: the best parent of 40 generations is where a mutation changes most, give or take a mutation."""
    states = search(make_task("interference"), sigma=0.5, threshold=0.5, members=512, seeds=3)
    last = next(itertools.islice(states, 40, None))
    assert last.generation.tolist() == [40] * 3
    offspring = np.random.default_rng(0).normal(scale=0.5, size=1000)

    def distinct(x: float) -> int:
        return counted_one_by_one(np.asarray(pattern(jnp.asarray(x + offspring)))[:, None], 0.5)

    for best in last.parameters.center[:, 0, 0]:
        assert distinct(1.0) < 0.7 * distinct(float(MOST_EVOLVABLE))
        assert distinct(float(best)) > 0.85 * distinct(float(MOST_EVOLVABLE))
