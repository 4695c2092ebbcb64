"""Members of a run rebuilt from their addresses, and fresh mutations of its centers, to look at one by one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from threadpoolctl import threadpool_limits

from evolvability.core.cores import num_cores
from evolvability.core.errors import ConfigError, TaskError
from evolvability.core.keys import Purpose, episode_key, key_for, noise_key
from evolvability.core.types import Outcome, Sample, sample_of
from evolvability.runs.folder import Run
from evolvability.runs.picking import Parent, evaluator, parents_from
from evolvability.tasks.base import Task
from evolvability.tasks.replay import HostArray, Recording
from evolvability.tasks.simulators import Address, Trial, joined, part_of
from evolvability.workers.worker import writer

FRESH_TOGETHER = 20  # fresh mutations are evaluated so many at a time: the first are known while the others still walk


@dataclass(frozen=True)
class Brood:
    """Some members of a population, as a Sample has them, and the key of their episodes."""

    sample: Sample
    """The members, and those that share a draw with them."""
    wanted: HostArray
    """Where in the sample the members are that were asked for."""
    key: Array
    """The random key of the episodes."""
    addresses: tuple[Address, ...]
    """The addresses of the members that were asked for, from which a simulator's seeds follow."""


def watchable_task(run: Run) -> Task:
    """A run's task, to evaluate a few members where they are watched: on CPU cores, whatever the run was trained on."""
    options: Any = run.config.task_options
    if hasattr(options, "threads"):
        options = replace(options, threads=options.threads or num_cores())
    return run.make_task(options)


def parent_of(run: Run, task: Task, generation: int, seed_index: int = 0) -> Parent:
    """What a generation was drawn around, where that was kept; see `Run.rebuildable`."""
    if not 0 <= seed_index < len(run.seeds):
        raise ConfigError(f"{run.path} has {len(run.seeds)} seeds, numbered from 0 here, got {seed_index}.")
    arrays = run.drawn_around(generation)
    key = jax.random.wrap_key_data(jnp.asarray(arrays["key"][seed_index]))
    # The run's own key: that of its seed is another one where it started from a run.
    return replace(parents_from(arrays, run.config, task, generation, where=str(run.path))[seed_index], key=key)


def in_episode(brood: Brood, episode: int, episodes: int) -> Brood:
    """The same members, in one of their episodes."""
    if not 0 <= episode < episodes:
        raise ConfigError(f"Episodes are numbered from 0 to {episodes - 1} in this run, got {episode}.")
    if episodes == 1:
        return brood
    addresses = tuple(address._replace(episode=episode) for address in brood.addresses)
    return Brood(brood.sample.repeated(episodes), brood.wanted * episodes + episode, brood.key, addresses)


def members(parent: Parent, indices: Sequence[int], episode: int = 0) -> Brood:
    """Members of the generation, rebuilt from their addresses, in one of their episodes."""
    return in_episode(_members(parent, indices), episode, parent.config.episodes)


def _members(parent: Parent, indices: Sequence[int]) -> Brood:
    size = parent.config.population_size
    for index in indices:
        if not 0 <= index < size:
            raise ConfigError(f"Offspring are numbered from 0 to {size - 1:,} in this run, got {index}.")
    population = parent.drawn_by()
    draws, signs = np.divmod(np.asarray(indices), population.num_signs)
    key = episode_key(parent.key, parent.generation)
    addresses = _addresses(parent.key, parent.generation, indices)
    if parent.task.simulator is not None:  # workers wrote its members out one by one
        noise = jax.random.key_data(noise_key(parent.key))
        write = writer(population)  # as workers do: other programs round otherwise
        pairs = [write(noise, parent.parameters, parent.generation, draw) for draw in draws]
        rows = [pair[sign] for pair, sign in zip(pairs, signs, strict=True)]
        return Brood(sample_of(jnp.stack(rows)), np.arange(len(rows)), key, addresses)
    unique, places = np.unique(draws, return_inverse=True)
    # Compiled, as in training: operation by operation, numbers may be rounded otherwise.
    draw = jax.jit(population.sample)
    sample = draw(noise_key(parent.key), parent.parameters, parent.generation, jnp.asarray(unique))
    # Mirrored members stay together: a product of one row is summed in another order than one of two.
    return Brood(sample, places * population.num_signs + signs, key, addresses)


