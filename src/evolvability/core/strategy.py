"""Evolvability ES as pure functions: sample, weigh, ascend. `evolvability.training.generation` puts them together."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from evolvability.core.keys import Purpose, key_for, noise_key
from evolvability.core.objectives import Objective, largest_share, raw_variance, repeatability, sample_weights
from evolvability.core.populations import Population
from evolvability.core.shaping import masked_mean
from evolvability.core.stateful_objectives import StatefulObjective, center_outcome, lifted
from evolvability.core.types import Outcome, Parameters, PyTree, Sample


class State(NamedTuple):
    """What the next generation needs, and nothing else. Checkpoints hold it by the names of these fields."""

    key: Array
    """The run's key. It never changes: randomness is addressed by (key, generation, index)."""
    generation: Array
    """How many generations are done."""
    parameters: Parameters
    """The population's learned parameters."""
    optimizer: optax.OptState
    """The optimizer's own state."""
    memory: PyTree
    """What the task carries between generations."""
    history: PyTree = ()
    """What the objective carries between generations, where it has a history."""


class Info(NamedTuple):
    """Metrics of one generation, for people; nothing is computed from them. docs/run-folder.md explains each field."""

    objective: Array
    """The objective's value."""
    variance: Array
    """The sum over dimensions of the variances of behavior, over members and episodes."""
    repeatability: Array
    """The share of that variance that lies between members; nan where each has one episode."""
    outlier: Array
    """The largest share of a dimension's squared deviations that one member holds."""
    distance: Array
    """The mean distance of behaviors from the origin."""
    fitness_mean: Array
    """The mean fitness."""
    fitness_max: Array
    """The highest fitness."""
    gradient_norm: Array
    """The norm of the gradient, before L2 and the optimizer."""
    center_norm: Array
    """The norm of all centers that this generation was drawn around."""
    sigma: Array
    """The standard deviation of the population; where it is learned, the mean over parameters."""
    num_invalid: Array
    """How many members broke down."""
    num_steps: Array
    """The simulated steps of all members."""


class Algorithm(NamedTuple):
    """A strategy as pure functions; ``jit`` them once, in the driver."""

    init: Callable[..., State]
    """`(key, centers, memory) -> State`, with starting means of shape (num_components, num_params)."""
    ask: Callable[..., Sample]
    """`(state, draws) -> Sample`, the members to evaluate; default: all of them."""
    remember: Callable[[State, Outcome], State]
    """`(state, outcome) -> State`, with what the objective is to remember of this generation."""
    weigh: Callable[[State, Outcome], tuple[Array, Array]]
    """`(state, outcome) -> (weights, value)`: one weight per member, and the objective's value."""
    ascend: Callable[[State, Parameters], State]
    """`(state, gradient) -> State`, one optimizer step; the generation is done."""
    describe: Callable[[State, Outcome, Array, Parameters], Info]
    """`(state, outcome, value, gradient) -> Info`, the generation's metrics."""


def evolvability_es(
    population: Population,
    objective: Objective | StatefulObjective,
    optimizer: optax.GradientTransformation,
    *,
    population_size: int,
    l2: float = 0.0,
    baseline: bool = True,
) -> Algorithm:
    """Natural evolution strategy that ascends any objective over the population's behaviors.

    Args:
        population: the distribution members are drawn from.
        objective: what to maximize: `max_variance`, `max_entropy`, `mean_fitness`, a weighted sum, one with a history
            such as `ns_es`, or your own.
        optimizer: any optax optimizer.
        population_size: members per generation.
        l2: weight decay of the center, added to the gradient before the optimizer.
        baseline: subtract the mean weight. The score's mean is zero, so the gradient's expectation stays (up to the
            factor 1 - 1/n) and its noise shrinks. For mirrored pairs of one normal nothing changes.
    """
    draws = population.draws(population_size)
    stateful = lifted(objective)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        parameters = population.init(key_for(Purpose.START, key), centers)
        return State(key, jnp.zeros((), jnp.int32), parameters, optimizer.init(parameters), memory, stateful.init())

    def remember(state: State, outcome: Outcome) -> State:
        # Drawn again from their addresses, which takes no noise: members may be on other processes.
        component = population.components(noise_key(state.key), state.generation, draws)
        component = jnp.repeat(component, population.num_signs)
        centers = center_outcome(outcome, component, population.num_components)
        return state._replace(history=stateful.remember(state.history, centers))

    def weigh(state: State, outcome: Outcome) -> tuple[Array, Array]:
        weights, value = sample_weights(stateful.at(state.history, state.generation), outcome)
        # Invalid members have the weight zero: this is the mean over the valid ones.
        mean = jnp.sum(weights) / jnp.maximum(jnp.sum(outcome.valid), 1)
        # Zero again: the baseline must not give invalid members a pull.
        return jnp.where(outcome.valid, weights - baseline * mean, 0), value

    def ascend(state: State, gradient: Parameters) -> State:
        gradient = gradient._replace(center=gradient.center - l2 * state.parameters.center)
        descent = jax.tree.map(jnp.negative, gradient)  # Negated: optax descends.
        updates, optimizer_state = optimizer.update(descent, state.optimizer, state.parameters)
        parameters = optax.apply_updates(state.parameters, updates)
        return state._replace(generation=state.generation + 1, parameters=parameters, optimizer=optimizer_state)

    return Algorithm(init, sampler(population, draws), remember, weigh, ascend, partial(describe, population))


def sampler(population: Population, all_draws: Array) -> Callable[..., Sample]:
    """``(state, draws) -> Sample``: members are drawn anew from their address whenever they are asked for."""

    def ask(state: State, draws: Array = all_draws) -> Sample:
        return population.sample(noise_key(state.key), state.parameters, state.generation, draws)

    return ask


def describe(population: Population, state: State, outcome: Outcome, value: Array, gradient: Parameters) -> Info:
    """The diagnostics of one generation; ``state`` is the one that it was drawn from."""
    return Info(
        objective=value,
        gradient_norm=jnp.linalg.norm(gradient.center),
        center_norm=jnp.linalg.norm(state.parameters.center),
        sigma=jnp.mean(population.scale(state.parameters, state.generation)),
        **describe_members(outcome),
    )


def describe_members(outcome: Outcome) -> dict[str, Array]:
    """The diagnostics that follow from what members did, whatever the method."""
    valid, episodes = outcome.valid, outcome.by_episode()
    return {
        "variance": raw_variance(outcome),
        "repeatability": repeatability(outcome),
        "outlier": largest_share(episodes),
        "distance": masked_mean(jnp.linalg.norm(episodes.behavior, axis=1), episodes.valid),
        "fitness_mean": masked_mean(outcome.fitness, valid),
        "fitness_max": jnp.max(jnp.where(valid, outcome.fitness, -jnp.inf)),
        "num_invalid": jnp.sum(~valid),
        "num_steps": jnp.sum(outcome.num_steps),
    }
