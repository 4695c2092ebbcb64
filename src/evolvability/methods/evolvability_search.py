r"""Evolvability search: a genetic algorithm that selects for evolvability as it counts it.

Each parent has the same number of offspring, and its fitness is how many of them behave distinctly. The best parent
lives on as it is; the others are succeeded by mutations of the winners of tournaments. A parent's evolvability is
judged by its own offspring alone, so that every generation evaluates (parents x offspring) members and learns one
number per parent: what Evolvability ES replaces by one weight per member.

Reference: Mengistu, Lehman and Clune, *Evolvability search: directly selecting for evolvability in order to study and
produce it* (2016).
"""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.keys import Purpose, key_for
from evolvability.core.populations import Population
from evolvability.core.strategy import Algorithm, State, describe, sampler
from evolvability.core.types import Outcome, Parameters, PyTree, Sample

TOURNAMENT = 3  # parents drawn at random, of whom the most evolvable has a successor


def in_turn(population: Population) -> Population:
    """The same population, whose draws belong to one component after the other, so that all have equally many.

    It has no gradient: parents are not moved but succeeded.
    """

    def components(key: Array, generation: Array | int, draws: Array) -> Array:
        del key, generation
        return draws % population.num_components

    def sample(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Sample:
        drawn = population.sample(key, parameters, generation, draws)
        # Noise does not depend on the component, so another can be put in its place.
        return drawn._replace(component=components(key, generation, draws))

    def gradient(sample: Sample, weights: Array) -> Parameters:
        del weights
        return Parameters(jnp.zeros_like(sample.center))

    return replace(population, components=components, sample=sample, gradient=gradient)


def num_distinct(behavior: Array, valid: Array, threshold: float) -> Array:
    """How many behaviors are distinct: one after the other, those farther than a threshold from all counted before.

    behavior: (num_offspring, num_behaviors); valid: (num_offspring,) those that count at all.

    Examples:
        >>> int(num_distinct(jnp.array([[0.0], [0.4], [1.0], [1.3], [2.0]]), jnp.ones(5, bool), 0.5))
        3
    """
    squares = jnp.sum((behavior[:, None] - behavior) ** 2, axis=-1)

    def count(kept: Array, index: Array) -> tuple[Array, None]:
        # It is not kept yet itself, so its distance of zero to itself does not matter.
        is_new = valid[index] & ~jnp.any(kept & (squares[index] < threshold**2))
        return kept.at[index].set(is_new), None

    kept, _ = jax.lax.scan(count, jnp.zeros(len(behavior), bool), jnp.arange(len(behavior)))
    return jnp.sum(kept)


def evolvability_search(population: Population, *, population_size: int, threshold: float) -> Algorithm:
    """Evolvability search, with the parts of any strategy: parents are the population's components.

    What it remembers is how many distinct offspring each parent had, and to ascend is to reproduce; the weights of its
    members are zero, since no gradient is climbed. After a generation, the first parent is the best of the last.

    The population has one component per parent, which gets offspring `in_turn`; its size is that of all offspring.
    Those that differ by less than the threshold do the same, in units of behavior.
    """
    num_parents, num_signs = population.num_components, population.num_signs
    if population_size % (num_parents * num_signs):
        multiple = num_parents * num_signs
        raise ValueError(f"population_size must be a multiple of {multiple}, to share evenly, got {population_size}.")
    draws = population.draws(population_size)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        parameters = population.init(key_for(Purpose.START, key), centers)
        counts = jnp.zeros(num_parents, jnp.int32)
        return State(key, jnp.zeros((), jnp.int32), parameters, (), memory, counts)

    def remember(state: State, outcome: Outcome) -> State:
        def families(values: Array) -> Array:
            """(num_parents, num_offspring, ...): draws take turns, and mirrored offspring are neighbors."""
            by_turn = values.reshape(-1, num_parents, num_signs, *values.shape[1:])
            return jnp.swapaxes(by_turn, 0, 1).reshape(num_parents, -1, *values.shape[1:])

        count = jax.vmap(partial(num_distinct, threshold=threshold))
        return state._replace(history=count(families(outcome.behavior), families(outcome.valid)))

    def weigh(state: State, outcome: Outcome) -> tuple[Array, Array]:
        return jnp.zeros(len(outcome.valid)), jnp.max(state.history).astype(jnp.float32)

    def ascend(state: State, gradient: Parameters) -> State:
        del gradient
        key = jax.random.fold_in(key_for(Purpose.REPRODUCTION, state.key), state.generation)
        key_entrants, key_noise = jax.random.split(key)
        entrants = jax.random.randint(key_entrants, (num_parents, TOURNAMENT), 0, num_parents)
        winners = jnp.take_along_axis(entrants, jnp.argmax(state.history[entrants], axis=1)[:, None], axis=1)[:, 0]
        # Successors are drawn as offspring are: the mutations that are counted are those that are inherited.
        # Draws take turns, so draw i is a mutation of winner i.
        chosen = state.parameters._replace(center=state.parameters.center[winners])
        drawn = population.sample(key_noise, chosen, state.generation, jnp.arange(num_parents))
        best = state.parameters.center[jnp.argmax(state.history)]
        # One successor per draw: of mirrored ones, the first.
        centers = drawn.members()[::num_signs].at[0].set(best)
        return state._replace(generation=state.generation + 1, parameters=chosen._replace(center=centers))

    return Algorithm(init, sampler(population, draws), remember, weigh, ascend, partial(describe, population))
