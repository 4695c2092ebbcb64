r"""Objectives that change as a run goes on: by what was seen before, or by the generation's number.

A `StatefulObjective` has a history. At any moment its history and the generation's number make it an ordinary
objective, ``(outcome, log_prob) -> scalar``, whose weights come from automatic differentiation like all others. An
archive, an adaptive weight and a schedule all fit this one interface, and the strategy knows of none of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.objectives import Objective
from evolvability.core.ramp import Ramp
from evolvability.core.types import Outcome, PyTree


class StatefulObjective(NamedTuple):
    """An objective with a history."""

    init: Callable[[], PyTree]
    """`() -> history`, any pytree of arrays; it is saved with the State, and batched over seeds."""
    remember: Callable[[PyTree, Outcome], PyTree]
    """`(history, centers) -> history`, once per generation, before its members are weighed; centers: what each
    component's center does, an Outcome with one row per component (see `center_outcome`)."""
    at: Callable[[PyTree, Array], Objective]
    """`(history, generation) -> Objective`, the objective of that generation."""


Weight = float | Array | Ramp | Callable[[Array], Array]
"""A number, or a schedule of it over generations: a `Ramp`, any of optax's."""


def lifted(objective: Objective | StatefulObjective) -> StatefulObjective:
    """Any objective as a stateful one; an ordinary one has no history and is the same at every moment."""
    if isinstance(objective, StatefulObjective):
        return objective
    # `tuple()` is the empty history.
    return StatefulObjective(tuple, lambda history, centers: history, lambda history, generation: objective)


def weighted_sum(*terms: tuple[Weight, Objective | StatefulObjective]) -> Any:
    r"""A weighted sum of objectives over the same members, $J_g = \sum_i \lambda_i(g)\, J_i$: no further evaluation.

    Args:
        *terms: pairs of a weight, a number or a schedule such as `Ramp`, and an objective.

    Returns:
        An Objective; a StatefulObjective where a term has a history, or a weight a schedule.

    Examples:
        >>> from evolvability.core.objectives import max_entropy, mean_fitness
        >>> objective = weighted_sum((1.0, mean_fitness()), (0.1, max_entropy()))
        >>> fading = weighted_sum((1.0, mean_fitness()), (Ramp(1.0, 0.0, 50), max_entropy()))
    """
    if not terms:
        raise ValueError("weighted_sum: at least one (weight, objective) pair is expected, got none.")
    weights, parts = [weight for weight, _ in terms], [lifted(objective) for _, objective in terms]

    def remember(history: PyTree, centers: Outcome) -> PyTree:
        return tuple(part.remember(own, centers) for part, own in zip(parts, history, strict=True))

    def at(history: PyTree, generation: Array) -> Objective:
        now = [weight(generation) if callable(weight) else weight for weight in weights]
        objectives = [part.at(own, generation) for part, own in zip(parts, history, strict=True)]
        return _sum(now, objectives)

    if any(map(callable, weights)) or any(isinstance(objective, StatefulObjective) for _, objective in terms):
        return StatefulObjective(lambda: tuple(part.init() for part in parts), remember, at)
    return _sum(weights, [objective for _, objective in terms])


def _sum(weights: Sequence[Any], objectives: Sequence[Any]) -> Objective:
    def objective(outcome: Outcome, log_prob: Array) -> Array:
        values = (weight * term(outcome, log_prob) for weight, term in zip(weights, objectives, strict=True))
        return sum(values, start=jnp.zeros(()))

    return objective


def center_outcome(outcome: Outcome, component: Array, num_components: int) -> Outcome:
    r"""What the centers do, estimated by their members: $\mathbb{E}_z[B(z)]$ and $\mathbb{E}_z[f(z)]$ per component.

    An evolution strategy climbs expectations over its members, so this is the center's behavior as it sees it; and it
    takes no further evaluation, on whatever the members were evaluated. Without any valid member it is invalid.
    """
    own = (component[:, None] == jnp.arange(num_components)) & outcome.valid[:, None]
    count = jnp.sum(own, axis=0)

    def mean(values: Array) -> Array:
        # Not a product: an invalid member may hold nan.
        return jnp.sum(jnp.where(own, values[:, None], 0), axis=0) / jnp.maximum(count, 1)

    behavior = jax.vmap(mean, 1, 1)(outcome.behavior)
    steps = jnp.sum(jnp.where(own, outcome.num_steps[:, None], 0), axis=0)
    return Outcome(behavior, mean(outcome.fitness), count > 0, steps)
