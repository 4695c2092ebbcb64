"""Parents, which mutations are drawn around; and the best of their mutations, at a goal and in some evaluations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.config.build import build_population
from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError, RunFolderError, TaskError
from evolvability.core.populations import Population
from evolvability.core.types import Outcome, Parameters, PyTree, Sample
from evolvability.runs.policy import TrainedPolicy
from evolvability.runs.sealed import Arrays
from evolvability.runs.trees import restore
from evolvability.tasks.base import Task, with_episodes
from evolvability.tasks.circumstances import Circumstances, circumstances_in, usual_circumstances
from evolvability.tasks.directions import FITNESS, FORMS
from evolvability.tasks.goals import Goal, goal_named, mean_score
from evolvability.tasks.registry import make_task
from evolvability.tasks.replay import HostArray

Evaluate = Callable[[Array, Sample, PyTree], tuple[Outcome, PyTree]]


@dataclass(frozen=True)
class Parent:
    """What mutations are drawn around."""

    task: Task
    """The task of its parameters."""
    config: Config
    """How mutations are drawn: population and standard deviation."""
    parameters: Parameters
    """The population's learned parameters, of one seed."""
    memory: PyTree
    """What the task remembers, e.g. statistics of observations."""
    key: Array
    """The random key that noise and episodes follow from."""
    generation: int = 0
    """The generation drawn around it, on which a decaying sigma depends."""
    population: Population | None = None
    """The population that draws mutations, where it was given as an object."""

    def drawn_by(self) -> Population:
        """The population that draws mutations."""
        return self.population or build_population(self.config, self.task.shapes)

    @property
    def sigma(self) -> float:
        """The mutations' standard deviation in this generation; the mean where there are several."""
        return float(jnp.mean(self.drawn_by().scale(self.parameters, self.generation)))

    def mutations(self, key: Array, number: int) -> Sample:
        """Independent mutations, drawn as the population draws its members."""
        sample = self.drawn_by().sample(key, self.parameters, self.generation, jnp.arange(number))
        # One of each mirrored pair: the two are not independent.
        return sample._replace(sign=sample.sign[:1])

    def policy(self, parameters: PyTree) -> TrainedPolicy:
        """Parameters, flat or as the task's author wrote them, with the statistics that they were trained with."""
        flat = np.asarray(ravel_pytree(parameters)[0], np.float32)
        check_size(len(flat), self.task, "What was given")
        memory = jax.device_get(self.memory)
        return TrainedPolicy(self.task.name, flat, self.task.network, memory, self.task.actions)


def parents_from(
    arrays: Arrays, config: Config, task: Task, generation: int, *, where: str, population: Population | None = None
) -> list[Parent]:
    """The parents in arrays named as in a checkpoint, one per seed; ``where``: what the arrays are of, for people."""
    # Not by `restore`, which is strict: a slim export may have it in 16 bits.
    center = jnp.asarray(arrays["parameters/center"], jnp.float32)
    if len(center) != config.seeds:
        raise RunFolderError(f"{where} has centers of {len(center)} seeds, but its configuration says {config.seeds}.")
    check_size(center.shape[2], task, where)
    log_scale = arrays.get("parameters/log_scale")
    parameters = Parameters(center, None if log_scale is None else jnp.asarray(log_scale))
    # A checkpoint has a seed axis in front; the task's own memory has none.
    template = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (len(center), *np.shape(leaf))), task.memory)
    memory = restore({"memory": template}, arrays)["memory"]
    parents = []
    for index in range(len(center)):
        own, seen = jax.tree.map(lambda leaf, index=index: leaf[index], (parameters, memory))
        parents.append(Parent(task, config, own, seen, jax.random.key(config.seed + index), generation, population))
    return parents


def num_params(task: Task) -> int:
    """How many parameters members have."""
    return int(jax.eval_shape(task.init, jax.random.key(0)).shape[0])  # traced only: nothing is computed


def check_size(size: int, task: Task, what: str) -> None:
    """Refuse parameters of another network than the task's."""
    if size != (number := num_params(task)):
        raise ConfigError(
            f"{what} has {size:,} parameters, but task '{task.name}' {number:,}. Give its options, e.g. hidden=64."
        )


class PickedMutation(NamedTuple):
    """The best of some mutations."""

    parameters: PyTree
    """The mutation, in the form of the task's parameters, e.g. a dictionary."""
    policy: TrainedPolicy
    """The same mutation as a function from observation to action, which can be saved."""
    performance: float
    """Its mean score over the repeated evaluations."""
    chosen: int
    """The index of the picked mutation."""
    scores: HostArray
    """(num_mutations,) the score of every mutation in one evaluation, by which it was picked; nan where invalid."""
    repeated: HostArray
    """(num_mutations, repeats) the scores of every mutation in further evaluations, in circumstances that differ."""
    behavior: HostArray
    """(num_mutations, num_behaviors) the behavior of every mutation in the first evaluation."""

    def __repr__(self) -> str:
        how_well = f"performance {self.performance:.4g} in {self.repeated.shape[1]} evaluations"
        return f"PickedMutation({self.chosen} of {len(self.scores)}, {how_well})"


