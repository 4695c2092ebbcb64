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


class Step(NamedTuple):
    """What a trust-region step did.

    Attributes:
        position: (num_params,) where it ended.
        gain: L there.
        divergence: D there; at most the bound.
        backtracks: how many times the step was shortened; as many as were allowed, and more, where none was taken.
        accepted: whether a step was taken.
    """

    position: Array
    gain: Array
    divergence: Array
    backtracks: Array
    accepted: Array


def conjugate_gradient(
    product: Callable[[Array], Array], target: Array, *, iterations: int, damping: float = 0.0
) -> tuple[Array, Array]:
    r"""Solve $(A + \epsilon I) x = b$ for a symmetric positive semidefinite $A$ that is known by its products alone.

    Args:
        product: ``(vector) -> A vector``.
        target: (num_params,) the right-hand side, $b$.
        iterations: how many; with as many as $A$ has distinct eigenvalues the solution is exact.
        damping: $\epsilon$.

    Returns:
        $x$, and $b - (A + \epsilon I) x$, what is left to solve.

    Examples:
        >>> conjugate_gradient(lambda v: jnp.array([2.0, 4.0]) * v, jnp.array([1.0, 1.0]), iterations=2)[0].round(5)
        Array([0.5 , 0.25], dtype=float32)
    """

    def iterate(_: int, carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        solution, residual, direction, square = carry
        image = product(direction) + damping * direction
        curvature = direction @ image
        # Where nothing is left to solve, nothing moves: no division of zero by zero.
        length = jnp.where(curvature > 0, square / jnp.where(curvature > 0, curvature, 1), 0)
        residual = residual - length * image
        new_square = residual @ residual
        turn = jnp.where(square > 0, new_square / jnp.where(square > 0, square, 1), 0)
        return solution + length * direction, residual, residual + turn * direction, new_square

    first = (jnp.zeros_like(target), target, target, target @ target)
    return jax.lax.fori_loop(0, iterations, iterate, first)[:2]


def backtrack(
    evaluate: Callable[[Array], tuple[Array, Array]],
    position: Array,
    change: Array,
    *,
    bound: float | Array,
    steps: int,
    ratio: float,
) -> Step:
    """Take the longest of a step and its shortenings that gains, within the bound on divergence.

    Args:
        evaluate: ``(position) -> (gain, divergence)``; both are zero where the search starts.
        position: (num_params,) where it starts.
        change: (num_params,) the whole step.
        bound: on the divergence.
        steps: how many lengths to try, the whole one among them.
        ratio: of each length to the one before.
    """

    def going_on(now: Step) -> Array:
        return ~now.accepted & (now.backtracks < steps)

    def attempt(now: Step) -> Step:
        candidate = position + ratio**now.backtracks * change
        gain, divergence = evaluate(candidate)
        good = (gain > 0) & (divergence <= bound)  # false for nan
        zero = jnp.zeros_like(gain)
        return Step(
            jnp.where(good, candidate, position),
            jnp.where(good, gain, zero),
            jnp.where(good, divergence, zero),
            now.backtracks + ~good,
            good,
        )

    zero = jnp.zeros((), position.dtype)
    start = Step(position, zero, zero, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
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
        steps: of the line search.
        ratio: of the line search.
    """
    direction, left = conjugate_gradient(curvature, gradient, iterations=iterations, damping=damping)
    square = direction @ (gradient - left)  # the direction's curvature, damping included
    change = jnp.where(square > 0, jnp.sqrt(2 * bound / jnp.where(square > 0, square, 1)), 0) * direction
    return backtrack(evaluate, position, change, bound=bound, steps=steps, ratio=ratio)
