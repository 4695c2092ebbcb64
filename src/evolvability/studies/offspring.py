"""Offspring of any center, trained here or not: mutations drawn, evaluated, measured and kept.

In a run folder: ``offspring/SIGMA.safetensors``, with ``behavior`` (num_seeds, num_offspring, num_behaviors), where nan
is what an invalid one did. Figures and statistics read it, and need no simulator.
"""

import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.config.schema import layered
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, RunFolderError, TaskError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import Parameters, PyTree
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.picking import Evaluate, Parent, check_size, evaluator, with_circumstances
from evolvability.studies.measures import Measures, MeasureScale, common_reach, measure_scale, measures
from evolvability.studies.result_files import OFFSPRING, HostArray, keep, kept, kept_names
from evolvability.tasks.base import Task, with_episodes
from evolvability.tasks.circumstances import Circumstances
from evolvability.tasks.registry import make_task


class Offspring(NamedTuple):
    """What the valid ones of some mutations of a center did."""

    behavior: HostArray
    """(num_valid, num_behaviors) what the valid mutations did."""
    num_invalid: int
    """How many mutations were invalid."""
    episodes: HostArray | None = None
    """(num_valid, num_episodes, num_behaviors) what they did in each of several episodes."""


def measure(
    task: Task | str,
    center: PyTree,
    *,
    sigma: float | None = None,
    number: int = 1000,
    episodes: int = 1,
    memory: PyTree = None,
    by: MeasureScale | None = None,
    seed: int = 0,
) -> Measures:
    """How evolvable a center is: measures of what its mutations do.

    Args:
        task: a Task, or the name of a registered one.
        center: the parameters to mutate, as the task's author wrote them or flat.
        sigma: the mutations' standard deviation; default: the task's.
        number: how many mutations.
        episodes: of each, in a task that varies; from two on their repeatability is measured.
        memory: what the task remembers, e.g. a run's statistics of observations; default: as at the start.
        by: what to measure by; default: as far as the mutations reach.
        seed: of mutations and evaluations.

    Examples:
        >>> from evolvability import function_task
        >>> arm = function_task(lambda x: x, start=jnp.zeros(2))
        >>> found = measure(arm, jnp.zeros(2), sigma=0.5, number=2000)
        >>> round(found.variance, 1)  # of two normal coordinates
        0.5
    """
    parent = parent_at(task, center, sigma, memory, seed)
    born = offspring(parent, evaluator(with_episodes(parent.task, episodes)), number, parent.key)
    return measures(born.behavior, by or measure_scale(common_reach([born.behavior])), born.episodes)


def parent_at(task: Task | str, center: PyTree, sigma: float | None, memory: PyTree, seed: int) -> Parent:
    """A center of one's own as a parent; its size is checked, and that nothing is missing to evaluate it."""
    values = {} if sigma is None else {"sigma": sigma}
    config = layered(task if isinstance(task, str) else FROM_PYTHON + task.name, values=values)
    task = make_task(task) if isinstance(task, str) else task
    flat = jnp.asarray(ravel_pytree(center)[0], jnp.float32)
    check_size(len(flat), task, "The center")
    if memory is None and jax.tree.leaves(task.memory):
        raise ConfigError(
            f"Task '{task.name}' scales what networks see by statistics that a run gathers, and no memory was given: "
            "the center would do something else than in training. Use run.pick(...), or give that run's memory; for "
            "a network that was never trained, memory=task.memory."
        )
    memory = task.memory if memory is None else memory
    return Parent(task, config, Parameters(flat[None]), memory, jax.random.key(seed))


def offspring(parent: Parent, evaluate: Evaluate, number: int, key: Array, sigma: float | None = None) -> Offspring:
    """Evaluate mutations of one parent; with a sigma given, it is the standard deviation of every parameter."""
    if number < 2:
        raise ConfigError(f"Measures are taken of 2 mutations or more, got {number}.")
    key_noise, key_episode = jax.random.split(key)
    sample = parent.mutations(key_noise, number)
    if sigma is not None:  # in the sample, whose noise is standard normal: so it holds for any population
        sample = sample._replace(scale=jnp.full_like(sample.scale, sigma))
    outcome, _ = evaluate(key_episode, sample, parent.memory)
    valid = np.asarray(outcome.valid)
    if not valid.any():
        raise TaskError(f"Task '{parent.task.name}': none of the {number} mutations is valid: nothing to measure.")
    episodes = None if outcome.episodes is None else np.asarray(outcome.episodes)[valid]
    return Offspring(np.asarray(outcome.behavior)[valid], int((~valid).sum()), episodes)


