r"""Trust-region steps: the natural gradient by conjugate gradients, and a line search that keeps its promise.

A step maximizes a gain $L(x)$ near $x_0$ while a divergence $D(x)$, which is zero at $x_0$ with a zero gradient, stays
within $\delta$. With $g = \nabla L$ and $F = \nabla^2 D$ at $x_0$, the best step of the quadratic model is

$$\Delta = \sqrt{\frac{2 \delta}{s^\top F s}}\; s, \qquad F s = g,$$

and of $\Delta, \rho \Delta, \rho^2 \Delta, \dots$ the first is taken that truly gains and truly diverges by at most
$\delta$; none of them, if there is no such.

Reference: Schulman et al., *Trust Region Policy Optimization* (2015), appendix C.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.sparse.linalg import cg


class Step(NamedTuple):
    """What a trust-region step did."""

    position: Array
    """(num_params,) where it ended."""
    divergence: Array
    """The divergence there; at most the bound."""
    backtracks: Array
    """How many times the step was shortened; more than are allowed where no step was taken."""
    accepted: Array
    """Whether a step was taken."""


def backtrack(
    evaluate: Callable[[Array], tuple[Array, Array]],
    position: Array,
    change: Array,
    *,
    bound: float | Array,
    steps: int,
    ratio: float,
) -> Step:
    """Take the longest of a whole ``change`` and its shortenings that gains, within the bound on divergence."""

    def going_on(now: Step) -> Array:
        return ~now.accepted & (now.backtracks < steps)

    def attempt(now: Step) -> Step:
        candidate = position + ratio**now.backtracks * change
        gain, divergence = evaluate(candidate)
        good = (gain > 0) & (divergence <= bound)  # false for nan
        ended, diverged = jnp.where(good, candidate, position), jnp.where(good, divergence, 0.0)
        return Step(ended, diverged, now.backtracks + ~good, good)

    start = Step(position, jnp.zeros((), position.dtype), jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    return jax.lax.while_loop(going_on, attempt, start)


def trust_region_step(
    position: Array,
    gradient: Array,
    curvature: Callable[[Array], Array],
    evaluate: Callable[[Array], tuple[Array, Array]],
    *,
    bound: float | Array,
    iterations: int = 10,
    damping: float = 1e-5,
    steps: int = 15,
    ratio: float = 0.8,
) -> Step:
    """One step up a gain within a bound on a divergence.

    Args:
        position: (num_params,) where it starts.
        gradient: (num_params,) of the gain there.
        curvature: ``(vector) -> F vector`` with the divergence's second derivative there.
        evaluate: ``(position) -> (gain, divergence)``, both relative to the start.
        bound: on the divergence.
        iterations: of conjugate gradients.
        damping: added to the curvature.
        steps: how many lengths the line search tries, the whole one among them.
        ratio: of each length to the one before.
    """

    def damped(vector: Array) -> Array:
        return curvature(vector) + damping * vector

    # Until nothing is left to solve: beyond that, divisions of zero by zero would follow.
    direction, _ = cg(damped, gradient, tol=1e-10, maxiter=iterations)
    # The direction's curvature: what is left to solve is orthogonal to it.
    square = direction @ gradient
    change = jnp.where(square > 0, jnp.sqrt(2 * bound / jnp.where(square > 0, square, 1)), 0) * direction
    return backtrack(evaluate, position, change, bound=bound, steps=steps, ratio=ratio)
