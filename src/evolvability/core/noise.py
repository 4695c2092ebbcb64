r"""Noise, in whole rows or in factors: what is computed with it never needs it written out.

The noise of a draw is a row of standard normal numbers. Or it comes array by array, with a low rank $r$ for the
matrices among them (Sarkar et al., "Evolution Strategies at the Hyperscale", 2025),

$$E = \frac{1}{\sqrt r} A^\top B, \qquad A \in \mathbb{R}^{r \times m},\; B \in \mathbb{R}^{r \times n}
\text{ standard normal},$$

$r (m + n)$ numbers instead of $m n$. Its entries have mean zero, variance one and no correlation.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Shapes = tuple[tuple[int, ...], ...]  # the shapes of the arrays that a parameter vector is made of, in its order


class Factors(NamedTuple):
    r"""The noise of one matrix, $E = A^\top B$, of every draw."""

    left: Array
    """(num_draws, rank, num_inputs) $A$, standard normal."""
    right: Array
    """(num_draws, rank, num_outputs) $B$, standard normal divided by the square root of the rank."""


Block = Array | Factors  # the noise of one array: (num_draws, *shape), or in factors


class LowRank(NamedTuple):
    """Noise array by array."""

    blocks: tuple[Block, ...]
    """The noise of each array, in the order of the parameters."""


Noise = Array | LowRank  # the noise of some draws: (num_draws, num_params), or array by array


def shapes_of(parameters: Any) -> Shapes:
    """The shapes in a pytree.

    Examples:
        >>> shapes_of({"bias": np.zeros(3), "weight": np.zeros((2, 3))})
        ((3,), (2, 3))
    """
    return tuple(np.shape(leaf) for leaf in jax.tree.leaves(parameters))


def in_factors(shape: Sequence[int], rank: int) -> bool:
    """Whether an array is a matrix whose noise is smaller in factors; of more than two axes, the last is the outputs'.

    Examples:
        >>> in_factors((256, 6), 4), in_factors((256, 6), 16), in_factors((256,), 1)
        (True, False, False)
    """
    return len(shape) > 1 and rank * (math.prod(shape[:-1]) + shape[-1]) < math.prod(shape)


def num_numbers(shapes: Shapes, rank: int) -> int:
    """How many random numbers a draw of low rank takes.

    Examples:
        >>> num_numbers(((26, 256), (256,), (256, 256), (256,), (256, 6), (6,)), rank=1)  # for 74,246 parameters
        1574
    """
    return sum(_length(shape, rank) for shape in shapes)


def low_rank(numbers: Array, shapes: Shapes, rank: int) -> LowRank:
    """Noise made of standard normal numbers; numbers: (num_draws, num_numbers)."""
    num_draws = len(numbers)

    def block(numbers: Array, shape: tuple[int, ...]) -> Block:
        if not in_factors(shape, rank):
            return numbers.reshape(num_draws, *shape)
        num_inputs = math.prod(shape[:-1])
        left, right = numbers[:, : rank * num_inputs], numbers[:, rank * num_inputs :] / math.sqrt(rank)
        return Factors(
            left.reshape(num_draws, rank, num_inputs),
            right.astype(numbers.dtype).reshape(num_draws, rank, shape[-1]),
        )

    parts = _cut(numbers, [_length(shape, rank) for shape in shapes])
    return LowRank(tuple(map(block, parts, shapes)))


def blocks(noise: Noise, shapes: Shapes) -> tuple[Block, ...]:
    """The noise of each array; also of other rows of parameters, the centers'."""
    if isinstance(noise, LowRank):
        return noise.blocks
    parts = _cut(noise, [math.prod(shape) for shape in shapes])
    return tuple(part.reshape(len(noise), *shape) for part, shape in zip(parts, shapes, strict=True))


def times(inputs: Any, block: Any) -> Any:
    """(num_draws, num_signs, num_outputs) the product of each draw's inputs with its own noise, in float32.

    inputs: (num_draws, num_signs, num_inputs), JAX's or NumPy's.
    """
    if isinstance(block, Factors) and isinstance(inputs, np.ndarray):
        return (inputs @ block.left.swapaxes(1, 2)) @ block.right
    if isinstance(block, Factors):
        # Two thin products, as sums that the compiler fuses with what is around them: a GPU's batched matrix product
        # gains nothing from matrices this thin.
        along = jnp.sum(inputs[:, :, None] * block.left[:, None], axis=-1)  # (num_draws, num_signs, rank)
        return sum(along[:, :, k, None] * block.right[:, None, k] for k in range(block.left.shape[1]))
    if isinstance(inputs, np.ndarray):
        return inputs @ block
    # Factors in the noise's own type, sums in float32: short noise is not written out in a longer type.
    return jnp.matmul(inputs.astype(block.dtype), block, preferred_element_type=jnp.float32)


def noise_sum(pulls: Array, noise: Noise | Block) -> Array:
    """(..., num_params) the sum of the draws' noise times their pulls, in float32 whatever the noise is kept in.

    pulls: (..., num_draws); for noise of low rank (num_draws,).
    """
    if isinstance(noise, LowRank):
        return jnp.concatenate([noise_sum(pulls, block).ravel() for block in noise.blocks])
    if isinstance(noise, Factors):  # (num_inputs, num_outputs), by a single matrix product
        pulled = (pulls[:, None, None] * noise.left).astype(noise.left.dtype)
        return jnp.einsum("dri,dro->io", pulled, noise.right, preferred_element_type=jnp.float32)
    return jnp.tensordot(pulls.astype(noise.dtype), noise, 1, preferred_element_type=jnp.float32)


def rows(noise: Noise | Block) -> Array:
    """(num_draws, num_params) written out."""
    if isinstance(noise, LowRank):
        parts = [rows(block) for block in noise.blocks]
        return jnp.concatenate([block.reshape(len(block), math.prod(block.shape[1:])) for block in parts], axis=1)
    if isinstance(noise, Factors):
        return jnp.einsum("dri,dro->dio", noise.left, noise.right, preferred_element_type=jnp.float32)
    return noise


def _length(shape: Sequence[int], rank: int) -> int:
    """Random numbers of one array's noise."""
    return rank * (math.prod(shape[:-1]) + shape[-1]) if in_factors(shape, rank) else math.prod(shape)


def _cut(vectors: Array, lengths: Sequence[int]) -> list[Array]:
    """The columns of an array in pieces."""
    ends = itertools.accumulate(lengths)
    return [vectors[:, end - length : end] for end, length in zip(ends, lengths, strict=True)]
