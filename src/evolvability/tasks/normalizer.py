r"""Running mean and standard deviation of observations, over all generations.

Kept as (count, mean, sum of squared deviations) and merged by Chan's rule, so that float32 keeps its digits:

$$\mu = \mu_a + \delta \frac{n_b}{n}, \quad S = S_a + S_b + \delta^2 \frac{n_a n_b}{n}, \quad \delta = \mu_b - \mu_a.$$
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

MIN_STD = 0.1  # an observation that hardly changes is not blown up
LIMIT = 5.0  # what a network sees stays within so many standard deviations


class Moments(NamedTuple):
    """Statistics of observations; with leading axes, of several sets of them."""

    count: Any
    """(...) how many observations there were."""
    mean: Any
    """(..., num_observations) their mean."""
    spread: Any
    """(..., num_observations) the sum of their squared deviations from it."""


def no_moments(num_observations: int) -> Moments:
    """The statistics of nothing yet."""
    return Moments(jnp.zeros(()), jnp.zeros(num_observations), jnp.zeros(num_observations))


def scaling(moments: Moments) -> tuple[Array, Array]:
    """The mean to subtract and the standard deviation to divide by: 0 and 1 before the first observation."""
    xp = moments.mean.__array_namespace__()
    std = xp.sqrt(moments.spread / xp.maximum(moments.count, 1))
    return moments.mean, xp.where(moments.count > 0, xp.maximum(std, MIN_STD), 1.0)


def scaled(observation: Any, mean: Any, std: Any) -> Any:
    """What a network sees of an observation."""
    xp = observation.__array_namespace__()
    # Not xp.clip: NumPy's takes as long as a small network.
    return xp.minimum(xp.maximum((observation - mean) / std, -LIMIT), LIMIT)


def include(moments: Moments, observation: Any, where: Any) -> Moments:
    """One more observation in each of several sets (Welford's rule), in those sets where ``where`` is true."""
    count = moments.count + where
    mask = where[..., None]
    # A product lets nan through: engines freeze what has broken down before it is seen.
    change = (observation - moments.mean) * mask
    mean = moments.mean + change / count.clip(1)[..., None]  # where nothing was seen yet, 0 / 1 rather than 0 / 0
    # One deviation from the old mean, one from the new, which is exact. `change` is masked already.
    return Moments(count, mean, moments.spread + change * (observation - mean))


def pool(sets: Moments, keep: Any) -> Moments:
    """The statistics of several sets together, of those that are kept; sets: leading axis (num_sets,)."""
    xp = sets.count.__array_namespace__()
    count = xp.where(keep, sets.count, 0)
    total = count.sum()
    mean = (count[:, None] * sets.mean).sum(axis=0) / total.clip(1)
    # Deviations from the common mean: a difference of squares would cancel in float32.
    between = count[:, None] * (sets.mean - mean) ** 2
    within = xp.where(keep[:, None], sets.spread, 0)
    return Moments(total, mean, (within + between).sum(axis=0))


def merge(first: Moments, second: Moments) -> Moments:
    """The statistics of two sets together."""
    count = first.count + second.count
    share = second.count / count.clip(1)
    change = second.mean - first.mean
    # first.count * share is n_a n_b / n.
    spread = first.spread + second.spread + change**2 * (first.count * share)
    return Moments(count, first.mean + change * share, spread)
