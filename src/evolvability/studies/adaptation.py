"""Pick a mutation: the best of k at a goal, and how that grows with k (section 5.2.1 of the paper)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from evolvability.core.keys import Purpose, key_for
from evolvability.core.types import PyTree
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.picking import PickedMutation, mean_of_valid, pick, with_circumstances
from evolvability.studies.offspring import parent_at
from evolvability.studies.result_files import ADAPTATIONS, HostArray, keep, kept, kept_names
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import Circumstances, circumstances_in
from evolvability.tasks.goals import Goal


@dataclass(frozen=True)
class Adaptation:
    """What mutations of a run's centers reach when asked for a goal. In a run folder: ``adaptations/GOAL.json``."""

    goal: str
    """What was asked for, by name."""
    start_noise: float
    """By how much start poses differed in the repeated evaluations."""
    scores: HostArray
    """(num_seeds, num_mutations) the score of each mutation in one evaluation."""
    repeated: HostArray
    """(num_seeds, num_mutations, repeats) the scores in further evaluations."""
    parameters: HostArray | None = None
    """(num_seeds, num_params) the mutations that were picked; not kept in the folder."""
    generation: int | None = None
    """The generation of the centers."""
    episodes: int = 1
    """By the mean of how many episodes each mutation was judged."""
    circumstances: str | None = None
    """What else differed in the repeated evaluations, e.g. ``failed_motors 1``; None if nothing."""

    @property
    def performance(self) -> HostArray:
        """(num_seeds,) the mean over further evaluations of each seed's best mutation: what the paper reports."""
        return self.growth()[:, -1]

    def growth(self) -> HostArray:
        """(num_seeds, num_mutations) the performance of the best of k mutations, for k = 1, 2, ...: see `best_of`."""
        return np.stack([best_of(*pair) for pair in zip(self.scores, mean_of_valid(self.repeated), strict=True)])


def best_of(scores: HostArray, performance: HostArray) -> HostArray:
    r"""(n,) the expected performance of the mutation picked by its score among k of n mutations, for k = 1 to n.

    Over all subsets of size k, the mutation of rank i (from the lowest) is picked in a share of
    $\binom{i-1}{k-1} / \binom{n}{k}$: an average over every order in which the mutations could have been drawn.
    Invalid mutations, whose score is nan, are picked in none.

    Examples:
        >>> best_of(np.array([1.0, 3.0, 2.0]), np.array([10.0, 30.0, 20.0]))
        array([20.        , 26.66666667, 30.        ])
    """
    number = len(scores)
    order = np.argsort(np.where(np.isnan(scores), -np.inf, scores), kind="stable")
    performance = np.where(np.isnan(scores), np.nan, performance)[order]
    rank = np.arange(1, number + 1)
    k = rank[:, None]
    # In logarithms: of a thousand mutations there are more subsets than a float can count. Below rank k it is -inf.
    shares = np.exp(_log_binomial(rank - 1, k - 1) - _log_binomial(number, k))
    # Subsets whose pick has no performance are left out, and the others make up the whole.
    shares = np.where(np.isfinite(performance), shares, 0)
    whole = shares.sum(axis=1)
    return np.divide(shares @ np.nan_to_num(performance), whole, where=whole > 0, out=np.full(number, np.nan))


def _log_binomial(n: HostArray | int, k: HostArray) -> HostArray:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def pick_mutation(
    task: Task | str,
    center: PyTree,
    goal: str | Goal,
    *,
    mutations: int = 40,
    episodes: int = 1,
    repeats: int = 10,
    sigma: float | None = None,
    memory: PyTree = None,
    seed: int = 0,
) -> PickedMutation:
    """Mutate a center, and pick the mutation that does best at a goal; of any task.

    Args:
        task: a Task, or the name of a registered one.
        center: the parameters to mutate, as the task's author wrote them or flat.
        goal: ``left``, ``right``, an angle, ``point:X,Y``, ``fitness``, or any ``(outcome) -> (num_members,)``.
        mutations: how many.
        episodes: by the mean of how many each is judged, of a task that varies.
        repeats: further evaluations of each, each with a key of its own.
        sigma: the mutations' standard deviation; default: the task's.
        memory: what the task remembers, e.g. a run's statistics of observations; default: as at the start.
        seed: of mutations and evaluations.

    Examples:
        >>> import jax.numpy as jnp
        >>> from evolvability import function_task
        >>> arm = function_task(lambda x: jnp.tanh(x), start=jnp.zeros(2))
        >>> picked = pick_mutation(arm, jnp.zeros(2), "left", sigma=0.5)
        >>> bool(picked.performance > 0.3 and picked.parameters[0] < -0.3)
        True
    """
    parent = parent_at(task, center, sigma, memory, seed)
    return pick(parent, [goal], parent.task, mutations, repeats, parent.key, episodes)[0]


def adapt(
    run: Run,
    goals: Sequence[str],
    *,
    mutations: int = 40,
    episodes: int = 1,
    repeats: int = 10,
    circumstances: Circumstances | None = None,
) -> list[Adaptation]:
    """Pick a mutation of every seed's center, as the paper does, and keep what came of it in the run's folder.

    Mutations are drawn as the run's population draws its members, with the standard deviation of training, but
    independently. Each is evaluated once as in training, or in several ``episodes``, whose mean counts and which differ
    by ``circumstances``, and then ``repeats`` times in these; default: those of training, with a start noise of 0.1
    where there was none. All goals, named as for `pick_mutation`, are asked of the same mutations.
    """
    parents = run.parents()
    generation = parents[0].generation
    again, wanted = with_circumstances(run.config, run.task, run.by_name, circumstances)
    others = [
        f"{name} {value:g}" for name, value in circumstances_in(wanted).items() if value and name != "start_noise"
    ]
    facts: Any = {"generation": generation, "episodes": episodes, "circumstances": ", ".join(others) or None}
    seeds = [
        pick(parent, goals, again, mutations, repeats, key_for(Purpose.ADAPTATION, parent.key), episodes)
        for parent in parents
    ]
    adaptations = []
    for goal, picked in zip(goals, zip(*seeds, strict=True), strict=True):
        scores, repeated = (np.stack([getattr(one, part) for one in picked]) for part in ("scores", "repeated"))
        vectors = np.stack([one.policy.parameters for one in picked])
        adaptations.append(Adaptation(goal, wanted.start_noise, scores, repeated, vectors, **facts))
        save_adaptation(run, adaptations[-1])
    return adaptations


def save_adaptation(run: Run, adaptation: Adaptation) -> None:
    """Keep an adaptation in a run's folder."""
    # Not the picked parameters: they are as large as a checkpoint.
    keep(run, ADAPTATIONS, adaptation.goal, vars(replace(adaptation, parameters=None)))


def load_adaptation(run: Run, goal: str) -> Adaptation:
    """What `adapt` kept in a run's folder."""
    return Adaptation(**kept(run, ADAPTATIONS, goal, command_line("adapt", run.path, "--direction", goal)))


def adapted_goals(run: Run) -> list[str]:
    """The goals that a run's mutations were picked for."""
    return sorted(kept(run, ADAPTATIONS, name)["goal"] for name in kept_names(run, ADAPTATIONS))
