r"""Kernel density estimates of behaviors, in memory that grows with the number of members only.

The density at member $i$ is the expectation of a Gaussian kernel over the population (equation 2 of the paper):

$$p_i = \mathbb{E}_{z'}\left[\varphi(B(z') - B(z_i))\right], \qquad \varphi(b) = e^{-|b|^2 / 2h^2}.$$

Two ways to compute it, the same to float precision:

**Direct**: every pair, a tile of rows at a time.

**Grid**, for one or two behavior dimensions: a Gaussian is the convolution of two narrower ones, and the trapezoidal
rule for that integral on a grid of spacing $\Delta$ has the relative error $2 e^{-\pi^2 h^2 / 2 \Delta^2}$ for every
pair of points alike; at $\Delta = h/2$ that is 5e-9. So the kernel factorizes into positive features,

$$\varphi(b - b') = \sum_u a_u(b)\, a_u(b'), \qquad a_u(b) \propto e^{-|b - u|^2 / h^2},$$

and $p_i = \sum_u a_u(B_i)\, \mathbb{E}_{z'}[a_u(B(z'))]$ costs one pass over the members instead of one over pairs.
"""

import functools

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.expectation import box

GRID_NODES = {1: (128, 512), 2: (128, 256)}  # by behavior dimensions: a grid for most, and one for outliers
GRID_SPACING = 0.5  # in bandwidths; see the module's error bound
GRID_MARGIN = 3.0  # in bandwidths: exp(-2 * 3^2) of a feature product lies beyond it
TILE_ROWS = 64
# A GPU's default for float32 products keeps 10 bits: too few for the density of an outlier.
EXACT = jax.lax.Precision.HIGHEST


def kernel_density(
    behavior: Array, log_prob: Array, valid: Array, bandwidth: float | Array, *, leave_one_out: bool = False
) -> Array:
    """The density at each member, up to the kernel's normalization, differentiable in ``log_prob``.

    Args:
        behavior: (num_members, num_behaviors), finite also where invalid.
        log_prob: (num_members,) log-probabilities of the members.
        valid: (num_members,) the members that count.
        bandwidth: the kernel's standard deviation.
        leave_one_out: whether a member's own kernel is left out of its density.

    Returns:
        (num_members,) at most 1.
    """
    behavior = jax.lax.stop_gradient(behavior) / bandwidth
    if leave_one_out or behavior.shape[1] > 2:
        # Leaving one out by subtracting it from the grid's sum would cancel every digit of an outlier's density.
        return _direct(behavior, log_prob, valid, leave_one_out)
    lowest = jnp.min(jnp.where(valid[:, None], behavior, jnp.inf), axis=0)
    highest = jnp.max(jnp.where(valid[:, None], behavior, -jnp.inf), axis=0)
    sizes = GRID_NODES[behavior.shape[1]]
    reaches = (jnp.array(sizes) - 1) * GRID_SPACING - 2 * GRID_MARGIN
    too_small = jnp.sum(jnp.max(highest - lowest) > reaches)
    middle = jnp.where(jnp.isfinite(lowest), (lowest + highest) / 2, 0)
    # Checkpointed: on the way back a branch is computed again, or all of them would keep room for their features.
    ways = [jax.checkpoint(functools.partial(_grid, num_nodes=size)) for size in sizes]
    ways.append(functools.partial(_direct, leave_one_out=False))
    return jax.lax.switch(_largest(too_small), ways, behavior - middle, log_prob, valid)


def log_kernel_volume(bandwidth: float | Array, num_behaviors: int) -> Array:
    """The log of the kernel's integral: what turns the kernel mean into a density."""
    return num_behaviors * (0.5 * jnp.log(2 * jnp.pi) + jnp.log(bandwidth))


def _direct(behavior: Array, log_prob: Array, valid: Array, leave_one_out: bool) -> Array:
    num_members, num_behaviors = behavior.shape
    ratio = _weights(log_prob, valid)
    members = jnp.arange(num_members)

    @jax.checkpoint  # the kernel is computed again on the way back, not kept: O(n) memory for the gradient too
    def density_of(tile: tuple[Array, Array]) -> Array:
        points, indices = tile
        # Written per dimension: (tile, num_members) arrays vectorize, a short last axis would not.
        squares = sum((points[:, j, None] - behavior[:, j]) ** 2 for j in range(num_behaviors))
        kernel = jnp.exp(-0.5 * squares)
        if leave_one_out:
            kernel = jnp.where(indices[:, None] == members, 0, kernel)
        return jnp.matmul(kernel, ratio, precision=EXACT)

    padding = -num_members % TILE_ROWS
    points = jnp.pad(behavior, ((0, padding), (0, 0))).reshape(-1, TILE_ROWS, num_behaviors)
    indices = jnp.arange(num_members + padding).reshape(-1, TILE_ROWS)
    density = jax.lax.map(density_of, (points, indices)).reshape(-1)[:num_members]
    count = jnp.sum(valid)
    return density * count / jnp.maximum(count - 1, 1) if leave_one_out else density


def _grid(behavior: Array, log_prob: Array, valid: Array, num_nodes: int) -> Array:
    nodes = (jnp.arange(num_nodes) - (num_nodes - 1) / 2) * GRID_SPACING
    norm = (GRID_SPACING / jnp.sqrt(jnp.pi / 2)) ** 0.5
    features = norm * jnp.exp(-((behavior[:, :, None] - nodes) ** 2))  # (num_members, num_behaviors, nodes)
    ratio = _weights(log_prob, valid)
    if behavior.shape[1] == 1:
        mass = jnp.matmul(ratio, features[:, 0], precision=EXACT)
        return jnp.matmul(features[:, 0], mass, precision=EXACT)
    mass = jnp.matmul((ratio[:, None] * features[:, 0]).T, features[:, 1], precision=EXACT)
    return jnp.sum(jnp.matmul(features[:, 0], mass, precision=EXACT) * features[:, 1], axis=1)


def _weights(log_prob: Array, valid: Array) -> Array:
    """What each member adds to an expectation: `expect(values, log_prob, where=valid)` as one product."""
    return jnp.where(valid, box(log_prob), 0) / jnp.maximum(jnp.sum(valid), 1)


@jax.custom_batching.custom_vmap
def _largest(level: Array) -> Array:
    """The largest level in the whole batch: with a level of its own for each, `switch` would compute every branch."""
    return level


@_largest.def_vmap
def _largest_vmap(axis_size: int, in_batched: list[bool], level: Array) -> tuple[Array, bool]:
    del axis_size, in_batched
    return _largest(jnp.max(level, axis=0)), False
