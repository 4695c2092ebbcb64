"""Races of adapters: what a run's centers reach by each, over the episodes used. Kept in the run's folder."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import RunFolderError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import Outcome, PyTree, sample_of
from evolvability.methods.registry import MAML, MamlOptions
from evolvability.methods.rollouts import Actor, roll_out
from evolvability.runs.checkpoints import load_checkpoint
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.picking import Evaluate, Parent, evaluator, mean_of_valid, scores_of, with_circumstances
from evolvability.studies.adapters import AdaptationContext, Start, Trace, adapter_named
from evolvability.studies.result_files import RACES, HostArray, keep, kept, kept_names
from evolvability.tasks.base import Task, world_of
from evolvability.tasks.goals import Goal, goal_named


@dataclass(frozen=True)
class Raced:
    """How one adapter did on a run's centers. In a run folder: ``races/GOAL-ADAPTER.json``."""

    goal: str
    """What was asked for."""
    adapter: str
    """The name of the adapter."""
    episodes: HostArray
    """(num_points,) episodes used so far; the first is zero."""
    repeated: HostArray
    """(num_seeds, num_points, repeats) the goal's scores of the parameters settled for by then."""
    generation: int | None = None
    """The generation of the centers."""
    fixed: HostArray | None = None
    """(num_seeds, num_points, 1) the same scores from the start state of training."""
    drawn: HostArray | None = None
    """(num_seeds, num_points, repeats) the same scores with drawn actions, for gradient steps, which explore by
    actions."""
    drawn_fixed: HostArray | None = None
    """(num_seeds, num_points, repeats) scores with drawn actions from the start state of training."""

    @property
    def performance(self) -> HostArray:
        """(num_seeds, num_points) means over the evaluations."""
        return mean_of_valid(self.repeated)

    def reached(self, actions: str, start: str) -> HostArray:
        """(num_seeds, num_points) means with ``mean`` or ``drawn`` actions, from ``varied`` or ``fixed`` starts."""
        cells = {"mean": (self.repeated, self.fixed), "drawn": (self.drawn, self.drawn_fixed)}
        found = cells[actions][start == "fixed"]
        if found is None:
            raise RunFolderError(f"A race to '{self.goal}' by {self.adapter} has no {actions} actions, {start} start.")
        return mean_of_valid(found)


def own_adapter(run: Run) -> str:
    """The adapter a run's method stands for: the best mutation, unless it was trained for gradient steps."""
    return "gradient" if run.config.objective == MAML else "mutations"


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
    network alone, without noise in its actions, ``repeats`` times with different start states where the task has them,
    and once from the start state of training; of gradient steps also with drawn actions. The run's own adapter is raced
    unless others are named.
    """
    parents = run.parents()
    wanted = {goal: goal_named(goal, run.task) for goal in goals}
    varied = with_circumstances(run.config, run.task, run.by_name)[0]
    once, again = evaluator(run.task), evaluator(varied)
    own = run.config.objective_options
    gradients = own if isinstance(own, MamlOptions) else MamlOptions()
    context = AdaptationContext(run.task, once, parents[0].sigma, episodes, gradients)
    ways = {name: adapter_named(name, context) for name in adapters or (own_adapter(run),)}
    tasks = {"drawn": varied, "drawn_fixed": run.task} if "gradient" in ways else {}
    drawn = {part: _drawn_episodes(task, repeats) for part, task in tasks.items()}
    starts = starts_of(run, parents)

    def of_seed(key: Array, start: Start, goal: str, name: str) -> dict[str, HostArray]:
        # The same key for all adapters and goals: results are evaluated under the same conditions.
        key_adapt, key_again = jax.random.split(key_for(Purpose.RACE, key))
        trace = ways[name](key_adapt, start, goal)
        found = {
            "episodes": trace.episodes,
            "repeated": _scores(again, key_again, trace, start.memory, wanted[goal], repeats),
            "fixed": _scores(once, key_again, trace, start.memory, wanted[goal], 1),
        }
        if trace.log_stds is not None:
            actors = Actor(trace.parameters, trace.log_stds)
            for part, follow in drawn.items():
                outcome = follow(key_again, actors, start.memory)
                found[part] = scores_of(wanted[goal], outcome).reshape(-1, repeats)
        return found

    raced = []
    for goal, name in itertools.product(goals, ways):
        seeds = [of_seed(parent.key, start, goal, name) for parent, start in zip(parents, starts, strict=True)]
        parts = {part: np.stack([own[part] for own in seeds]) for part in seeds[0] if part != "episodes"}
        # Episodes follow from adapter and budget: they are the same for every seed.
        raced.append(Raced(goal, name, seeds[0]["episodes"], generation=parents[0].generation, **parts))
        save_race(run, raced[-1])
    return raced


def _scores(again: Evaluate, key: Array, trace: Trace, memory: PyTree, goal: Goal, repeats: int) -> HostArray:
    """(num_points, repeats) of networks alone."""
    sample = sample_of(trace.parameters)
    outcomes = [again(key_repeat, sample, memory)[0] for key_repeat in jax.random.split(key, repeats)]
    return np.stack([scores_of(goal, outcome) for outcome in outcomes], axis=1)


def _drawn_episodes(task: Task, repeats: int) -> Callable[[Array, Actor, PyTree], Outcome]:
    """From several actors to the outcome of so many episodes of each, actor by actor, with actions drawn at random."""
    world = world_of(task)

    @jax.jit
    def episodes(key: Array, actors: Actor, memory: PyTree) -> Outcome:
        # Rewards count for nothing here, so that any goals do.
        goals = world.goals.draw(key, len(actors.center))
        outcome = roll_out(world, key, actors, goals, memory, repeats, 1.0).outcome
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), outcome)

    return episodes


def starts_of(run: Run, parents: Sequence[Parent]) -> list[Start]:
    """What of a run is adapted: every seed's center, and its deviations of actions where it learned some."""
    learned = load_checkpoint(run.path)[1].get("log_std")
    log_stds = [None] * len(parents) if learned is None else [jnp.asarray(own) for own in learned]
    return [
        Start(own.parameters.center[0], log_std, own.memory) for own, log_std in zip(parents, log_stds, strict=True)
    ]


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
