r"""Novelty search by evolution strategies: NS-ES, NSR-ES and NSRA-ES, with an archive of where centers have been.

A behavior's novelty is its mean distance to the $k$ nearest behaviors in the archive $A$,

$$N(B, A) = \frac1k \sum_{a \in \mathrm{nearest}_k(B, A)} |B - a|.$$

NS-ES climbs $\mathbb{E}_z[N(B(z), A)]$, and each generation adds the behavior of its center to the archive.

Reference: Conti et al., *Improving exploration in evolution strategies for deep reinforcement learning via a population
of novelty-seeking agents* (2018).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax import Array

from evolvability.core.expectation import expect
from evolvability.core.objectives import Objective, mean_fitness
from evolvability.core.shaping import Shaping, centered_ranks, unshaped
from evolvability.core.stateful_objectives import StatefulObjective, weighted_sum
from evolvability.core.types import Outcome
from evolvability.methods.registry import AdaptiveNoveltyOptions

DEFAULTS = AdaptiveNoveltyOptions()


class Archive(NamedTuple):
    """Behaviors of the past; when it is full, a new one takes the place of the oldest."""

    behavior: Array
    """(size, num_behaviors) the behaviors that are kept."""
    added: Array
    """How many behaviors were added so far, those that were replaced included."""


def empty_archive(size: int, num_behaviors: int) -> Archive:
    """An archive that holds up to ``size`` behaviors."""
    return Archive(jnp.zeros((size, num_behaviors)), jnp.zeros((), jnp.int32))


def add(archive: Archive, behavior: Array, valid: Array) -> Archive:
    """The archive with some behaviors added, (num_new, num_behaviors), the valid ones of them.

    Examples:
        >>> archive = add(empty_archive(3, 1), jnp.array([[1.0], [2.0]]), jnp.array([True, False]))
        >>> archive.behavior[:, 0], int(archive.added)
        (Array([1., 0., 0.], dtype=float32), 1)
    """
    size = len(archive.behavior)
    places = (archive.added + jnp.cumsum(valid) - 1) % size
    places = jnp.where(valid, places, size)  # out of bounds, so dropped
    return Archive(archive.behavior.at[places].set(behavior, mode="drop"), archive.added + jnp.sum(valid))


def novelty(behavior: Array, archive: Archive, neighbors: int = DEFAULTS.neighbors) -> Array:
    """(num_members,) the mean distance of each behavior to its nearest in the archive; zero where that is empty.

    Where the archive has fewer than ``neighbors``, all of it counts. Behaviors are finite.
    On the host, by a k-d tree: much quicker than all distances on the device (see benchmarks/relatives.py).
    """
    shape = jax.ShapeDtypeStruct(behavior.shape[:1], jnp.float32)
    # It has no derivative, and needs none: objectives are differentiated by log-probabilities alone.
    return jax.pure_callback(
        lambda *arrays: _mean_distance(neighbors, *map(np.asarray, arrays)),
        shape,
        behavior,
        archive.behavior,
        archive.added,
        vmap_method="sequential",
    )


def _mean_distance(neighbors: int, behavior: Any, stored: Any, added: Any) -> Any:
    known = stored[: min(int(added), len(stored))]
    if not len(known):
        return np.zeros(len(behavior), np.float32)
    # As an array: for the plain number 1 the axis of neighbors would be missing.
    nearest = np.arange(1, min(neighbors, len(known)) + 1)
    distances, _ = scipy.spatial.cKDTree(known).query(behavior, nearest, workers=-1)
    return distances.mean(axis=1).astype(np.float32)


def ns_es(
    num_behaviors: int,
    *,
    neighbors: int = DEFAULTS.neighbors,
    archive_size: int = DEFAULTS.archive_size,
    fitness_shaping: Shaping = centered_ranks,
) -> StatefulObjective:
    r"""NS-ES, the mean novelty of behaviors against an archive of centers: $J = \mathbb{E}_z[N(B(z), A)]$.

    Args:
        num_behaviors: behavior dimensions of the task.
        neighbors: in the archive, whose distances count.
        archive_size: how many centers are kept, the newest.
        fitness_shaping: what is done to novelty; ranks, as in the paper.
    """
    for name, value in {"neighbors": neighbors, "archive_size": archive_size}.items():
        if value < 1:
            raise ValueError(f"{name} must be 1 or more, got {value}.")

    def remember(archive: Archive, centers: Outcome) -> Archive:
        return add(archive, centers.behavior, centers.valid)

    def at(archive: Archive, generation: Array) -> Objective:
        del generation

        def objective(outcome: Outcome, log_prob: Array) -> Array:
            found = novelty(unshaped(outcome.behavior, outcome.valid), archive, neighbors)
            return expect(fitness_shaping(found, outcome.valid), log_prob, where=outcome.valid)

        return objective

    return StatefulObjective(lambda: empty_archive(archive_size, num_behaviors), remember, at)


def nsr_es(num_behaviors: int, *, fitness_shaping: Shaping = centered_ranks, **settings: Any) -> StatefulObjective:
    r"""NSR-ES, novelty and fitness in equal parts: $J = \frac12 \mathbb{E}_z[f(z)] + \frac12 \mathbb{E}_z[N(B(z), A)]$.

    Each is ranked on its own, so that neither's units matter; settings: those of `ns_es`.
    """
    search = ns_es(num_behaviors, fitness_shaping=fitness_shaping, **settings)
    return weighted_sum((0.5, mean_fitness(fitness_shaping)), (0.5, search))


class Adapted(NamedTuple):
    """The history of NSRA-ES."""

    archive: Archive
    """The archive of behaviors."""
    weight: Array
    """The weight of fitness; novelty has the rest."""
    best: Array
    """The highest fitness of a center so far."""
    waited: Array
    """Generations since that rose, or since the weight last fell."""


def nsra_es(
    num_behaviors: int,
    *,
    patience: int = DEFAULTS.patience,
    change: float = 0.05,
    fitness_shaping: Shaping = centered_ranks,
    **settings: Any,
) -> StatefulObjective:
    r"""NSRA-ES, which turns to novelty when fitness stalls.

    $J = w\,\mathbb{E}_z[f(z)] + (1 - w)\,\mathbb{E}_z[N(B(z), A)]$, each ranked on its own. The weight $w$ starts at 1.
    It rises by ``change`` when a center's fitness exceeds the best so far, and falls by as much when that has not
    happened for ``patience`` generations; it stays between 0 and 1. Settings are those of `ns_es`.
    """
    if patience < 1:
        raise ValueError(f"patience must be 1 or more, got {patience}.")
    search = ns_es(num_behaviors, fitness_shaping=fitness_shaping, **settings)

    def init() -> Adapted:
        # With minus infinity the first generation is progress; the weight, clipped, stays at 1.
        return Adapted(search.init(), jnp.ones(()), jnp.full((), -jnp.inf), jnp.zeros((), jnp.int32))

    def remember(history: Adapted, centers: Outcome) -> Adapted:
        fitness = jnp.max(jnp.where(centers.valid, centers.fitness, -jnp.inf))
        better = fitness > history.best
        waited = jnp.where(better, 0, history.waited + 1)
        stalled = waited >= patience
        weight = jnp.clip(history.weight + change * better - change * stalled, 0, 1)
        archive = search.remember(history.archive, centers)
        return Adapted(archive, weight, jnp.maximum(history.best, fitness), jnp.where(stalled, 0, waited))

    def at(history: Adapted, generation: Array) -> Objective:
        novel = search.at(history.archive, generation)
        return weighted_sum((history.weight, mean_fitness(fitness_shaping)), (1 - history.weight, novel))

    return StatefulObjective(init, remember, at)
