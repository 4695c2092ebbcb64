"""Races of adapters: what a run's centers reach by each, over the episodes used. Kept in the run's folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.schema import ES_MAML, MAML
from evolvability.core.errors import ConfigError, RunFolderError, unknown
from evolvability.core.types import PyTree, Sample, written_out
from evolvability.runs.checkpoints import load_checkpoint, write_whole
from evolvability.runs.files import slug
from evolvability.runs.folder import Run
from evolvability.runs.trained import trained
from evolvability.studies.adaptation import mean_of_valid, to_lists, with_start_noise
from evolvability.studies.adapters import ADAPTERS, AdaptationContext, Adapter, Start, adapter_named
from evolvability.studies.offspring import Evaluate, evaluator
from evolvability.studies.per_seed import each_seed, finish
from evolvability.tasks.base import Task
from evolvability.tasks.goals import Goal, goal_named
from evolvability.tasks.registry import make_task

HostArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Raced:
    """How one adapter did on a run's centers. In a run folder: ``races/GOAL-ADAPTER.json``.

    Attributes:
        goal: what was asked for.
        adapter: by name.
        episodes: (num_points,) used so far; the first is zero.
        repeated: (num_seeds, num_points, repeats) the goal's scores of the parameters settled for by then.
        generation: of the centers.
    """

    goal: str
    adapter: str
    episodes: HostArray
    repeated: HostArray
    generation: int | None = None

    @property
    def performance(self) -> HostArray:
        """(num_seeds, num_points) means over the evaluations."""
        return mean_of_valid(self.repeated)


def own_adapter(run: Run) -> str:
    """The adapter a run's method stands for: the best mutation, unless it was trained for another."""
    return {MAML: "gradient", ES_MAML: "hill_climbing"}.get(run.config.objective, "mutations")


def race(
    run: Run,
    goals: Sequence[str],
    adapters: Sequence[str] = (),
    task: Task | None = None,
    *,
    episodes: int = 40,
    repeats: int = 10,
) -> list[Raced]:
    """Adapt every seed's center to goals in several ways, and keep what came of it in the run's folder.

    Whatever an adapter settles for is evaluated as members of a population are: its network alone, without noise in
    its actions, ``repeats`` times with different start states where the task has them.

    Args:
        run: a run, or a light copy of one.
        goals: each of them ``left``, ``right``, an angle or ``point:X,Y``.
        adapters: by name; the run's own unless given.
        task: the run's task, where that is not one a name leads to.
        episodes: the budget of each adaptation.
        repeats: evaluations of what came of it.
    """
    config = run.config
    for name in adapters:
        if name not in ADAPTERS:
            raise ConfigError(unknown("adapter", name, ADAPTERS))
    base = task or make_task(config.task, config.task_options)
    wanted = {goal: goal_named(goal, base) for goal in goals}
    context = AdaptationContext(base, evaluator(base), config.sigma, episodes, config.maml)
    ways = {name: adapter_named(name, context) for name in adapters or (own_adapter(run),)}
    again = evaluator(with_start_noise(config, base, task is None, None)[0])
    starts = [start_of(run, base, index) for index in range(config.seeds)]
    generation = trained(run, base).generation
    raced, studies = [], []
    for goal, score in wanted.items():
        for name, way in ways.items():

            def of_seed(index: int, goal: str = goal, score: Goal = score, way: Adapter = way) -> dict[str, HostArray]:
                key = jax.random.key(run.seeds[index])
                used, scores = _adapt_and_repeat(way, starts[index], goal, score, again, repeats, key)
                return {"episodes": used, "scores": scores}

            studies.append(f"race {generation} {goal} {name} {episodes} {repeats}")
            seeds = each_seed(run, studies[-1], of_seed, keep=task is None)
            scores = np.stack([own["scores"] for own in seeds])
            raced.append(Raced(goal, name, seeds[0]["episodes"], scores, generation))
    for one in raced:
        save_race(run, one)
    finish(run, studies)
    return raced


def start_of(run: Run, task: Task, index: int) -> Start:
    """What of a run is adapted: a seed's center, and its deviations of actions where it learned some."""
    cloud, memory = trained(run, task).of_seed(index)
    log_std = load_checkpoint(run.path)[1].get("log_std")
    return Start(cloud.center[0], None if log_std is None else jnp.asarray(log_std[index]), memory)


def save_race(run: Run, raced: Raced) -> None:
    """Keep a race in a run's folder."""
    path = _path(run, raced.goal, raced.adapter)
    path.parent.mkdir(exist_ok=True)
    table = {
        "goal": raced.goal,
        "adapter": raced.adapter,
        "generation": raced.generation,
        "episodes": raced.episodes.tolist(),
        "repeated": to_lists(raced.repeated),
    }
    write_whole(path, json.dumps(table).encode())


def load_race(run: Run, goal: str, adapter: str) -> Raced:
    """What `race` kept in a run's folder."""
    path = _path(run, goal, adapter)
    if not path.is_file():
        raise RunFolderError(
            f"{run.path} has no race of '{adapter}' to '{goal}'. Make it: ees race {run.path} --direction {goal} "
            f"--adapters {adapter}"
        )
    return _loaded(path)


def races_of(run: Run) -> list[Raced]:
    """All races in a run's folder."""
    return [_loaded(path) for path in sorted((run.path / "races").glob("*.json"))]


def _loaded(path: Path) -> Raced:
    table = json.loads(path.read_text())
    arrays = np.array(table["episodes"]), np.array(table["repeated"], np.float64)
    return Raced(table["goal"], table["adapter"], *arrays, generation=table.get("generation"))


def _adapt_and_repeat(
    way: Adapter, start: Start, goal: str, score: Goal, again: Evaluate, repeats: int, key: Array
) -> tuple[HostArray, HostArray]:
    """The episodes used, and (num_points, repeats) scores."""
    key_adapt, key_again = jax.random.split(jax.random.fold_in(key, 6))  # 0 to 5 are those of runs and mutations
    trace = way(key_adapt, start, goal)
    sample = written_out(trace.parameters)
    scores = [_scores(score, again, one, sample, start.memory) for one in jax.random.split(key_again, repeats)]
    return trace.episodes, np.stack(scores, axis=1)


def _scores(score: Goal, again: Evaluate, key: Array, sample: Sample, memory: PyTree) -> HostArray:
    outcome = jax.tree.map(jnp.asarray, again(key, sample, memory)[0])
    return np.where(np.asarray(outcome.valid), np.asarray(score(outcome), np.float64), np.nan)


def _path(run: Run, goal: str, adapter: str) -> Path:
    return run.path / "races" / f"{slug(goal)}-{adapter}.json"
