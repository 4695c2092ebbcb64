"""What a run starts from: a finished run, or what is of the user's own, arrays, files of them, a saved policy.

Never a pickle, which could run code.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.schema import Config, to_table
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import Parameters, PyTree
from evolvability.runs.checkpoints import load_checkpoint
from evolvability.runs.folder import Run
from evolvability.runs.picking import num_params, parents_from
from evolvability.runs.policy import METADATA, load_policy
from evolvability.runs.sealed import UNREADABLE, Arrays, arrays_in, facts_in
from evolvability.runs.trees import named_arrays
from evolvability.tasks.base import Task
from evolvability.tasks.policies import Layered
from evolvability.tasks.replay import HostArray

CENTER, PARAMETERS, MEMORY = "parameters/center", "parameters", "memory/"
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")
SIZES = "Give the task the network that they are of, e.g. by its option hidden."


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


class Start(NamedTuple):
    """Centers, and what the task remembers, if that is known."""

    centers: HostArray
    """(num_centers, num_params); one for all seeds, or one per seed."""
    memory: Arrays
    """By their names, as in a checkpoint, with an axis of ``num_centers`` in front; empty where it is not known."""


def start_in(source: PyTree, task: Task) -> Start:
    """The start in a file, in a mapping of arrays, or in a pytree as the task's parameters are.

    Args:
        source: a path, or arrays. Their names count where they are the task's own; others go layer by layer.
        task: whose parameters they are.
    """
    is_path = isinstance(source, str | PathLike)
    where = str(source) if is_path else "start_from"
    arrays = _of_file(Path(source), task) if is_path else dict(_named(source))
    memory = {name: array for name, array in arrays.items() if name.startswith(MEMORY)}
    if CENTER in arrays:  # a State's, of which the first component is taken
        arrays = {CENTER: arrays[CENTER][:, 0]}
    arrays = {name: array for name, array in arrays.items() if name not in memory}
    found = next(iter(arrays.values())) if len(arrays) == 1 else _joined(arrays, task, where)
    centers, number = np.atleast_2d(found), num_params(task)
    if centers.ndim != 2 or centers.shape[1] != number or centers.dtype.kind not in "fiu":
        made_of = ", ".join(f"{name} {shape}" for name, shape in expected_arrays(task).items())
        got = f"{found.dtype} of shape {found.shape}"
        raise ConfigError(
            f"{where}: {number:,} numbers are expected for task '{task.name}', {made_of}; got {got}. {SIZES}"
        )
    with np.errstate(over="ignore"):  # what does not fit into 32 bits becomes infinite
        centers = centers.astype(np.float32)
    if not np.isfinite(centers).all():
        raise ConfigError(f"{where}: finite numbers are expected (of 32 bits), got some that are not.")
    return Start(centers, memory)


def expected_arrays(task: Task) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that a task's parameters are made of, by name: their own, or layer by layer."""
    tree = jax.eval_shape(lambda: task.unflatten(task.init(jax.random.key(0))))
    found = {jax.tree_util.keystr(path, simple=True, separator="/"): leaf.shape for path, leaf in _leaves(tree)}
    if len(found) > 1 or len(task.shapes) < 2:
        return found
    return {f"{'weights' if len(shape) > 1 else 'biases'} {1 + k // 2}": shape for k, shape in enumerate(task.shapes)}


def _of_file(path: Path, task: Task) -> Arrays:
    if path.suffix not in (".npy", ".safetensors"):
        advice = " A pickle could run code: hand its arrays over from Python." if path.suffix in PICKLES else ""
        raise ConfigError(f"Parameters are read from a .safetensors or .npy file or a run folder, got {path}.{advice}")
    try:
        if path.suffix == ".npy" or METADATA not in facts_in(path):
            return arrays_in(path)
    except UNREADABLE as error:
        raise ConfigError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None
    make = task.network.make if task.network else None
    policy = load_policy(path, None if isinstance(make, Layered) else make)  # a file has no code of one's own network
    memory = jax.tree.map(lambda leaf: np.asarray(leaf)[None], policy.memory)
    return {PARAMETERS: policy.parameters[None], **named_arrays({"memory": memory})}


def _joined(arrays: Arrays, task: Task, where: str) -> HostArray:
    """(num_params,) arrays one after another: by their names, as they come, or layer by layer."""
    expected = expected_arrays(task)
    orders = [list(arrays), sorted(arrays, key=lambda name: _place(name, arrays[name].ndim))]
    if set(expected) == set(arrays):
        orders = [list(expected)]
    for names in orders:
        if [arrays[name].shape for name in names] == list(expected.values()):
            return np.concatenate([np.ravel(arrays[name]) for name in names])
    given = {name: arrays[name].shape for name in names}
    wrong = [
        f"{wanted[0]} {wanted[1]}".rstrip() + f" is expected, got {got[0]} {got[1]}".rstrip()
        for wanted, got in zip_longest(expected.items(), given.items(), fillvalue=("nothing", ""))
        if wanted[1] != got[1]
    ]
    turned = [shape[::-1] for shape in given.values()] == list(expected.values())
    advice = "PyTorch keeps weights transposed: give array.T of each." if turned else SIZES
    raise ConfigError(f"{where} does not fit task '{task.name}': {'; '.join(wrong)}. {advice}")


def _place(name: str, ndim: int) -> list[Any]:
    """Layer by layer, numbers by their value, weights before biases."""
    layer, _, _ = name.replace("/", ".").rpartition(".")
    return [*((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", layer)), (-ndim, name)]


def _named(tree: PyTree, prefix: str = "") -> Iterator[tuple[str, HostArray]]:
    """Arrays by their path; those of a mapping in its own order, which JAX would not keep."""
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from _named(value, f"{prefix}{name}/")
        return
    for path, leaf in _leaves(tree):
        name = prefix + jax.tree_util.keystr(path, simple=True, separator="/")
        try:
            yield name.removesuffix("/"), np.asarray(leaf, np.float32)
        except (TypeError, ValueError):
            what = f"start_from: a path or arrays of numbers are expected, got {type(leaf).__name__}"
            raise ConfigError(f"{what}{f' at {name}' * bool(name)}.") from None


def _leaves(tree: PyTree) -> Any:
    return jax.tree_util.tree_leaves_with_path(tree)
