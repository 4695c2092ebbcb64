import jax.numpy as jnp
import numpy as np
import pytest

from evolvability.tasks.normalizer import MIN_STD, Moments, include, merge, no_moments, pool, scaling


def blank(num_sets: int, size: int) -> Moments:
    zeros = np.zeros((num_sets, size))
    return Moments(np.zeros(num_sets), zeros, zeros)


def test_moments_of_parts_merge_to_those_of_the_whole() -> None:
    # Far from zero: raw sums in float32 would lose the variance altogether.
    observations = np.random.default_rng(0).normal(300.0, 0.5, (6, 50, 3)).astype(np.float32)
    running = no_moments(3)
    for generation in observations.reshape(3, 2, 50, 3):
        sets = Moments(jnp.zeros(2), jnp.zeros((2, 3)), jnp.zeros((2, 3)))
        for step in range(50):
            sets = include(sets, jnp.asarray(generation[:, step]), jnp.array([True, True]))
        running = merge(running, pool(sets, jnp.array([True, True])))
    everything = observations.reshape(-1, 3)
    mean, std = scaling(running)
    assert running.count == 300
    np.testing.assert_allclose(mean, everything.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(std, everything.std(axis=0), rtol=1e-3)


def test_ended_episodes_and_dropped_members_count_for_nothing() -> None:
    observations = np.random.default_rng(0).normal(size=(4, 3, 2))
    lengths, keep = np.array([4, 2, 4]), np.array([True, True, False])
    sets = blank(3, 2)
    for step in range(4):
        sets = include(sets, observations[step], step < lengths)
    pooled = pool(sets, keep)
    counted = np.concatenate([observations[:4, 0], observations[:2, 1]])
    assert pooled.count == 6
    np.testing.assert_allclose(pooled.mean, counted.mean(axis=0))
    np.testing.assert_allclose(pooled.spread / 6, counted.var(axis=0))


def test_nothing_seen_means_nothing_scaled() -> None:
    mean, std = scaling(no_moments(2))
    np.testing.assert_array_equal(mean, [0, 0])
    np.testing.assert_array_equal(std, [1, 1])
    nothing = pool(blank(2, 2), np.array([False, False]))
    unchanged = merge(Moments(jnp.array(2.0), jnp.array([1.0, 2.0]), jnp.array([8.0, 2.0])), nothing)
    np.testing.assert_allclose(unchanged.mean, [1, 2])
    np.testing.assert_allclose(scaling(unchanged)[1], [2, 1])


@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_standard_deviation_has_a_floor(spread: float) -> None:
    _, std = scaling(Moments(jnp.array(5.0), jnp.zeros(1), jnp.array([spread])))
    np.testing.assert_allclose(std, [MIN_STD])
