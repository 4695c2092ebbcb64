"""One generation: evaluate, remember, weigh, ascend. Where it is evaluated is all that differs from run to run.

A `Where` knows how a State becomes an Outcome, and how weights become a gradient: in one piece (`whole`), with little
memory (`in_chunks`), on workers (`on_workers`), step by step with drawn actions (`exploring`), or by somebody else
(`with_outcome`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.keys import episode_key
from evolvability.core.populations import Population
from evolvability.core.strategy import Algorithm, Info, State
from evolvability.core.types import Outcome, Parameters, PyTree
from evolvability.methods.policy_gradient import Exploration, action_score, explore, outcome_at, weights_over_time
from evolvability.tasks.base import Task
from evolvability.tasks.normalizer import Moments, merge
from evolvability.tasks.simulators import absorb
from evolvability.workers.evaluator import Evaluator, name_invalid

Judge = Callable[[Outcome], Outcome]  # puts the run's goal in the place of fitness


class Where(NamedTuple):
    """Where, and how, the members of a generation are evaluated."""

    evaluate: Callable[[State], tuple[Outcome, PyTree, Any]]
    """`(state) -> (outcome, memory, kept)`: what all members did, the task's memory afterwards, and whatever `gradient`
    needs of it."""
    gradient: Callable[[State, Array, Any], Parameters]
    """`(state, weights, kept) -> Parameters`, the ascent direction."""


def step(algorithm: Algorithm, where: Where, state: State) -> tuple[State, Info, Outcome]:
    """One generation."""
    outcome, memory, kept = where.evaluate(state)
    # Before weighing: an archive has this generation's centers when its members are judged.
    state = algorithm.remember(state, outcome)
    weights, value = algorithm.weigh(state, outcome)
    gradient = where.gradient(state, weights, kept)
    # Before ascending: it is about the center that members were drawn around.
    info = algorithm.describe(state, outcome, value, gradient)
    # The new memory from now on: all members of a generation saw by the old one.
    return algorithm.ascend(state, gradient)._replace(memory=memory), info, outcome


def start(algorithm: Any, task: Task, num_components: int, key: Array) -> Any:
    """The first State of a run, of any method with an ``init``: each component starts at its own ``task.init``."""
    key_run, key_start = jax.random.split(key)
    centers = jax.vmap(task.init)(jax.random.split(key_start, num_components))
    return algorithm.init(key_run, centers, task.memory)


def whole(algorithm: Algorithm, population: Population, task: Task) -> Where:
    """All members at once."""

    def evaluate(state: State) -> tuple[Outcome, PyTree, Any]:
        sample = algorithm.ask(state)
        outcome, seen = task.evaluate(episode_key(state.key, state.generation), sample, state.memory)
        return outcome, task.remember(state.memory, seen), sample

    return Where(evaluate, lambda state, weights, sample: population.gradient(sample, weights))


def with_outcome(algorithm: Algorithm, population: Population, outcome: Outcome) -> Where:
    """Elsewhere, already: this is what members did."""
    return Where(
        # Drawn anew from their address: nothing has to be carried from asking to telling.
        lambda state: (outcome, state.memory, algorithm.ask(state)),
        lambda state, weights, sample: population.gradient(sample, weights),
    )


def in_chunks(algorithm: Algorithm, population: Population, task: Task, chunks: Array) -> Where:
    """One chunk of the population in memory at a time; its noise is drawn twice. chunks: (num_chunks, num_draws)."""
    in_turn = _loop if task.on_host else jax.lax.map

    def evaluate(state: State) -> tuple[Outcome, PyTree, Any]:
        # One key for all chunks: a member's own follows from its index (`Sample.member_keys`).
        key, memory = episode_key(state.key, state.generation), state.memory
        outcomes, seen = in_turn(lambda draws: task.evaluate(key, algorithm.ask(state, draws), state.memory), chunks)
        # Only afterwards: every chunk is evaluated with the memory that the generation began with.
        for chunk in range(len(chunks)):
            memory = task.remember(memory, _row(seen, chunk))
        # (num_chunks, members per chunk, ...) becomes (num_members, ...). No sample is kept: noise is drawn again.
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), outcomes), memory, ()

    def gradient(state: State, weights: Array, kept: Any) -> Parameters:
        def add(total: Parameters, chunk: tuple[Array, Array]) -> tuple[Parameters, None]:
            draws, weights = chunk
            return jax.tree.map(jnp.add, total, population.gradient(algorithm.ask(state, draws), weights)), None

        nothing = jax.tree.map(jnp.zeros_like, state.parameters)
        total, _ = jax.lax.scan(add, nothing, (chunks, weights.reshape(len(chunks), -1)))
        return jax.tree.map(lambda leaf: leaf / len(chunks), total)  # each chunk's is a mean over its members

    return Where(evaluate, gradient)


def exploring(
    algorithm: Algorithm, population: Population, exploration: Exploration, judge: Judge, *, by_actions: bool
) -> Where:
    """Step by step in a world, with drawn actions; the objective is climbed at every time that is watched.

    Actions are credited (``by_actions``, a policy gradient), or parameters, as in the other places.
    """

    def evaluate(state: State) -> tuple[Outcome, PyTree, Any]:
        sample = algorithm.ask(state)
        episodes = explore(exploration, episode_key(state.key, state.generation), sample, state.memory)
        # Statistics of observations alone are gathered in a world; any other memory stays as it was.
        memory = merge(state.memory, episodes.seen) if isinstance(state.memory, Moments) else state.memory
        return judge(outcome_at(episodes, exploration.world.num_steps)), memory, (sample, episodes)

    def gradient(state: State, weights: Array, kept: Any) -> Parameters:
        del weights  # of the episode's end, which may be none of the times that count
        sample, episodes = kept
        times = exploration.watched
        by_time = weights_over_time(lambda outcome: algorithm.weigh(state, judge(outcome))[0], episodes, times)
        if by_actions:
            return action_score(exploration, sample, episodes, by_time)
        # A member's parameters act at all times, so its weights add up.
        return population.gradient(sample, jnp.sum(by_time, axis=1))

    return Where(evaluate, gradient)


def on_workers(evaluator: Evaluator, judge: Judge, first_seed: int) -> Where:
    """On a pool of workers, for all seeds at once: so many seeds keep so many more workers busy.

    States, outcomes and weights have a seed axis in front; the algorithm's functions must be lifted by `seed_by_seed`.
    The first seed is for warnings that name a member's.
    """

    def evaluate(state: State) -> tuple[Outcome, PyTree, Any]:
        states = [_row(state, seed) for seed in range(len(state.generation))]
        broadcasts = [evaluator.broadcast(own) for own in states]
        parts = evaluator.evaluate(broadcasts)
        for seed, part in enumerate(parts, first_seed):
            name_invalid(part, int(state.generation[0]), seed)
        outcomes = [judge(jax.tree.map(jnp.asarray, part.outcome)) for part in parts]
        memories = [absorb(own.memory, part.seen) for own, part in zip(states, parts, strict=True)]
        return _stacked(outcomes), _stacked(memories), broadcasts

    def gradient(state: State, weights: Array, broadcasts: Any) -> Parameters:
        gradients = evaluator.gradient(broadcasts, list(weights))
        total: Parameters = _stacked(gradients)
        return total

    return Where(evaluate, gradient)


def seed_by_seed(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Like `vmap`, for a function that is ordinary Python; and each seed's bits are those it has alone.

    For a single seed of a compiled function, too: the program then does not pay for the axis.
    """

    def call(*batches: PyTree) -> PyTree:
        num_seeds = len(jax.tree.leaves(batches)[0])
        return _stacked([function(*_row(batches, seed)) for seed in range(num_seeds)])

    return call


def _loop(function: Callable[[Array], PyTree], rows: Array) -> PyTree:
    """Like `jax.lax.map`, for a function that is ordinary Python."""
    return _stacked([function(row) for row in rows])


# Compiled: a program per tree, not one per leaf.
@jax.jit
def _row(tree: PyTree, index: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[index], tree)


@jax.jit
def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
