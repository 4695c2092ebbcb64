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
    some = identity(values, valid)[jnp.argmax(valid)]
    shifted = identity(values - some, valid)
    shift = jnp.sum(shifted, axis=0) / count
    variance = jnp.sum(identity((shifted - shift) ** 2, valid), axis=0) / count
    return some + shift, jnp.sqrt(variance)


def identity(values: Array, valid: Array) -> Array:
    """The values as they are."""
    return jnp.where(valid.reshape(-1, *(1,) * (values.ndim - 1)), values, 0)


def standardize(values: Array, valid: Array) -> Array:
    """Mean zero and standard deviation one in every dimension; the paper calls it whitening.

    Examples:
        >>> standardize(jnp.array([1.0, 3.0]), jnp.array([True, True]))
        Array([-1.,  1.], dtype=float32)
    """
    mean, std = masked_mean_and_std(values, valid)
    # A dimension in which all members agree has nothing to scale: it stays at zero.
    return identity((values - mean) / jnp.where(std > 0, std, 1), valid)


def centered_ranks(values: Array, valid: Array) -> Array:
    """Ranks spread evenly over [-0.5, 0.5]; equal values share their mean rank.

    Examples:
        >>> centered_ranks(jnp.array([10.0, 3.0, 3.0]), jnp.array([True, True, True]))
        Array([ 0.5 , -0.25, -0.25], dtype=float32)
    """

    def ranks(column: Array) -> Array:
        ordered = jnp.sort(jnp.where(valid, column, jnp.inf))
        below = jnp.searchsorted(ordered, column, side="left")
        up_to = jnp.searchsorted(ordered, column, side="right")
        return (below + up_to - 1) / 2

    all_ranks = ranks(values) if values.ndim == 1 else jax.vmap(ranks, 1, 1)(values)
    return identity(all_ranks / jnp.maximum(jnp.sum(valid) - 1, 1) - 0.5, valid)


SHAPINGS: dict[str, Shaping] = {"standardize": standardize, "centered_ranks": centered_ranks, "none": identity}
