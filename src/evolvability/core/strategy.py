"""Evolvability ES, assembled: sample, evaluate, weigh, ascend."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax
from jax import Array

from evolvability.core.objectives import Objective, raw_entropy, raw_variance, sample_weights
from evolvability.core.populations import Population
from evolvability.core.stateful_objectives import StatefulObjective, center_outcome, lifted
from evolvability.core.types import Cloud, Outcome, PyTree, Sample
from evolvability.tasks.base import Task


class State(NamedTuple):
    """What the next generation needs, and nothing else.

    Attributes:
        key: the run's key. It never changes: randomness is addressed by (key, generation, index).
        generation: how many generations are done.
        cloud: the population's learned parameters.
        optimizer: the optimizer's own state.
        memory: what the task carries between generations.
        history: what the objective does, where it has a history.
    """

    key: Array
    generation: Array
    cloud: Cloud
    optimizer: optax.OptState
    memory: PyTree
    history: PyTree = ()


class Info(NamedTuple):
    """What a person wants to read about one generation. Never read back. Each field is explained in docs/metrics.md."""

    objective: Array
    variance: Array
    entropy: Array
    distance: Array
    fitness_mean: Array
    fitness_max: Array
    gradient_norm: Array
    center_norm: Array
    sigma: Array
    num_invalid: Array
    num_steps: Array


class Algorithm(NamedTuple):
    """A strategy as pure functions; ``jit`` them once, in the driver.

    Attributes:
        draws: (num_draws,) the draws of a whole population.
        init: ``(key, centers, memory) -> State``, with starting means of shape (num_components, num_params).
        ask: ``(state, draws) -> Sample``, the members to evaluate; all of them unless draws are given.
        remember: ``(state, outcome) -> State``, with what the objective is to remember of this generation.
        weigh: ``(state, outcome) -> (weights, value)``, how much each member pulls.
        ascend: ``(state, gradient) -> State``, one optimizer step.
        tell: ``(state, sample, outcome) -> (State, Info)``: remember, weigh, sum the gradient, ascend.
        tell_in_chunks: ``(state, chunks, outcome) -> (State, Info)``, likewise, but it draws the noise anew, one chunk
            at a time; chunks: (num_chunks, draws a chunk).
    """

    draws: Array
    init: Callable[..., State]
    ask: Callable[..., Sample]
    remember: Callable[[State, Outcome], State]
    weigh: Callable[[State, Outcome], tuple[Array, Array]]
    ascend: Callable[[State, Cloud], State]
    tell: Callable[[State, Sample, Outcome], tuple[State, Info]]
    tell_in_chunks: Callable[[State, Array, Outcome], tuple[State, Info]]


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
        population_size: members a generation.
        l2: pull of the center towards zero, added to the gradient before the optimizer.
        baseline: subtract the mean weight. The score's mean is zero, so the gradient's expectation stays (up to the
            factor 1 - 1/n) and its noise shrinks. For mirrored pairs of one normal nothing changes.
    """
    all_draws = population.draws(population_size)
    stateful = lifted(objective)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        cloud = population.init(jax.random.fold_in(key, 2), centers)
        return State(key, jnp.zeros((), jnp.int32), cloud, optimizer.init(cloud), memory, stateful.init())

    def ask(state: State, draws: Array = all_draws) -> Sample:
        return population.sample(noise_key(state.key), state.cloud, state.generation, draws)

    def remember(state: State, outcome: Outcome) -> State:
        component = population.components(noise_key(state.key), state.generation, all_draws)
        component = jnp.repeat(component, population.num_signs)
        centers = center_outcome(outcome, component, population.num_components)
        return state._replace(history=stateful.remember(state.history, centers))

    def weigh(state: State, outcome: Outcome) -> tuple[Array, Array]:
        weights, value = sample_weights(stateful.at(state.history, state.generation), outcome)
        mean = jnp.sum(weights) / jnp.maximum(jnp.sum(outcome.valid), 1)
        return jnp.where(outcome.valid, weights - baseline * mean, 0), value

    def ascend(state: State, gradient: Cloud) -> State:
        gradient = gradient._replace(center=gradient.center - l2 * state.cloud.center)
        descent = jax.tree.map(jnp.negative, gradient)  # Negated: optax descends.
        updates, optimizer_state = optimizer.update(descent, state.optimizer, state.cloud)
        cloud = optax.apply_updates(state.cloud, updates)
        return state._replace(generation=state.generation + 1, cloud=cloud, optimizer=optimizer_state)

    def tell(state: State, sample: Sample, outcome: Outcome) -> tuple[State, Info]:
        state = remember(state, outcome)
        weights, value = weigh(state, outcome)
        gradient = population.gradient(sample, weights)
        return ascend(state, gradient), describe(sample, outcome, value, gradient)

    def tell_in_chunks(state: State, chunks: Array, outcome: Outcome) -> tuple[State, Info]:
        state = remember(state, outcome)
        weights, value = weigh(state, outcome)

        def add(total: Cloud, chunk: tuple[Array, Array]) -> tuple[Cloud, None]:
            draws, weights = chunk
            return jax.tree.map(jnp.add, total, population.gradient(ask(state, draws), weights)), None

        nothing = jax.tree.map(jnp.zeros_like, state.cloud)
        total, _ = jax.lax.scan(add, nothing, (chunks, weights.reshape(len(chunks), -1)))
        gradient = jax.tree.map(lambda leaf: leaf / len(chunks), total)  # each chunk's is a mean over its members
        return ascend(state, gradient), describe(ask(state, all_draws[:1]), outcome, value, gradient)

    return Algorithm(all_draws, init, ask, remember, weigh, ascend, tell, tell_in_chunks)


