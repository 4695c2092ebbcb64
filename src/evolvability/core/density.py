r"""Kernel density estimates of behaviors, in memory that grows with the number of members only.

The density at member $i$ is the expectation of a Gaussian kernel over the population (equation 2 of the paper):

$$p_i = \mathbb{E}_{z'}\left[\varphi(B(z') - B(z_i))\right], \qquad \varphi(b) = e^{-|b|^2 / 2h^2}.$$

Two ways to compute it, the same to float precision:

**Pair by pair**, a tile of rows at a time: for three dimensions and more, and for outliers.

**Grid**, for one or two behavior dimensions: a Gaussian is the convolution of two narrower ones, and the trapezoidal
rule for that integral on a grid of spacing $\Delta$ has the relative error $2 e^{-\pi^2 h^2 / 2 \Delta^2}$ for every
pair of points alike; at $\Delta = h/2$ that is 5e-9. So the kernel factorizes into positive features,

$$\varphi(b - b') = \sum_u a_u(b)\, a_u(b'), \qquad a_u(b) \propto e^{-|b - u|^2 / h^2},$$

and $p_i = \sum_u a_u(B_i)\, \mathbb{E}_{z'}[a_u(B(z'))]$ costs one pass over the members instead of one over pairs.
The few members that lie off the grid are paired with all others, so that an outlier costs a tile and not the grid.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.expectation import box

GRID_NODES = {1: (128, 512), 2: (128, 256)}  # by behavior dimensions: a grid for most clouds, and one for wide ones
GRID_SPACING = 0.5  # in bandwidths; see the module's error bound
GRID_MARGIN = 3.0  # in bandwidths: exp(-2 * 3^2) of a feature product lies beyond it
# NumPy's: an array of JAX's would start its backend at import.
QUANTILES = np.array([0.01, 0.99], np.float32)  # the grid's middle lies between these; see `_kernel_sums`
TILE_ROWS = 64
# A GPU's default for float32 products keeps 10 bits: too few for the density of an outlier.
EXACT = jax.lax.Precision.HIGHEST


def kernel_density(
    behavior: Array, log_prob: Array, valid: Array, bandwidth: float | Array, *, leave_one_out: bool = False
) -> Array:
    """(num_members,) the density at each member, up to the kernel's normalization; differentiable in ``log_prob``.

    Behaviors, (num_members, num_behaviors), are finite also where they are not valid. The bandwidth is the kernel's
    standard deviation, and ``leave_one_out`` leaves a member's own kernel out of its density.
    """
    # Clipped: of huge behaviors and a narrow kernel the division could overflow, and inf - inf is nan.
    largest = jnp.finfo(jnp.float32).max
    behavior = jnp.clip(jax.lax.stop_gradient(behavior) / bandwidth, -largest, largest)
    count = jnp.sum(valid)
    # What each member adds to an expectation: `expect(values, log_prob, where=valid)` as one product.
    ratio = jnp.where(valid, box(log_prob), 0) / jnp.maximum(count, 1)
    density = _kernel_sums(behavior, valid, ratio, leave_one_out)
    # The ratios are shares of all members; without its own, a member's mean is over one less.
    return density * count / jnp.maximum(count - 1, 1) if leave_one_out else density


def cross_density(episodes: Array, log_prob: Array, valid: Array, bandwidth: float | Array) -> Array:
    """(num_members, num_episodes) the density at each episode, of the other episodes of all members, its own included.

    Only episodes of another number count: the first of a member is compared with the second ones, say. Otherwise as
    `kernel_density`; episodes: (num_members, num_episodes, num_behaviors).
    """
    number = episodes.shape[1]
    largest = jnp.finfo(jnp.float32).max
    rows = jax.lax.stop_gradient(episodes).reshape(-1, episodes.shape[2])
    rows = jnp.clip(rows / bandwidth, -largest, largest)
    counts = jnp.repeat(valid, number)
    ratio = jnp.where(valid, box(log_prob), 0) / jnp.maximum(jnp.sum(valid), 1) / (number - 1)
    others = jnp.arange(number) != jnp.arange(number)[:, None]  # (num_episodes, num_episodes)
    # One product of the kernel matrix per episode number, with the shares of all other numbers.
    shares = (ratio[None, :, None] * others[:, None, :]).reshape(number, -1)
    found = jnp.stack([_kernel_sums(rows, counts, share, False) for share in shares])
    return jnp.stack([own.reshape(-1, number)[:, k] for k, own in enumerate(found)], axis=1)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _kernel_sums(behavior: Array, valid: Array, vector: Array, leave_one_out: bool) -> Array:
    """(num_members,) the kernel matrix of all members times a vector; the diagonal is left out on demand."""
    if leave_one_out or behavior.shape[1] > 2:
        # Leaving one out by subtracting it from the grid's sum would cancel every digit of an outlier's density.
        return _pair_by_pair(behavior, vector, jnp.zeros(len(behavior), bool), leave_one_out)
    # Between quantiles, not extremes: one outlier would move the grid away, and its rounding take all digits.
    low, high = jnp.nanquantile(jnp.where(valid[:, None], behavior, jnp.nan), QUANTILES, axis=0)
    # Halved before they are added, for the sum could overflow; nan where nobody is valid.
    shifted = behavior - jnp.where(jnp.isfinite(low), low / 2 + high / 2, 0)

    def reached(num_nodes: int) -> Array:
        reach = (num_nodes - 1) / 2 * GRID_SPACING - GRID_MARGIN
        # Invalid members have no part in any sum: as outliers they would only cost tiles.
        return ~valid | jnp.all(jnp.abs(shifted) <= reach, axis=1)

    small, large = GRID_NODES[behavior.shape[1]]
    is_wide = _any(jnp.sum(~reached(small)) > TILE_ROWS)
    inside = jnp.where(is_wide, reached(large), reached(small))
    # Only the grid is compiled in both sizes.
    grids = (partial(_grid, shifted, num_nodes=num_nodes) for num_nodes in (large, small))
    on_grid = jax.lax.cond(is_wide, *grids, jnp.where(inside, vector, 0))
    return jnp.where(inside, on_grid, 0) + _pair_by_pair(behavior, vector, inside, leave_one_out=False)


# The matrix is symmetric, so the way back is the way forth: neither pairs nor features are kept for it.
_kernel_sums.defvjp(
    lambda behavior, valid, *rest: (_kernel_sums(behavior, valid, *rest), (behavior, valid)),
    lambda leave_one_out, kept, slope: (None, None, _kernel_sums(*kept, slope, leave_one_out)),
)


def _pair_by_pair(behavior: Array, vector: Array, inside: Array, leave_one_out: bool) -> Array:
    """The kernel sums without the pairs of two members inside: a tile of members outside after the other."""
    members = jnp.arange(len(behavior))
    # Padded: near the end `dynamic_slice` would move its start back, and members would be counted twice.
    order = jnp.pad(jnp.argsort(inside), (0, TILE_ROWS))  # those outside first
    num_outside = jnp.sum(~inside)

    def add(tile: Array, sums: Array) -> Array:
        chosen = jax.lax.dynamic_slice(order, (tile * TILE_ROWS,), (TILE_ROWS,))
        counts = tile * TILE_ROWS + jnp.arange(TILE_ROWS) < num_outside
        # Written per dimension: (tile, num_members) arrays vectorize, a short last axis would not.
        squares = sum((behavior[chosen, j, None] - behavior[:, j]) ** 2 for j in range(behavior.shape[1]))
        kernel = jnp.exp(-0.5 * squares)
        if leave_one_out:
            kernel = jnp.where(chosen[:, None] == members, 0, kernel)
        # A member outside gets all its pairs from `own`, so `to_others` is for those inside: no pair counts twice.
        own = jnp.matmul(kernel, vector, precision=EXACT)
        to_others = jnp.matmul(jnp.where(counts, vector[chosen], 0), kernel, precision=EXACT)
        return jnp.where(inside, sums + to_others, sums).at[chosen].add(jnp.where(counts, own, 0))

    # How many turns is known only at run time. JAX cannot differentiate such a loop backwards: hence the custom rule.
    return jax.lax.fori_loop(0, -(-num_outside // TILE_ROWS), add, jnp.zeros(len(behavior)))


def _grid(behavior: Array, vector: Array, num_nodes: int) -> Array:
    nodes = (jnp.arange(num_nodes) - (num_nodes - 1) / 2) * GRID_SPACING
    # A product of two features is the kernel times exp(-2 (u - middle)^2), whose integral over u is sqrt(pi / 2).
    norm = (GRID_SPACING / jnp.sqrt(jnp.pi / 2)) ** 0.5
    features = norm * jnp.exp(-((behavior[:, :, None] - nodes) ** 2))  # (num_members, num_behaviors, nodes)
    if behavior.shape[1] == 1:
        mass = jnp.matmul(vector, features[:, 0], precision=EXACT)
        return jnp.matmul(features[:, 0], mass, precision=EXACT)
    # A feature of the plane is a product of one per axis: an array (num_members, nodes * nodes) is never made.
    mass = jnp.matmul((vector[:, None] * features[:, 0]).T, features[:, 1], precision=EXACT)
    return jnp.sum(jnp.matmul(features[:, 0], mass, precision=EXACT) * features[:, 1], axis=1)


@jax.custom_batching.custom_vmap
def _any(condition: Array) -> Array:
    """Whether it holds anywhere in the batch: with an answer for each of it, `cond` would compute both branches."""
    return condition


@_any.def_vmap
def _any_vmap(axis_size: int, in_batched: list[bool], condition: Array) -> tuple[Array, bool]:
    del axis_size, in_batched
    return _any(jnp.any(condition, axis=0)), False
