"""Offspring of any center, trained here or not: mutations drawn, evaluated and measured."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.config.schema import Config, layered
from evolvability.core.errors import ConfigError, TaskError
from evolvability.core.types import Cloud, Outcome, PyTree, Sample
from evolvability.runs.checkpoints import Arrays, restore
from evolvability.runs.folder import Run
from evolvability.runs.trained import mutations, trained
from evolvability.studies.measures import Measures, MeasureScale, common_reach, measures, yardstick
from evolvability.tasks.base import Task
from evolvability.tasks.registry import FROM_PYTHON, make_task

HostArray = np.ndarray[Any, Any]
Evaluate = Callable[[Array, Sample, PyTree], tuple[Outcome, PyTree]]


class Offspring(NamedTuple):
    """What the valid ones of some mutations of a center did.

    Attributes:
        behavior: (num_valid, num_behaviors).
        component: (num_valid,) the component of the population each was drawn from.
        num_invalid: how many others there were.
    """

    behavior: HostArray
    component: HostArray
    num_invalid: int


def measure(
    task: Task | str,
    center: PyTree,
    *,
    sigma: float | None = None,
    number: int = 1000,
    memory: PyTree = None,
    by: MeasureScale | None = None,
    seed: int = 0,
) -> Measures:
    """How evolvable a center is: measures of what its mutations do.

    Args:
        task: a Task, or the name of a registered one.
        center: the parameters to mutate, as the task's author wrote them or flat.
        sigma: the mutations' standard deviation; the task's default unless given.
        number: how many mutations.
        memory: what the task remembers, e.g. a run's statistics of observations; as at the start unless given.
        by: what to measure by; as far as the mutations reach unless given.
        seed: of mutations and evaluations.

    Examples:
        >>> from evolvability import function_task
        >>> arm = function_task(lambda x: x, start=jnp.zeros(2))
        >>> found = measure(arm, jnp.zeros(2), sigma=0.5, number=2000)
        >>> round(found.variance, 1)  # of two normal coordinates
        0.5
    """
    task, config, cloud = at_center(task, center, sigma)
    memory = task.memory if memory is None else memory
    born = offspring(task, config, cloud, memory, evaluator(task), number, jax.random.key(seed))
    return measures(born.behavior, by or yardstick(common_reach([born.behavior])))


def at_center(task: Task | str, center: PyTree, sigma: float | None) -> tuple[Task, Config, Cloud]:
    """A task, a configuration for mutations of a center of it, and the center as a population's; sizes are checked."""
    values = {} if sigma is None else {"sigma": sigma}
    config = layered(task if isinstance(task, str) else FROM_PYTHON + task.name, values=values)
    task = make_task(task) if isinstance(task, str) else task
    flat = jnp.asarray(ravel_pytree(center)[0], jnp.float32)
    num_params = jax.eval_shape(task.init, jax.random.key(0)).shape[0]
    if len(flat) != num_params:
        raise ConfigError(f"Task '{task.name}' has {num_params:,} parameters, but the center has {len(flat):,}.")
    return task, config, Cloud(flat[None])


def offspring(
    task: Task,
    config: Config,
    cloud: Cloud,
    memory: PyTree,
    evaluate: Evaluate,
    number: int,
    key: Array,
    generation: int = 0,
) -> Offspring:
    """Evaluate mutations of one seed's cloud."""
    if number < 2:
        raise ConfigError(f"Measures are taken of 2 offspring or more, got {number}.")
    key_noise, key_episode = jax.random.split(key)
    sample = mutations(config, task.shapes, cloud, key_noise, generation, number)
    outcome, _ = evaluate(key_episode, sample, memory)
    valid = np.asarray(outcome.valid)
    if not valid.any():
        raise TaskError(f"Task '{task.name}': none of the {number} mutations is valid, so there is nothing to measure.")
    component = np.asarray(sample.member_components())
    return Offspring(np.asarray(outcome.behavior)[valid], component[valid], int((~valid).sum()))


def offspring_of_run(
    run: Run, task: Task | None = None, *, number: int = 1000, sigma: float | None = None
) -> list[Offspring]:
    """Offspring of every seed's center, with the standard deviation of training unless given; of a light copy too."""
    of_seed, _ = births(run, task, number, sigma)
    return [of_seed(index) for index in range(len(run.seeds))]


def births(run: Run, task: Task | None, number: int, sigma: float | None) -> tuple[Callable[[int], Offspring], int]:
    """Offspring of a seed by its place, and the generation of the centers."""
    task = task or make_task(run.config.task, run.config.task_options)
    config = run.config if sigma is None else replace(run.config, sigma=sigma, sigma_decay=1.0, sigma_min=0.0)
    found, evaluate = trained(run, task), evaluator(task)

    def of_seed(index: int) -> Offspring:
        cloud, memory = found.of_seed(index)
        key = jax.random.fold_in(jax.random.key(run.seeds[index]), 5)
        return offspring(task, config, cloud, memory, evaluate, number, key, found.generation)

    return of_seed, found.generation


def offspring_of_file(path: Path, task: Task, config: Config, *, number: int = 1000) -> list[Offspring]:
    """Offspring of the center, or of each of several, in a .safetensors or .npy file."""
    arrays = _arrays(path)
    centers = _centers(path, arrays)
    num_params = jax.eval_shape(task.init, jax.random.key(0)).shape[0]
    if centers.shape[1] != num_params:
        raise ConfigError(
            f"{path} has {centers.shape[1]:,} parameters, but task '{task.name}' asks for {num_params:,}. "
            "Give the options the network was made with, e.g. --hidden 64."
        )
    remembers = any(name.startswith("memory/") for name in arrays)
    template = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (len(centers), *np.shape(leaf))), task.memory)
    memories = restore({"memory": template}, arrays)["memory"] if remembers else template
    evaluate = evaluator(task)
    born = []
    for index, center in enumerate(centers):
        memory = jax.tree.map(lambda leaf, index=index: jnp.asarray(leaf[index]), memories)
        cloud = Cloud(jnp.asarray(center[None], jnp.float32))
        born.append(offspring(task, config, cloud, memory, evaluate, number, jax.random.key(index)))
    return born


def evaluator(task: Task) -> Evaluate:
    """A task's evaluate, compiled where it can be."""
    return task.evaluate if task.on_host else jax.jit(task.evaluate)


def _arrays(path: Path) -> Arrays:
    try:
        if path.suffix == ".npy":
            return {"center": np.load(path, allow_pickle=False)}
        if path.suffix == ".safetensors":
            return safetensors.numpy.load_file(path)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    raise ConfigError(f"Parameters are read from a .safetensors or .npy file or a run folder, got {path}.")


def _centers(path: Path, arrays: Arrays) -> HostArray:
    """(num_centers, num_params)."""
    named = [name for name in arrays if name in ("cloud/center", "center")] or sorted(arrays)
    if len(named) != 1:
        raise ConfigError(f"{path}: which array is the center? Name it 'center'; there are: {', '.join(named)}.")
    found = arrays[named[0]]
    if found.ndim == 0 or (found.ndim == 3 and found.shape[1] != 1) or found.ndim > 3:
        raise ConfigError(
            f"{path}: a center is (num_params,), several are (num_centers, num_params), got shape {found.shape}."
        )
    return found.reshape(-1, found.shape[-1])
