"""Claims: a statement of the paper and what some run folders say about it; how statements are written and judged."""

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from evolvability import Config, ConfigError, Run, RunFolderError
from evolvability.studies.comparison import p_text
from evolvability.studies.groups import RunGroup, group_runs, method_name, of_common_seeds
from evolvability.studies.statistics import SIGNIFICANT, Paired, Values, mann_whitney, paired, smallest_p

NO_DIFFERENCE = 0.1  # the paper speaks of no difference where p is above this
PAPER_RUNS = 12  # runs per method in the paper, unless it says otherwise

Verdict = Literal["holds", "holds in part", "not shown", "refuted", "not enough runs", "not judged"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds in part", "not shown", "refuted", "not enough runs")
NOT_JUDGED: Verdict = "not judged"
"""Of all statements about runs that are too small to mean anything."""

Kind = Literal["finding", "no difference", "by construction"]
KINDS: tuple[Kind, ...] = ("finding", "no difference", "by construction")
"""What a statement is that holds: that two groups do not differ, or what follows from the method, is not a finding."""

REVERSED = "it is the other way round"
"""Why a statement is refuted whose opposite is significant."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what some runs say about it."""

    statement: str
    """What the paper says of one case, in a sentence."""
    sentence: str
    """The paper's sentence, which may be several statements: what differs between them is written side by side."""
    section: str
    """Where it is in the paper."""
    paper: str
    """The paper's value, as it is printed there."""
    statistic: str
    """What ``value`` measures."""
    ours: str = ""
    """The part of the rule that the paper does not give."""
    kind: Kind = "finding"
    """What it is if it holds."""
    value: float | None = None
    """The statistic of the runs; None without runs."""
    p: float | None = None
    """Its p-value; None where the statement has none, or there are too few runs for any."""
    num_runs: tuple[int, ...] = ()
    """How many runs each group has."""
    verdict: Verdict = "not enough runs"
    """Whether the statement holds for the runs."""
    reason: str = ""
    """Why they cannot tell, why it does not hold or in part only, or how many runs do."""
    medians: tuple[float, ...] = ()
    """The medians of the groups, where two are compared, in the statistic's order."""
    pairs: Paired | None = None
    """Tests by seed, where two groups share seeds, which begin with one network."""
    beside: str = ""
    """The result of another reading, which decides nothing."""
    bound: float | None = None
    """What p is to be below, or above where the paper finds no difference; None where no p-value decides."""
    enough: int = PAPER_RUNS
    """How many runs per group the paper has."""
    is_reversed: bool = False
    """Whether it is the other way round, significantly or not."""


class Answer(NamedTuple):
    """What runs say, as a `Claim` has it."""

    value: float
    """The statistic of the runs."""
    num_runs: tuple[int, ...]
    """How many runs each group has."""
    verdict: Verdict
    """Whether the statement holds for the runs."""
    p: float | None = None
    """The p-value, if there is one."""
    reason: str = ""
    """Why the verdict is not "holds", or how many runs do."""
    medians: tuple[float, ...] = ()
    """The medians of the groups, where two are compared."""
    pairs: Paired | None = None
    """Tests by seed, where two groups share seeds."""
    beside: str = ""
    """The result of another reading, which decides nothing."""
    bound: float | None = None
    """What p is to be below, or above where the paper finds no difference; None where no p-value decides."""
    enough: int = PAPER_RUNS
    """How many runs per group the paper has."""
    is_reversed: bool = False
    """Whether it is the other way round, significantly or not."""


# How a statement is written

EVOLVABILITY = ("max_variance", "max_entropy")
CHOICES: dict[str, Sequence[Any]] = {
    "task": ("cheetah", "ant"),
    "objective": EVOLVABILITY,
    "generation": (5, 10, 20),
    "origin": ("mixture", "split"),
    "size": ("sigma", "quarter"),
    "reading": ("words", "figure"),
    "level": ("same", "own"),
    "radius": ("units", "reach"),
    "actions": ("mean", "drawn"),
}
"""What statements are made about, one by one: the values of arguments of these names."""
WORDS: dict[Any, dict[str, str]] = {
    "max_variance": {"method": method_name("max_variance"), "species": "figure S4"},
    "max_entropy": {"method": method_name("max_entropy"), "species": "figure 7"},
    "cheetah": {"section": "5.2", "curves": "figure S1", "parameters": "74,246"},
    "ant": {"section": "5.3", "curves": "figure S2", "parameters": "75,272"},
    ("cheetah", "max_variance"): {"share": "92.1"},
    ("cheetah", "max_entropy"): {"share": "93.9"},
    ("ant", "max_variance"): {"share": "85.4"},
    ("ant", "max_entropy"): {"share": "83.2"},
    "mixture": {"how": "mixture from scratch"},
    "split": {"how": "split after training"},
    "sigma": {"smaller": "sigma", "where": "5.2.1", "printed": "p < 0.00005"},
    "quarter": {"smaller": "0.25 sigma", "where": "figure S5", "printed": "similar results"},
    "words": {"spread": "variance of distance"},
    "figure": {"spread": "variance of x"},
    "same": {"half": "half of the nearer one's final distance"},
    "own": {"half": "half of its own final distance"},
    "units": {"near": "5 units"},
    "reach": {"near": "a tenth of standard ES's median distance"},
    "mean": {"acts": "its mean actions"},
    "drawn": {"acts": "actions drawn as in its training"},
}
"""What the paper says of a value, or of several together."""

Judge = Callable[..., Answer]


@dataclass(frozen=True)
class Statement:
    """A statement of the paper; called with runs of any kind, it is a `Claim`."""

    item: str
    """The item of the paper that it belongs to, by name."""
    claim: Claim
    """What the paper says, without any runs."""
    judge: Judge
    """Finds the runs that it is about by their configurations, and answers."""

    def __call__(self, runs: Sequence[Run]) -> Claim:
        """The claim with its answer, or with the reason why there is none."""
        try:
            return replace(self.claim, **self.judge(runs)._asdict())
        except (ConfigError, RunFolderError) as error:  # runs or studies of them are missing, or runs are too short
            return replace(self.claim, reason=str(error))


CLAIMS: dict[str, Statement] = {}
"""Every statement by name, as `statement` enters them."""


def statement(
    item: str, section: str, paper: str, statistic: str, ours: str = "", kind: Kind = "finding"
) -> Callable[[Judge], Judge]:
    """Enter a sentence of the paper into `CLAIMS`, once for each combination of `CHOICES`; ours, kind: see `Claim`.

    It decorates a function from runs, and one value per choice that it has an argument for, to an `Answer`. The
    function's docstring is what the paper says; its name with the values is the claim's name. In all texts, ``{task}``
    stands for the value of the choice ``task``, and ``{method}`` for what `WORDS` has of a value under that key.
    """

    def enter(judge: Judge) -> Judge:
        _, *arguments = inspect.signature(judge).parameters  # the first is the runs
        combinations = list(itertools.product(*(CHOICES[argument] for argument in arguments)))
        every = [_words(dict(zip(arguments, values, strict=True))) for values in combinations]
        together = {key: "/".join(dict.fromkeys(str(words[key]) for words in every)) for key in every[0]}
        template = (judge.__doc__ or "").rstrip(".")
        for values, words in zip(combinations, every, strict=True):
            says, where, printed, measured = (text.format(**words) for text in (template, section, paper, statistic))
            name = "/".join([judge.__name__.replace("_", "-"), *map(str, values)])
            claim = Claim(says, template.format(**together), where, printed, measured, ours, kind)
            chosen = dict(zip(arguments, values, strict=True))
            CLAIMS[name] = Statement(item.format(**words), claim, partial(judge, **chosen))
        return judge

    return enter


def _words(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What texts say of some values: words of each, then of all together, as a share belongs to a task and a method."""
    words, values = dict(chosen), tuple(chosen.values())
    for key in (*values, values):
        words |= WORDS.get(key, {})
    return words


# How it is judged


Seeded = Mapping[int, float]  # values by seed
Compared = Seeded | Values


def is_more(first: Compared, second: Compared, *, bound: float = SIGNIFICANT) -> Answer:
    """Whether values of the first group are above those of the second; see `difference`."""
    # The test is two-sided, so that the direction is asked for itself.
    found = compared(first, second)
    return judged_by(found._replace(bound=bound, is_reversed=found.value <= 0.5))


def is_same(first: Compared, second: Compared, *, enough: int = PAPER_RUNS) -> Answer:
    """Whether two groups show no difference; see `no_difference`."""
    return judged_by(compared(first, second)._replace(bound=NO_DIFFERENCE, enough=enough), finds_none=True)


def judged_by(found: Answer, *, finds_none: bool = False) -> Answer:
    """An answer with the verdict of its own p-values; without one, as it is."""
    if found.p is None:
        return found
    rule = no_difference if finds_none else difference
    verdict, reason = rule(found, found.p, by_pairs(found))
    return found._replace(verdict=verdict, reason=reason)


def by_pairs(found: Answer | Claim) -> float | None:
    """The p-value of signed ranks, if there is one."""
    return None if found.pairs is None else found.pairs.wilcoxon


def difference(found: Answer | Claim, p: float, pairs: float | None = None) -> tuple[Verdict, str]:
    """The verdict on a statement that finds one, by a p-value that may be corrected; tests by pairs decide nothing.

    It holds with a p-value below the paper's bound, in its direction. Below 0.05 but not below the bound, it holds in
    part; so it does where so few runs cannot have a p-value below it. Fewer runs than the paper's cannot leave a
    difference unshown.
    """
    assert found.bound is not None  # for type checkers: others are not judged by a p-value
    if p >= SIGNIFICANT:
        if (least := min(found.num_runs)) >= found.enough:
            return "not shown", "no significant difference"
        few = f"not significant in {least} runs, where the paper has {found.enough}: more might show it"
        return "not enough runs", few
    if found.is_reversed:
        return "refuted", REVERSED
    if p < found.bound:
        return "holds", ""
    # Five digits: the paper's smallest bound is 0.00005.
    reason = f"p is below {SIGNIFICANT:g}, but not below the paper's {found.bound:.5f}".rstrip("0")
    if len(found.num_runs) > 1 and (smallest := smallest_p(*found.num_runs)) >= found.bound:
        sizes = " and ".join(map(str, found.num_runs))
        reason += f"; with {sizes} runs the smallest possible p is {smallest:.2g}"
    return "holds in part", reason


def no_difference(found: Answer | Claim, p: float, pairs: float | None = None) -> tuple[Verdict, str]:
    """The verdict on a statement that finds none, by p-values that may be corrected.

    A corrected one refutes it. It holds where its own p-value, which is never corrected, lies above 0.1 in as many runs
    as the paper has, since a difference is harder to find among fewer. Seeds begin with the same network, so that a
    test by pairs sees smaller differences: where it does, the statement holds in part.
    """
    assert found.p is not None  # for type checkers
    if p <= SIGNIFICANT:
        return "refuted", "they differ"
    if found.p <= NO_DIFFERENCE:
        return "holds in part", f"p is not above the paper's {NO_DIFFERENCE:g}"
    if pairs is not None and pairs <= SIGNIFICANT:
        return "holds in part", f"by pairs they differ, p = {p_text(pairs)}"
    if (least := min(found.num_runs)) < found.enough:
        few = f"no difference in {least} runs, where the paper has {found.enough}: more might show one"
        return "holds in part", few
    return "holds", ""


def compared(first: Compared, second: Compared) -> Answer:
    """Two groups and their tests, without a verdict yet; p is None where there are too few runs for any."""
    pairs = None
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        both = of_common_seeds(first, second)
        pairs = paired(*both) if both[0] else None
    values = numbers(first), numbers(second)
    test = mann_whitney(*values)
    medians = float(np.median(values[0])), float(np.median(values[1]))
    return Answer(test.effect, test.num_runs, "not enough runs", test.p, test.reason, medians, pairs)


def numbers(values: Compared) -> Values:
    """Values without their seeds."""
    return list(values.values()) if isinstance(values, Mapping) else values


def in_most(values: Compared, meets: Callable[[float], bool]) -> Answer:
    """Whether more than half of the runs meet a condition; where some do, but not so many, it holds in part."""
    values = numbers(values)
    number = sum(meets(float(value)) for value in values)
    verdict: Verdict = "holds" if 2 * number > len(values) else "holds in part" if number else "refuted"
    reason = f"{number} of {len(values)} runs do"
    return Answer(float(np.median(values)), (len(values),), verdict, reason=reason)


# Which runs it is about


def trained_by(runs: Sequence[Run], task: str, objective: str) -> RunGroup:
    """The group of runs trained from scratch, for standard ES those that go right; the longest if there are several."""
    chosen = [run for run in runs if _is_trained(run.config, task, objective)]
    return _longest(chosen, f"runs of '{task}' trained by {method_name(objective)}")


def trained_pair(runs: Sequence[Run], task: str, objective: str) -> tuple[RunGroup, RunGroup]:
    """The runs of standard ES, and those of Evolvability ES."""
    return trained_by(runs, task, "mean_fitness"), trained_by(runs, task, objective)


def species(runs: Sequence[Run], task: str, objective: str, *, split: bool) -> RunGroup:
    """The group of mixtures from scratch, or of populations that were split after training."""
    wanted = (task, objective, "mixture")
    mixtures = [run for run in runs if (run.config.task, run.config.objective, run.config.population) == wanted]
    how = "split after training by" if split else "of mixtures trained by"
    chosen = [run for run in mixtures if bool(run.config.start_from) == split]
    return _longest(chosen, f"runs of '{task}' {how} {method_name(objective)}")


def evolved_from(runs: Sequence[Run], task: str, objective: str | None) -> RunGroup:
    """The group of standard ES runs to the right, from a population trained by an objective or a random one."""
    wanted = (task, "mean_fitness", "right")
    further = [run for run in runs if (run.config.task, run.config.objective, run.config.goal) == wanted]
    chosen = [run for run in further if (run.origin["config"]["objective"] if run.origin else None) == objective]
    # That is the task's own fitness, so standard ES from scratch is a random start as well.
    if objective is None and not chosen:
        return trained_by(runs, task, "mean_fitness")
    start = "a random start" if objective is None else f"populations of {method_name(objective)}"
    return _longest(chosen, f"runs of '{task}' by standard ES to the right from {start}")


def _longest(runs: Sequence[Run], what: str) -> RunGroup:
    if not runs:
        raise RunFolderError(f"There are no {what}.")
    return max(group_runs(runs), key=lambda group: group.config.generations)


def _is_trained(config: Config, task: str, objective: str) -> bool:
    right = ("", "right", "0", "fitness")  # every way to ask for the robots' own fitness, the way to the right
    aimed = config.goal in right and str(getattr(config.task_options, "direction", "right")) in right
    found = (config.task, config.objective, config.population != "mixture", config.start_from)
    # The goal is nothing to Evolvability ES: it counts for standard ES alone.
    return found == (task, objective, True, "") and (aimed or objective != "mean_fitness")
