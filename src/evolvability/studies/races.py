"""Races of adapters: what a run's centers reach by each, over the episodes used. Kept in the run's folder."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from evolvability.config.schema import ES_MAML, MAML
from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import written_out
from evolvability.runs.checkpoints import load_checkpoint
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.parents import Parent
from evolvability.runs.picking import evaluator, mean_of_valid, scores_of, with_start_noise
from evolvability.studies.adapters import AdaptationContext, Start, adapter_named
from evolvability.studies.result_files import RACES, HostArray, each_seed, finish, keep, kept, kept_names
from evolvability.tasks.goals import goal_named


@dataclass(frozen=True)
class Raced:
    """How one adapter did on a run's centers. In a run folder: ``races/GOAL-ADAPTER.json``."""

    goal: str  # what was asked for
    adapter: str
    episodes: HostArray  # (num_points,) used so far; the first is zero
    repeated: HostArray  # (num_seeds, num_points, repeats) the goal's scores of the parameters settled for by then
    generation: int | None = None  # of the centers

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
    *,
    episodes: int = 40,
    repeats: int = 10,
) -> list[Raced]:
    """Adapt every seed's center to goals in several ways, and keep what came of it in the run's folder.

    Whatever an adapter settles for within a budget of ``episodes`` is evaluated as members of a population are: its
    network alone, without noise in its actions, ``repeats`` times with different start states where the task has them.
    The run's own adapter is raced unless others are named.
    """
    parents = run.parents()
    generation = parents[0].generation
    wanted = {goal: goal_named(goal, run.task) for goal in goals}
    context = AdaptationContext(run.task, evaluator(run.task), parents[0].sigma, episodes, run.config.maml)
    ways = {name: adapter_named(name, context) for name in adapters or (own_adapter(run),)}
    again = evaluator(with_start_noise(run.config, run.task, run.by_name, None)[0])
    starts = starts_of(run, parents)
    raced, studies = [], []
    for goal, name in itertools.product(goals, ways):
        # Defaults bind the loop's present values.
        def of_seed(index: int, goal: str = goal, name: str = name) -> dict[str, HostArray]:
            # The same key for all adapters and goals: results are evaluated under the same conditions.
            key = key_for(Purpose.RACE, parents[index].key)
            key_adapt, key_again = jax.random.split(key)
            trace = ways[name](key_adapt, starts[index], goal)
            sample, memory = written_out(trace.parameters), starts[index].memory
            outcomes = [again(key_repeat, sample, memory)[0] for key_repeat in jax.random.split(key_again, repeats)]
            scores = np.stack([scores_of(wanted[goal], outcome) for outcome in outcomes], axis=1)
            return {"episodes": trace.episodes, "scores": scores}

        studies.append(f"race {generation} {goal} {name} {episodes} {repeats}")
        seeds = each_seed(run, studies[-1], of_seed)
        scores = np.stack([own["scores"] for own in seeds])
        # Episodes follow from adapter and budget: they are the same for every seed.
        raced.append(Raced(goal, name, seeds[0]["episodes"], scores, generation))
    # All together at the end: until then an interrupted race finds every part of it where it was.
    for one in raced:
        save_race(run, one)
    finish(run, studies)
    return raced


def starts_of(run: Run, parents: Sequence[Parent]) -> list[Start]:
    """What of a run is adapted: every seed's center, and its deviations of actions where it learned some."""
    learned = load_checkpoint(run.path)[1].get("log_std")
    log_stds = [None] * len(parents) if learned is None else [jnp.asarray(own) for own in learned]
    return [Start(own.cloud.center[0], log_std, own.memory) for own, log_std in zip(parents, log_stds, strict=True)]


def save_race(run: Run, raced: Raced) -> None:
    """Keep a race in a run's folder."""
    keep(run, RACES, f"{raced.goal}-{raced.adapter}", vars(raced))


def load_race(run: Run, goal: str, adapter: str) -> Raced:
    """What `race` kept in a run's folder."""
    command = command_line("race", run.path, "--direction", goal, "--adapters", adapter)
    return Raced(**kept(run, RACES, f"{goal}-{adapter}", command))


def races_of(run: Run) -> list[Raced]:
    """All races in a run's folder."""
    return [Raced(**kept(run, RACES, name)) for name in kept_names(run, RACES)]
