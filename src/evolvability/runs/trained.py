"""Where a run starts from: what it inherits of a finished one or takes from the user, and what it records of it."""

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.schema import Config, to_table
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import Parameters, PyTree
from evolvability.runs.checkpoints import load_checkpoint, named_arrays
from evolvability.runs.folder import Run
from evolvability.runs.parents import parents_from
from evolvability.runs.starts import PICKLES, start_in
from evolvability.tasks.base import Task


def is_run(source: PyTree) -> bool:
    """Whether what a run starts from is a run folder, and not a file or arrays."""
    if not isinstance(source, str | PathLike) or not str(source) or str(source).startswith(FROM_PYTHON):
        return False
    path = Path(source)
    return path.is_dir() or not (path.is_file() or path.suffix in (".npy", ".safetensors", *PICKLES))


def taken(
    source: PyTree, config: Config, task: Task, keys: Array, num_components: int
) -> tuple[Array, Parameters, PyTree]:
    """As `inherited`, of a file of arrays or of arrays: one center for all seeds, or one per seed."""
    where = str(source) if isinstance(source, str | PathLike) else "start_from"
    found = start_in(source, task)
    centers = found.centers[:, None]
    if len(centers) not in (1, config.seeds):
        raise ConfigError(f"{where}: a center for all seeds, or one for each of {config.seeds}, got {len(centers)}.")
    memory = jax.tree.map(lambda leaf: np.asarray(leaf)[None], task.memory)
    if found.memory:
        expected = {name: leaf.shape[1:] for name, leaf in named_arrays({"memory": memory}).items()}
        if (given := {name: array.shape[1:] for name, array in found.memory.items()}) != expected:
            raise ConfigError(f"{where}: its statistics of observations are {given}, but the task's {expected}.")
        leaves = [found.memory[name] for name in expected]
        memory = jax.tree.unflatten(jax.tree.structure(memory), [np.asarray(leaf, np.float32) for leaf in leaves])
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (config.seeds, *leaf.shape[1:])), memory)
    # All components at one point: a mixture's `init` moves them apart.
    return keys, Parameters(jnp.broadcast_to(centers, (config.seeds, num_components, centers.shape[2]))), memory


def inherited(
    origin: Run, config: Config, task: Task, keys: Array, num_components: int
) -> tuple[Array, Parameters, PyTree]:
    """What the seeds of a new run inherit: keys unlike those that trained it, the parameters, and the task's memory.

    With as many components as before, a population starts where the trained one is. With another number of them, its
    means are independent samples of the trained population: that breaks the symmetry between new species.

    Args:
        origin: the finished run.
        config: the new run's configuration.
        task: its task.
        keys: (num_seeds,) the keys of its seeds.
        num_components: of its population.
    """
    if origin.config.task != config.task:
        raise ConfigError(f"{origin.path} is a run of '{origin.config.task}', no start for one of '{config.task}'.")
    missing = set(range(config.seed, config.seed + config.seeds)) - set(origin.seeds)
    if missing:
        known = f"{origin.seeds.start} to {origin.seeds.stop - 1}"
        raise ConfigError(f"{origin.path} has the seeds {known}, but not {min(missing)}: choose seed and seeds.")
    generation, arrays = load_checkpoint(origin.path)
    found = parents_from(arrays, origin.config, task, generation, where=str(origin.path))
    # The new run's seeds may be some of the old one's.
    first = config.seed - origin.config.seed
    parents = found[first : first + config.seeds]
    # Not the keys of training: its first generation would be drawn with the same noise.
    keys = jax.vmap(lambda key: jax.random.fold_in(key, generation))(keys)
    parameters, memory = jax.tree.map(
        lambda *leaves: jnp.stack(leaves), *((one.parameters, one.memory) for one in parents)
    )
    if parameters.center.shape[1] != num_components:
        key_split = [key_for(Purpose.SPLIT, key) for key in keys]
        samples = [one.mutations(key, num_components).members() for key, one in zip(key_split, parents, strict=True)]
        parameters = Parameters(jnp.stack(samples))
    return keys, parameters, memory


def describe_origin(origin: Run) -> dict[str, Any]:
    """What a run folder records of the run it started from, so that the start is known without that folder."""
    generation, arrays = load_checkpoint(origin.path)
    return {
        "run": str(origin.path),
        "generation": generation,
        # To recognize it by, should its folder have been moved or trained further.
        "center_sha256": hashlib.sha256(arrays["parameters/center"].tobytes()).hexdigest(),
        "config": to_table(origin.config),
    }
