"""Where a run starts from, and what of a finished run its mutations need: the trained population."""

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.build import build_population
from evolvability.config.schema import Config, to_table
from evolvability.core.errors import ConfigError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.noise import Shapes
from evolvability.core.types import Cloud, PyTree, Sample
from evolvability.runs.checkpoints import Arrays, load_checkpoint, restore
from evolvability.runs.folder import Run
from evolvability.tasks.base import Task


class Trained(NamedTuple):
    """A trained population.

    Attributes:
        cloud: its learned parameters, with a seed axis in front.
        memory: what the task remembers, e.g. statistics of observations, likewise.
        generation: how many generations it was trained for.
    """

    cloud: Cloud
    memory: PyTree
    generation: int

    def of_seed(self, index: int) -> tuple[Cloud, PyTree]:
        """The cloud and the memory of one seed."""
        return jax.tree.map(lambda leaf: leaf[index], (self.cloud, self.memory))


def trained(run: Run, task: Task) -> Trained:
    """The population a run ended with; a slim export of a run is enough."""
    generation, arrays = load_checkpoint(run.path)
    return trained_in(run.path, arrays, task, generation)


def trained_in(path: Path, arrays: Arrays, task: Task, generation: int = 0) -> Trained:
    """The population in a checkpoint's arrays, or those of a file, which have a seed axis in front."""
    # Not by `restore`, which is strict: a slim export may have it in 16 bits.
    center = jnp.asarray(arrays["cloud/center"], jnp.float32)
    check_size(center.shape[2], task, str(path))
    log_scale = arrays.get("cloud/log_scale")
    memory = restore({"memory": memories(task, len(center))}, arrays)["memory"]
    return Trained(Cloud(center, None if log_scale is None else jnp.asarray(log_scale)), memory, generation)


def memories(task: Task, number: int) -> PyTree:
    """What a task remembers at the start, with a seed axis in front."""
    return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (number, *np.shape(leaf))), task.memory)


def check_size(size: int, task: Task, what: str) -> None:
    """Refuse parameters of another network than the task's."""
    num_params = jax.eval_shape(task.init, jax.random.key(0)).shape[0]  # traced only: nothing is computed
    if size != num_params:
        raise ConfigError(
            f"{what} has {size:,} parameters, but task '{task.name}' asks for {num_params:,}. "
            "Give the task the options that the network was made with, e.g. hidden=64."
        )


def mutations(config: Config, shapes: Shapes, cloud: Cloud, key: Array, generation: int, number: int) -> Sample:
    """Independent mutations, drawn as a configuration's population draws its members, of one seed's cloud."""
    # Not mirrored: the two of a pair are not independent.
    population = build_population(replace(config, mirrored=False), shapes)
    return population.sample(key, cloud, generation, jnp.arange(number))


def inherited(origin: Run, config: Config, task: Task, keys: Array) -> tuple[Array, Cloud, PyTree]:
    """What the seeds of a new run inherit: keys unlike those that trained it, the clouds, and the task's memory.

    With as many components as before, a population starts where the trained one is. With another number of them, its
    means are independent samples of the trained population: that breaks the symmetry between new species.

    Args:
        origin: the finished run.
        config: the new run's configuration.
        task: its task.
        keys: (num_seeds,) the keys of its seeds.
    """
    if origin.config.task != config.task:
        raise ConfigError(
            f"{origin.path} is a run of '{origin.config.task}', so no run of '{config.task}' can start from it."
        )
    missing = set(range(config.seed, config.seed + config.seeds)) - set(origin.seeds)
    if missing:
        raise ConfigError(
            f"Each seed starts from the same seed of {origin.path}, which has the seeds {origin.seeds.start} to "
            f"{origin.seeds.stop - 1}, but not {min(missing)}. Choose --seed and --seeds among them."
        )
    found = trained(origin, task)
    # The new run's seeds may be some of the old one's.
    rows = jnp.arange(config.seeds) + config.seed - origin.config.seed
    cloud, memory = jax.tree.map(lambda leaf: leaf[rows], (found.cloud, found.memory))
    # Not the keys of training: its first generation would be drawn with the same noise.
    keys = jax.vmap(lambda key: jax.random.fold_in(key, found.generation))(keys)
    num_components = build_population(config, task.shapes).num_components
    if cloud.center.shape[1] == num_components:
        return keys, cloud, memory

    def samples(key: Array, cloud: Cloud) -> Array:
        return mutations(origin.config, task.shapes, cloud, key, found.generation, num_components).members()

    key_split = jax.vmap(partial(key_for, Purpose.SPLIT))(keys)
    return keys, Cloud(jax.vmap(samples)(key_split, cloud)), memory


def describe_origin(origin: Run) -> dict[str, Any]:
    """What a run folder records of the run it started from, so that it can be told without it."""
    generation, arrays = load_checkpoint(origin.path)
    return {
        "run": str(origin.path),
        "generation": generation,
        # To recognize it by, should its folder have been moved or trained further.
        "center_sha256": hashlib.sha256(arrays["cloud/center"].tobytes()).hexdigest(),
        "config": to_table(origin.config),
    }