def fresh(parent: Parent, chunk: int) -> Brood:
    """Mutations that the run never tried, drawn as its population draws members: one chunk of an endless row."""
    key_noise, key_episode = jax.random.split(key_for(Purpose.FRESH, parent.key))
    noise = jax.random.fold_in(key_noise, chunk)
    sample = parent.mutations(noise, FRESH_TOGETHER)
    key = jax.random.fold_in(key_episode, chunk)
    return Brood(sample, np.arange(FRESH_TOGETHER), key, _addresses(key, parent.generation, range(FRESH_TOGETHER)))


def fresh_one(parent: Parent, index: int) -> Brood:
    """The fresh mutation of an index in the endless row."""
    chunk, place = divmod(index, FRESH_TOGETHER)
    brood = fresh(parent, chunk)
    sample = brood.sample.of_draws(np.array([place]))
    return Brood(sample, np.array([0]), brood.key, brood.addresses[place : place + 1])


def center(parent: Parent) -> Brood:
    """The centers themselves, unmutated, one per component."""
    num_components = len(parent.parameters.center)
    drawn = parent.mutations(parent.key, num_components)  # for its form: its noise is replaced by zeros
    sample = drawn._replace(noise=jax.tree.map(jnp.zeros_like, drawn.noise), component=jnp.arange(num_components))
    key = key_for(Purpose.CENTER, parent.key)
    return Brood(sample, np.arange(num_components), key, _addresses(key, parent.generation, range(num_components)))


def evaluate(task: Task, parent: Parent, brood: Brood) -> Outcome:
    """What the members of a brood do, those that were asked for."""
    if task.simulator is not None:
        return joined([part_of(trial) for trial in _trials(task.simulator, parent, brood)]).outcome
    outcome, _ = evaluator(task)(brood.key, brood.sample, parent.memory)
    return Outcome(*(np.asarray(part)[brood.wanted] for part in outcome[:4]))  # type: ignore[arg-type]


def replay(task: Task, parent: Parent, brood: Brood) -> Recording:
    """How the members of a brood move; of a task that cannot be watched, their behavior alone."""
    if task.stage is None:
        return _unseen(evaluate(task, parent, brood))
    if task.stage.replay is not None:
        return task.stage.replay(brood.key, brood.sample, parent.memory).of_members(brood.wanted)
    try:
        trials = _trials(task.stage.simulator, parent, brood)
    except TaskError as error:  # it does not draw here, and may be evaluated all the same
        return _unseen(evaluate(task, parent, brood))._replace(note=str(error))
    lengths = np.array([len(trial.pictures) for trial in trials])
    motion = _unseen(joined([part_of(trial) for trial in trials]).outcome)
    path = np.zeros((len(trials), lengths.max(), 2), np.float32)
    return motion._replace(num_frames=lengths, path=path, pictures=tuple(trial.pictures for trial in trials))


def _unseen(found: Outcome) -> Recording:
    behavior = np.asarray(found.behavior)
    nowhere = np.zeros((len(behavior), 1, 2), np.float32)
    return Recording(behavior, np.asarray(found.valid), np.ones(len(behavior), int), nowhere)


def _trials(build: Any, parent: Parent, brood: Brood) -> list[Trial]:
    """Of the members that were asked for, one after another, by a simulator of their own."""
    simulator = build()
    memory = jax.device_get(parent.memory)
    rows = np.asarray(brood.sample.members())[brood.wanted]
    try:
        with threadpool_limits(1, "blas"):  # as on workers: a product's bits depend on it
            return [simulator(row, address, memory) for row, address in zip(rows, brood.addresses, strict=True)]
    finally:
        getattr(simulator, "close", lambda: None)()


def _addresses(key: Array, generation: int, indices: Iterable[int]) -> tuple[Address, ...]:
    run = tuple(int(word) for word in np.asarray(jax.random.key_data(key)))
    return tuple(Address(run, generation, int(index)) for index in indices)
