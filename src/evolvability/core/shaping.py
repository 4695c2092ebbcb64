"""Shaping: what is done to behaviors or fitness before an objective sees them.

Every function takes values of shape (num_members,) or (num_members, num_behaviors) and the mask of valid members,
and returns values of the same shape. Invalid members come out as zero. No gradient passes through.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

Shaping = Callable[[Array, Array], Array]


def masked_mean_and_std(values: Array, valid: Array) -> tuple[Array, Array]:
    """Mean and standard deviation over the valid members, per dimension."""
    count = jnp.maximum(jnp.sum(valid), 1)
    # Relative to one of them: where all agree the deviations are zero, without the rounding of a mean.
    # The first. Not by argmax: JAX keeps what it traces of that, anew each time that a run is compiled.
    some = unshaped(values, valid)[jnp.min(jnp.arange(len(valid)), where=valid, initial=len(valid) - 1)]
    shifted = unshaped(values - some, valid)
    shift = jnp.sum(shifted, axis=0) / count
    # Masked again: the zero of an invalid member lies a whole shift from the mean.
    variance = jnp.sum(unshaped((shifted - shift) ** 2, valid), axis=0) / count
    return some + shift, jnp.sqrt(variance)


def masked_mean(values: Array, where: Array) -> Array:
    """The mean of all values that count, over every axis; zero where none does."""
    return jnp.sum(jnp.where(where, values, 0)) / jnp.maximum(jnp.sum(where), 1)


def unshaped(values: Array, valid: Array) -> Array:
    """The values as they are."""
    return jnp.where(_mask(values, valid), values, 0)


def _mask(values: Array, valid: Array) -> Array:
    return valid.reshape(-1, *(1,) * (values.ndim - 1))


def standardize(values: Array, valid: Array) -> Array:
    """Mean zero and standard deviation one in every dimension; the paper calls it whitening.

    Examples:
        >>> standardize(jnp.array([1.0, 3.0]), jnp.array([True, True]))
        Array([-1.,  1.], dtype=float32)
    """
    mean, std = masked_mean_and_std(values, valid)
    # A dimension in which all members agree, but for rounding, has nothing to scale: it stays at zero.
    rounding = jnp.finfo(jnp.float32).eps * jnp.max(jnp.abs(unshaped(values, valid)), axis=0)
    # The nan of a 0 / 0 that is not chosen does no harm: no gradient passes through.
    return unshaped(jnp.where(std > rounding, (values - mean) / std, 0), valid)


def robust(values: Array, valid: Array) -> Array:
    """Like `standardize`, of winsorized values: those beyond the 1 % and the 99 % quantile are set to it.

    So members that blow up, at most 1 % at either end, do not reduce the others' spread.

    Examples:
        >>> robust(jnp.array([1.0] * 100 + [3.0] * 99 + [1e9]), jnp.ones(200, bool))[jnp.array([0, 100, 199])]
        Array([-1.,  1.,  1.], dtype=float32)
    """
    low, high = jnp.nanquantile(jnp.where(_mask(values, valid), values, jnp.nan), jnp.array([0.01, 0.99]), axis=0)
    return standardize(jnp.clip(values, low, high), valid)


def centered_ranks(values: Array, valid: Array) -> Array:
    """Ranks spread evenly over [-0.5, 0.5]; equal values share their mean rank.

    Examples:
        >>> centered_ranks(jnp.array([10.0, 3.0, 3.0]), jnp.array([True, True, True]))
        Array([ 0.5 , -0.25, -0.25], dtype=float32)
    """
    # Invalid ones are last, where they take no rank from the others. Ranks count from one.
    ranks = jax.scipy.stats.rankdata(jnp.where(_mask(values, valid), values, jnp.inf), axis=0) - 1
    return unshaped(ranks / jnp.maximum(jnp.sum(valid) - 1, 1) - 0.5, valid)


SHAPINGS: dict[str, Shaping] = {
    "standardize": standardize,
    "robust": robust,
    "centered_ranks": centered_ranks,
    "none": unshaped,
}


def shaping_name(shaping: Shaping) -> str | None:
    """The name of a shaping; None where it has none."""
    return next((name for name, known in SHAPINGS.items() if known is shaping), None)