def pick(
    parent: Parent,
    goals: Sequence[str | Goal],
    again: Task,
    mutations: int,
    repeats: int,
    key: Array,
    episodes: int = 1,
) -> list[PickedMutation]:
    """The best of some mutations at each of several goals, asked of the same mutations.

    Args:
        parent: what they are drawn around.
        goals: by name, or any ``(outcome) -> (num_members,)``.
        again: the task of the repeated evaluations, see `with_circumstances`.
        mutations: how many.
        repeats: further evaluations of each.
        key: of their noise and their episodes.
        episodes: by the mean of how many a mutation is picked; of several, in circumstances as of ``again``.
    """
    check_number(mutations, "mutations")
    check_number(repeats, "repeats")
    check_number(episodes, "episodes")
    wanted = [goal_of(parent, goal) for goal in goals]
    key_noise, key_once, key_again = pick_keys(key)
    sample, memory = parent.mutations(key_noise, mutations), parent.memory
    # Once as in training, as the paper does. Several times, circumstances have to differ.
    once = evaluator(parent.task if episodes == 1 else with_episodes(again, episodes))
    repeat = evaluator(again)
    # All mutations, not the picked one alone: `Adaptation.growth` asks for the best of any k of them.
    further = [repeat(key_repeat, sample, memory)[0] for key_repeat in jax.random.split(key_again, repeats)]
    outcome = once(key_once, sample, memory)[0]
    return [_best(parent, sample, goal, outcome, further) for goal in wanted]


def check_number(number: int, what: str) -> None:
    """Refuse what is not a whole number, or not a positive one."""
    if not isinstance(number, int) or number < 1:
        raise ConfigError(f"{what}: a whole number of 1 or more is expected, got {number!r}.")


def pick_keys(key: Array) -> Array:
    """(3,) the keys of the mutations' noise, of their first evaluation, and of the repeated ones."""
    return jax.random.split(key, 3)


def goal_of(parent: Parent, goal: Any) -> Goal:
    """A goal by its name; the fitness of a run that was given a goal is that goal."""
    if not isinstance(goal, str):
        if not callable(goal):
            as_text = f" Write it as a text: '{goal}'." if isinstance(goal, int | float) else ""
            raise ConfigError(f"A goal is {FORMS}, or a function of an outcome, got {goal!r}.{as_text}")
        return goal
    return goal_named(parent.config.goal if goal == FITNESS and parent.config.goal else goal, parent.task)


def with_circumstances(
    config: Config, task: Task, by_name: bool, wanted: Circumstances | None = None
) -> tuple[Task, Circumstances]:
    """The task in circumstances that are wanted, where it has such options, and which they are.

    ``by_name`` tells whether the task is the one that the configuration names, and no object of the user's.
    """
    if by_name and isinstance(config.task_options, Circumstances):
        wanted = usual_circumstances(config.task_options) if wanted is None else wanted
        return _made(config.task, replace(config.task_options, **circumstances_in(wanted))), wanted
    if wanted is not None and wanted.varies:
        names = ", ".join(name for name, value in circumstances_in(wanted).items() if value)
        raise ConfigError(f"Task '{task.name}' has no option {names}: its episodes differ by their key alone.")
    return task, Circumstances()


@lru_cache(maxsize=4)  # a task made anew would be compiled anew
def _made(name: str, options: Any) -> Task:
    return make_task(name, options)


def evaluator(task: Task) -> Evaluate:
    """A task's evaluate, compiled where it can be."""
    return task.evaluate if task.on_host else jax.jit(task.evaluate)


def scores_of(goal: Goal, outcome: Outcome) -> HostArray:
    """(num_members,) what an outcome is worth for a goal; nan where invalid."""
    scores = np.asarray(mean_score(goal, outcome), np.float64)
    return np.where(np.asarray(outcome.valid), scores, np.nan)


def mean_of_valid(repeated: HostArray) -> HostArray:
    """Means over the last axis, of what is valid."""
    means: HostArray = np.ma.masked_invalid(repeated).mean(axis=-1).filled(np.nan)
    return means


def _best(parent: Parent, sample: Sample, goal: Goal, outcome: Outcome, further: Sequence[Outcome]) -> PickedMutation:
    scores = scores_of(goal, outcome)
    if np.isnan(scores).all():
        raise TaskError(f"Task '{parent.task.name}': none of the {len(scores)} mutations is valid: there is no best.")
    repeated = np.stack([scores_of(goal, one) for one in further], axis=1)
    chosen = int(np.nanargmax(scores))
    # Mutations are not mirrored: member and draw have the same number.
    vector = sample.of_draws(np.array([chosen])).members()[0]
    performance, behavior = float(mean_of_valid(repeated)[chosen]), np.asarray(outcome.behavior)
    parameters = parent.task.unflatten(vector)
    return PickedMutation(parameters, parent.policy(vector), performance, chosen, scores, repeated, behavior)