def offspring_of_run(
    run: Run,
    *,
    number: int = 1000,
    episodes: int = 1,
    circumstances: Circumstances | None = None,
    sigma: float | None = None,
    save: bool = False,
) -> list[Offspring]:
    """Offspring of every seed's center; kept in the folder if asked.

    Args:
        run: the run.
        number: how many per seed.
        episodes: of each.
        circumstances: of these, of robots; default: those of training, with a start noise of 0.1 where there was none
            and episodes are several.
        sigma: the standard deviation of every parameter's mutations; default: as the population ended, which may have
            learned one per parameter.
        save: whether to keep them in the folder.
    """
    if sigma is not None and not 0 < sigma < np.inf:
        raise ConfigError(f"sigma, the mutations' standard deviation, must be positive and finite, got {sigma}.")
    if save and circumstances is not None:
        raise ConfigError("Offspring are kept of the circumstances of training alone. Leave out either.")
    parents, task = run.parents(), run.task
    if episodes > 1 or circumstances is not None:
        task, _ = with_circumstances(run.config, run.task, run.by_name, circumstances)
    evaluate = evaluator(with_episodes(task, episodes))
    born = [offspring(parent, evaluate, number, key_for(Purpose.OFFSPRING, parent.key), sigma) for parent in parents]
    if save:
        behavior = np.full((len(born), number, born[0].behavior.shape[1]), np.nan, np.float32)
        for row, one in zip(behavior, born, strict=True):
            row[: len(one.behavior)] = one.behavior  # what is left stays nan: the invalid ones
        size = float(np.mean([parent.sigma for parent in parents])) if sigma is None else sigma
        save_offspring(run, size, behavior, parents[0].generation, own=sigma is None)
    return born


def save_offspring(
    run: Run, sigma: float, behavior: HostArray, generation: int | None = None, *, own: bool = False
) -> None:
    """Keep (num_seeds, num_offspring, num_behaviors) behaviors of mutations of a standard deviation.

    ``own`` marks those that the run's population drew as it ended.
    """
    facts = {"generation": generation, "own": 1 if own else None}
    keep(run, OFFSPRING, f"{sigma:g}", {"behavior": behavior.astype(np.float32), **facts})


def kept_generation(run: Run, sigma: float) -> int | None:
    """Of the centers whose offspring were kept; None where an older version kept them."""
    return kept(run, OFFSPRING, f"{sigma:g}").get("generation")


def kept_offspring(run: Run, sigma: float | None = None) -> list[HostArray]:
    """(num_valid, num_behaviors) of every seed, for mutations of one sigma; default: as the population ended."""
    size = _own_sigma(run) if sigma is None else f"{sigma:g}"
    asked = () if sigma is None else ("--sigma", size)
    table = kept(run, OFFSPRING, size, command_line("measure", run.path, *asked, "--keep"))
    clouds = [run.along(own[np.isfinite(own).all(axis=1)]) for own in table["behavior"]]
    if not all(map(len, clouds)):
        raise RunFolderError(f"{run.path}: of some seed no kept offspring of sigma {size} is valid.")
    return clouds


def _own_sigma(run: Run) -> str:
    """The name of the newest offspring that the population drew as it ended: only the file tells a learned sigma."""
    tables = {name: kept(run, OFFSPRING, name) for name in kept_names(run, OFFSPRING)}
    own = {name: table["generation"] for name, table in tables.items() if "own" in table}
    return max(own, key=own.__getitem__, default=f"{run.config.population_options.sigma:g}")


def kept_sigmas(run: Run) -> list[float]:
    """The standard deviations of the mutations that were kept, largest first."""
    numbers = [name for name in kept_names(run, OFFSPRING) if re.fullmatch(r"[\d.e+-]+", name)]
    return sorted(map(float, numbers), reverse=True)