def start(algorithm: Any, task: Task, num_components: int, key: Array) -> Any:
    """The first State of a run, of any method with an ``init``: each component starts at its own ``task.init``."""
    key_run, key_start = jax.random.split(key)
    centers = jax.vmap(task.init)(jax.random.split(key_start, num_components))
    return algorithm.init(key_run, centers, task.memory)


def step(algorithm: Algorithm, task: Task, state: State) -> tuple[State, Info, Outcome]:
    """One generation: sample, evaluate, weigh, ascend."""
    sample = algorithm.ask(state)
    outcome, seen = task.evaluate(episode_key(state), sample, state.memory)
    state, info = algorithm.tell(state, sample, outcome)
    return state._replace(memory=task.remember(state.memory, seen)), info, outcome


def step_in_chunks(algorithm: Algorithm, task: Task, num_chunks: int, state: State) -> tuple[State, Info, Outcome]:
    """One generation with one chunk of the population in memory at a time; its noise is drawn twice."""
    key, memory = episode_key(state), state.memory
    chunks = algorithm.draws.reshape(num_chunks, -1)
    in_turn = _loop if task.on_host else jax.lax.map
    outcomes, seen = in_turn(lambda draws: task.evaluate(key, algorithm.ask(state, draws), state.memory), chunks)
    outcome = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), outcomes)
    for chunk in range(num_chunks):
        memory = task.remember(memory, jax.tree.map(lambda leaf, chunk=chunk: leaf[chunk], seen))
    state, info = algorithm.tell_in_chunks(state, chunks, outcome)
    return state._replace(memory=memory), info, outcome


def compiled_parts(algorithm: Algorithm) -> Algorithm:
    """An algorithm for tasks on the host, whose steps cannot be compiled as a whole."""
    ask, tell, tell_in_chunks = (jax.jit(part) for part in (algorithm.ask, algorithm.tell, algorithm.tell_in_chunks))
    return algorithm._replace(ask=ask, tell=tell, tell_in_chunks=tell_in_chunks)


def _loop(function: Callable[[Array], PyTree], rows: Array) -> PyTree:
    """Like `jax.lax.map`, for a function that is ordinary Python."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *[function(row) for row in rows])


def noise_key(key: Array) -> Array:
    """The part of a run's key that the members' noise is addressed by."""
    return jax.random.fold_in(key, 0)


class Addressed(Protocol):
    """What has a run's key and a generation: a State, for one."""

    @property
    def key(self) -> Array:
        """The run's key."""

    @property
    def generation(self) -> Array | int:
        """The generation to be evaluated."""


def episode_key(state: Addressed) -> Array:
    """The key of this generation's episodes."""
    return jax.random.fold_in(jax.random.fold_in(state.key, 1), state.generation)


def describe(sample: Sample, outcome: Outcome, value: Array, gradient: Cloud) -> Info:
    """The diagnostics of one generation."""
    valid = outcome.valid
    num_valid = jnp.maximum(jnp.sum(valid), 1)
    distance = jnp.linalg.norm(jnp.where(valid[:, None], outcome.behavior, 0), axis=1)
    return Info(
        objective=value,
        variance=raw_variance(outcome),
        entropy=raw_entropy(outcome),
        distance=jnp.sum(distance) / num_valid,
        fitness_mean=jnp.sum(jnp.where(valid, outcome.fitness, 0)) / num_valid,
        fitness_max=jnp.max(jnp.where(valid, outcome.fitness, -jnp.inf)),
        gradient_norm=jnp.linalg.norm(gradient.center),
        center_norm=jnp.linalg.norm(sample.center),
        sigma=jnp.mean(sample.scale),
        num_invalid=jnp.sum(~valid),
        num_steps=jnp.sum(outcome.num_steps),
    )
