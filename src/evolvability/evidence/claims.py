"""Claims: a statement of the paper, and what some run folders say about it. `paper_claims` has the statements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evolvability.config import Config
from evolvability.errors import RunFolderError
from evolvability.evidence.groups import METHODS, RunGroup, group_runs
from evolvability.evidence.statistics import SIGNIFICANT, Test, Values, mann_whitney, smallest_p
from evolvability.runs import Run

NO_DIFFERENCE = 0.1
"""The paper calls a difference none where p is above this."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what some runs say about it.

    Attributes:
        statement: what the paper says.
        section: where.
        paper: its value, as it is printed there.
        statistic: what ``value`` is.
        value: the statistic of the runs; None without runs.
        p: its p-value; None where the statement has none, or there are too few runs for any.
        num_runs: how many runs each group has.
        holds: whether the statement holds for the runs; None where they cannot tell.
        reason: why they cannot.
    """

    statement: str
    section: str
    paper: str
    statistic: str
    value: float | None = None
    p: float | None = None
    num_runs: tuple[int, ...] = ()
    holds: bool | None = None
    reason: str = ""


class Answer(NamedTuple):
    """What runs say: the statistic, how many runs a group, whether the statement holds, and the test, if it has one."""

    value: float
    num_runs: tuple[int, ...]
    holds: bool
    test: Test | None = None


def claim(statement: str, section: str, paper: str, statistic: str, answer: Callable[[], Answer]) -> Claim:
    """A claim with its answer, or with the reason why there is none: runs are missing, or too few for the test."""
    try:
        found = answer()
    except RunFolderError as error:
        return Claim(statement, section, paper, statistic, reason=str(error))
    p, reason = (found.test.p, found.test.reason) if found.test is not None else (None, "")
    holds = None if reason else found.holds
    return Claim(statement, section, paper, statistic, found.value, p, found.num_runs, holds, reason)


def is_more(first: Values, second: Values, bound: float) -> Answer:
    """Whether values of the first group are above those of the second, with p below a bound.

    The paper's bounds are for its 12 runs. Of fewer runs, where no p-value can be that small, 0.05 is asked for.
    """
    test = mann_whitney(first, second)
    bound = bound if smallest_p(len(first), len(second)) < bound else SIGNIFICANT
    significant = test.p is not None and test.p < bound
    return Answer(test.effect, (len(first), len(second)), significant and test.effect > 0.5, test)


def is_same(first: Values, second: Values) -> Answer:
    """Whether two groups show no difference."""
    test = mann_whitney(first, second)
    return Answer(test.effect, (len(first), len(second)), test.p is not None and test.p > NO_DIFFERENCE, test)


def trained_by(runs: Sequence[Run], task: str, objective: str) -> RunGroup:
    """The group of runs trained from scratch, for standard ES those that go right; the longest if there are several."""
    chosen = [run for run in runs if _is_trained(run.config, task, objective)]
    return _longest(chosen, f"runs of '{task}' trained by {METHODS[objective]}")


def species(runs: Sequence[Run], task: str, objective: str, *, split: bool) -> RunGroup:
    """The group of mixtures from scratch, or of populations that were split after training."""
    wanted = (task, objective, "mixture")
    mixtures = [run for run in runs if (run.config.task, run.config.objective, run.config.population) == wanted]
    how = "split after training by" if split else "of mixtures trained by"
    chosen = [run for run in mixtures if bool(run.config.start_from) == split]
    return _longest(chosen, f"runs of '{task}' {how} {METHODS[objective]}")


def evolved_from(runs: Sequence[Run], task: str, objective: str | None, goal: str = "right") -> RunGroup:
    """The group of standard ES runs to a goal that start from a population trained by an objective, or a random one."""
    wanted = (task, "mean_fitness", goal)
    further = [run for run in runs if (run.config.task, run.config.objective, run.config.goal) == wanted]
    chosen = [run for run in further if _origin(run) == objective]
    start = "a random start" if objective is None else f"populations of {METHODS[objective]}"
    return _longest(chosen, f"runs of '{task}' by standard ES to '{goal}' from {start}")


def _longest(runs: Sequence[Run], what: str) -> RunGroup:
    if not runs:
        raise RunFolderError(f"There are no {what}.")
    return max(group_runs(runs), key=lambda group: group.config.generations)


def _is_trained(config: Config, task: str, objective: str) -> bool:
    right = ("", "right", "0", "fitness")
    aimed = config.goal in right and str(getattr(config.task_options, "direction", "right")) in right
    found = (config.task, config.objective, config.population != "mixture", config.start_from)
    return found == (task, objective, True, "") and (aimed or objective != "mean_fitness")


def _origin(run: Run) -> str | None:
    return None if run.origin is None else str(run.origin["config"]["objective"])
