"""Members of a run rebuilt from their addresses, and fresh mutations of its centers, to look at one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.assembly import build_population
from evolvability.checkpoints import restore
from evolvability.config import Config
from evolvability.errors import ConfigError
from evolvability.motions import HostArray, Motion
from evolvability.noise import Shapes
from evolvability.origins import mutations
from evolvability.runs import Run
from evolvability.strategy import episode_key, noise_key
from evolvability.studies.offspring import evaluator
from evolvability.tasks.base import Task
from evolvability.tasks.registry import make_task
from evolvability.types import Cloud, Outcome, PyTree, Sample

FRESH_TOGETHER = 20
"""Fresh mutations are evaluated so many at a time: the first are known while the others still walk."""


@dataclass(frozen=True)
class Parent:
    """What the members of one generation and seed were drawn around, and the keys they were drawn and tried with.

    Attributes:
        config: the run's.
        shapes: of the task's parameters.
        generation: the generation drawn around it.
        key: the run's key.
        cloud: the population's learned parameters.
        memory: what the task remembered then.
    """

    config: Config
    shapes: Shapes
    generation: int
    key: Array
    cloud: Cloud
    memory: PyTree


@dataclass(frozen=True)
class Brood:
    """Some members of a population, as a Sample has them, and the key of their episodes.

    Attributes:
        sample: them, and those that share a draw with them.
        wanted: where in the sample those are that were asked for.
        key: of the episodes.
    """

    sample: Sample
    wanted: HostArray
    key: Array


def watchable_task(config: Config) -> Task:
    """A run's task, to evaluate a few members with what they are watched in, whatever the run was trained on."""
    options = config.task_options
    if hasattr(options, "engine"):
        options = replace(options, engine="mujoco")
    return make_task(config.task, options)


def parent_of(run: Run, task: Task, generation: int, seed_index: int = 0) -> Parent:
    """What a generation was drawn around, where that was kept; see `Run.rebuildable`."""
    arrays = run.drawn_around(generation)
    num_seeds = len(arrays["cloud/center"])
    template = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (num_seeds, *np.shape(leaf))), task.memory)
    memory = restore({"memory": template}, arrays)["memory"]
    log_scale = arrays.get("cloud/log_scale")
    cloud = Cloud(
        jnp.asarray(arrays["cloud/center"][seed_index], jnp.float32),
        None if log_scale is None else jnp.asarray(log_scale[seed_index]),
    )
    key = jax.random.wrap_key_data(jnp.asarray(arrays["key"][seed_index]))
    return Parent(run.config, task.shapes, generation, key, cloud, jax.tree.map(lambda leaf: leaf[seed_index], memory))


def members(parent: Parent, indices: Sequence[int]) -> Brood:
    """Members of the generation, rebuilt from their addresses."""
    size = parent.config.population_size
    for index in indices:
        if not 0 <= index < size:
            raise ConfigError(f"Offspring are numbered from 0 to {size - 1:,} in this run, got {index}.")
    population = build_population(parent.config, parent.shapes)
    draws, signs = np.divmod(np.asarray(indices), population.num_signs)
    unique, places = np.unique(draws, return_inverse=True)
    sample = population.sample(noise_key(parent.key), parent.cloud, parent.generation, jnp.asarray(unique))
    # Mirrored members stay together: a product of one row is summed in another order than one of two.
    return Brood(sample, places * population.num_signs + signs, episode_key(parent))


def fresh(parent: Parent, chunk: int) -> Brood:
    """Mutations that the run never tried, drawn as its population draws members: one chunk of an endless row."""
    key_noise, key_episode = jax.random.split(jax.random.fold_in(parent.key, 6))  # 0 to 5 are others'
    noise = jax.random.fold_in(key_noise, chunk)
    sample = mutations(parent.config, parent.shapes, parent.cloud, noise, parent.generation, FRESH_TOGETHER)
    return Brood(sample, np.arange(FRESH_TOGETHER), jax.random.fold_in(key_episode, chunk))


def fresh_one(parent: Parent, index: int) -> Brood:
    """The fresh mutation of an index in the endless row."""
    chunk, place = divmod(index, FRESH_TOGETHER)
    brood = fresh(parent, chunk)
    return Brood(brood.sample.of_draws(np.array([place])), np.array([0]), brood.key)


def center(parent: Parent) -> Brood:
    """The centers themselves, unmutated, one a component."""
    num_components = len(parent.cloud.center)
    drawn = mutations(parent.config, parent.shapes, parent.cloud, parent.key, parent.generation, num_components)
    sample = drawn._replace(noise=jax.tree.map(jnp.zeros_like, drawn.noise), component=jnp.arange(num_components))
    return Brood(sample, np.arange(num_components), jax.random.fold_in(parent.key, 7))


def evaluate(task: Task, parent: Parent, brood: Brood) -> Outcome:
    """What the members of a brood do, those that were asked for."""
    outcome, _ = evaluator(task)(brood.key, brood.sample, parent.memory)
    return Outcome(*(np.asarray(part)[brood.wanted] for part in outcome))  # type: ignore[arg-type]


def replay(task: Task, parent: Parent, brood: Brood) -> Motion:
    """How the members of a brood move; of a task without a stage, their behavior alone."""
    if task.stage is not None:
        return task.stage.replay(brood.key, brood.sample, parent.memory).of_members(brood.wanted)
    outcome = evaluate(task, parent, brood)
    behavior = np.asarray(outcome.behavior)
    nowhere = np.zeros((len(behavior), 1, 2), np.float32)
    return Motion(behavior, np.asarray(outcome.valid), np.ones(len(behavior), int), nowhere)
