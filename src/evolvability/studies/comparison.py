"""A comparison of groups of runs by one number per seed, for the terminal, for Markdown and as JSON."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from evolvability.core.errors import ConfigError, given, unknown
from evolvability.runs.files import markdown_text
from evolvability.runs.folder import Run
from evolvability.studies.adaptation import load_adaptation
from evolvability.studies.adapters import ADAPTERS
from evolvability.studies.groups import RunGroup, by_seed, differing_settings, group_runs, metric_unit, unit_of
from evolvability.studies.measures import (
    Measures,
    MeasureScale,
    common_reach,
    measure_scale,
    measures,
    specialization_of,
    whole_populations,
)
from evolvability.studies.offspring import kept_offspring
from evolvability.studies.races import load_race, own_adapter
from evolvability.studies.statistics import Comparison, Correction, Interval, compare_all, median_interval

MEASURES = tuple(field.name for field in dataclasses.fields(Measures) if field.name != "repeatability")
"""Of behaviors alone; repeatability takes episodes, and is in metrics.jsonl where there are any."""
SPECIALIZATION = "specialization"
OF_BEHAVIORS = (*MEASURES, SPECIALIZATION)
"""Measured on recorded behaviors; where metrics.jsonl has one of the same name, that is taken."""
LESS_IS_BETTER = ("degenerate",)
ADAPTED, RACED, OFFSPRING = "adapted", "raced", "offspring"


@dataclass(frozen=True)
class ComparisonReport:
    """A metric of several groups, compared."""

    metric: str
    """The metric's name."""
    generation: int | None
    """The generation compared; None for each run's last."""
    task: str
    """The task of the runs."""
    values: dict[str, list[float]]
    """The metric's value for each seed, by group."""
    intervals: dict[str, Interval]
    """The median of each group, with its interval."""
    comparisons: list[Comparison]
    """The test of every pair of groups."""
    correction: Correction | None
    """How p-values were corrected for their number, if they were."""
    remarks: list[str]
    """In what else the groups differ: their lengths and settings."""
    unit: str = ""
    """The metric's unit, where it is known."""


def compare_runs(
    runs: Sequence[Run],
    metric: str,
    *,
    generation: int | Literal["last"] | None = None,
    correction: Correction | None = None,
) -> ComparisonReport:
    """Compare groups of runs of one task, which are found by their configurations, by one metric: see `quantity`.

    At a generation, or at each run's own ``last``; default: at the last that all runs have. Behaviors are measured
    by a scale as far as all groups reach. P-values are corrected for their number if asked.
    """
    groups = group_runs(runs)
    if generation is not None and _is_of_results(metric):
        raise ConfigError(f"{metric} is about the trained centers, so there is no generation to choose.")
    common = _last_common(runs, metric) if generation is None and not _is_of_results(metric) else None
    generation = common if generation is None or generation == "last" else generation
    of_recorded = metric in OF_BEHAVIORS and metric not in runs[0].metrics
    by = measure_scale(reach_of(groups, generation)) if of_recorded else None
    by_group = {group.name: quantity(group, metric, generation=generation, by=by) for group in groups}
    values = {name: list(own.values()) for name, own in by_group.items()}
    intervals = {name: median_interval(own) for name, own in values.items()}
    comparisons = compare_all(values, correction)
    task = runs[0].config.task_title
    remarks, unit = _remarks(groups, common), _unit(metric, runs)
    return ComparisonReport(metric, generation, task, values, intervals, comparisons, correction, remarks, unit)


def _unit(metric: str, runs: Sequence[Run]) -> str:
    kind, _, which = metric.partition(":")
    if kind in (ADAPTED, RACED):
        return unit_of(runs)
    return metric_unit(which.partition(":")[0] if kind == OFFSPRING else metric, runs)


def _last_common(runs: Sequence[Run], metric: str) -> int | None:
    """The last generation that all runs have; None where each has it for its last."""
    of_recorded = metric in OF_BEHAVIORS and metric not in runs[0].metrics
    lasts = [run.recorded if of_recorded else range(run.generations_done) for run in runs]
    if len({tuple(own[-1:]) for own in lasts}) == 1:
        return None
    common = set.intersection(*map(set, lasts))
    if not common:
        raise ConfigError(f"{metric}: there is no generation that all runs have. Try {given(generation='last')}.")
    return max(common)


def _remarks(groups: Sequence[RunGroup], common: int | None) -> list[str]:
    """In what else groups differ; common: the generation that was chosen for them, if one was."""
    lengths: dict[int, dict[str, None]] = {}  # the names of groups, in order, each once
    for group in groups:
        for run in group.runs:
            lengths.setdefault(run.generations_done, {})[group.name] = None
    numbers = "; ".join(f"{number} in {' and '.join(names)}" for number, names in lengths.items())
    remarks = [f"Different numbers of generations: {numbers}."] if len(lengths) > 1 else []
    if common is not None:
        remarks.append(f"Compared at generation {common}, the last that all have; generation chooses another.")
    different = [f"{name} ({_values_text(name, values)})" for name, values in differing_settings(groups).items()]
    return remarks + ([f"Settings differ: {'; '.join(different)}."] if different else [])


def _values_text(setting: str, values: dict[str, list[str]]) -> str:
    """A setting's values, each with the groups that have it, unless the groups' names already say it."""
    if all(f"{setting} {value}" in group for value, groups in values.items() for group in groups):
        return ", ".join(values)
    return "; ".join(f"{value} in {' and '.join(groups)}" for value, groups in values.items())


def _is_of_results(metric: str) -> bool:
    """Whether it is about what studies kept of the trained centers, not about a generation."""
    return metric.partition(":")[0] in (ADAPTED, RACED, OFFSPRING) and ":" in metric


def quantity(
    group: RunGroup, name: str, *, generation: int | None = None, by: MeasureScale | None = None
) -> dict[int, float]:
    """By seed of a group a number. A run that collapsed has none: it counts as the worst, infinitely bad.

    Its name is a field of metrics.jsonl; a measure of recorded behaviors, such as ``coverage`` or ``degenerate``;
    ``specialization`` of a mixture's components; ``adapted:GOAL``, the performance of the best mutation;
    ``raced:GOAL``, what the method's own adapter reached, or ``raced:GOAL:ADAPTER``; ``offspring:MEASURE``, a measure
    of offspring that were kept, or ``offspring:MEASURE:SIGMA``. Default: of each run's last generation, and
    behaviors are measured by a scale as far as the group reaches.
    """
    kind, colon, which = name.partition(":")
    of_results = {ADAPTED: _adapted, RACED: _raced, OFFSPRING: _of_offspring}
    known = group.runs[0].metrics.keys() - {"generation", "center"}  # a count, and a vector: not to be compared
    if colon and kind in of_results:
        values = [of_results[kind](run, which) for run in group.runs]
    elif name in known:
        values = [_metric(run, name, generation) for run in group.runs]
    elif name in OF_BEHAVIORS:
        by = by or measure_scale(reach_of([group], generation))
        values = [_measured(run, name, generation, by) for run in group.runs]
    else:
        also = ", adapted:GOAL, raced:GOAL and offspring:MEASURE"
        raise ConfigError(unknown("metric", name, {*OF_BEHAVIORS, *known}, also=also))
    # The second is the measure in "offspring:MEASURE:SIGMA".
    worst = math.inf if {name, which.partition(":")[0]} & {*LESS_IS_BETTER} else -math.inf
    return {seed: worst if math.isnan(value) else value for seed, value in by_seed(group, values).items()}


def reach_of(groups: Sequence[RunGroup], generation: int | None = None) -> float:
    """A half width that holds every valid behavior of some groups at a generation."""
    runs = [run for group in groups for run in group.runs]
    return common_reach([cloud for run in runs for cloud in whole_populations(run, generation)])


def to_markdown(report: ComparisonReport) -> str:
    """A report as Markdown."""
    lines = [f"**{markdown_text(title(report))}**", ""]
    lines += [line for remark in report.remarks for line in (markdown_text(remark), "")]
    for headings, *rows in _tables(report):
        head, *others = [f"| {' | '.join(map(markdown_text, row))} |" for row in (headings, *rows)]
        lines += [head, "|---" * len(headings) + "|", *others, ""]
    return "\n".join([*lines, note(report), ""])


def to_terminal(report: ComparisonReport) -> Lines:
    """A report as tables of the terminal."""
    shown = []
    for headings, *rows in _tables(report):
        shown.append(Table())
        for heading in headings:
            shown[-1].add_column(heading, overflow="fold")
        for row in rows:
            # As Text: brackets in a plain string would be read as markup.
            shown[-1].add_row(*map(Text, row))
    return Lines(Text(title(report), style="bold"), *map(Text, report.remarks), *shown, Text(note(report), style="dim"))


def title(report: ComparisonReport) -> str:
    """What is compared, in a line."""
    when = "the last generation" if report.generation is None else f"generation {report.generation}"
    what = report.metric.replace("_", " ")
    return f"{report.task}: {what}" + ("" if _is_of_results(report.metric) else f" at {when}")


def note(report: ComparisonReport) -> str:
    """How the numbers were made."""
    correction = f", corrected for {len(report.comparisons)} tests ({report.correction})" if report.correction else ""
    return (
        f"p: Mann-Whitney U, two-sided{correction}. P(first > second): the probability that a run of the first "
        "group is above one of the second, 0.5 for no difference, and its 95 % interval. Shift: median of all "
        "differences. A run that collapsed counts as the worst."
    )


def p_text(p: float) -> str:
    """A p-value as papers print it.

    >>> p_text(0.0312), p_text(2e-5)
    ('0.031', '2e-05')
    """
    return f"{p:.2g}"


def _tables(report: ComparisonReport) -> list[list[tuple[str, ...]]]:
    """The groups and, where there are two or more, their comparisons; in each table the headings come first."""
    groups: list[tuple[str, ...]] = [("group", "runs", "median", "interval of the median")]
    for name, i in report.intervals.items():
        interval = f"{i.low:.4g} to {i.high:.4g} ({100 * i.level:.0f} %)"
        groups.append((name, str(i.number), f"{i.median:.4g}", interval))
    pairs: list[tuple[str, ...]] = [("first", "second", "p", "P(first > second)", "shift")]
    for one in report.comparisons:
        p = one.test.reason if one.test.p is None else p_text(one.test.p)
        low, high = one.test.interval
        effect = f"{one.test.effect:.2f} ({low:.2f} to {high:.2f})"
        pairs.append((one.first, one.second, p, effect, f"{one.test.shift:+.4g}"))
    return [groups, pairs] if report.comparisons else [groups]


def _adapted(run: Run, goal: str) -> list[float]:
    return list(load_adaptation(run, goal).performance)


def _raced(run: Run, which: str) -> list[float]:
    goal, _, adapter = which.rpartition(":") if which.rpartition(":")[2] in ADAPTERS else (which, "", "")
    return [float(value) for value in load_race(run, goal, adapter or own_adapter(run)).performance[:, -1]]


def _of_offspring(run: Run, which: str) -> list[float]:
    name, _, sigma = which.partition(":")
    try:
        size = float(sigma) if sigma else None
    except ValueError:
        raise ConfigError(f"offspring:{which}: '{sigma}' is not a standard deviation.") from None
    if name not in MEASURES:
        raise ConfigError(unknown("measure of offspring", name, MEASURES))
    clouds = kept_offspring(run, size)
    by = measure_scale(common_reach(clouds))
    return [float(getattr(measures(cloud, by), name)) for cloud in clouds]


def _metric(run: Run, name: str, generation: int | None) -> list[float]:
    values = run.metrics[name]
    generation = values.shape[1] - 1 if generation is None else generation
    if not 0 <= generation < values.shape[1]:
        raise ConfigError(f"{run.path} has the generations 0 to {values.shape[1] - 1}, but not {generation}.")
    if not np.isfinite(values).any():  # another method's; a metric that is missing now and then is of a collapsed run
        hint = f" It takes two or more episodes per member: {given(episodes=2)}." if name == "repeatability" else ""
        raise ConfigError(f"{run.path} has no value of '{name}'.{hint}")
    return [float(value) for value in values[:, generation]]


def _measured(run: Run, name: str, generation: int | None, by: MeasureScale) -> list[float]:
    if name == SPECIALIZATION:
        return [specialization_of(run, seed, generation, by) for seed in range(run.config.seeds)]
    return [float(getattr(measures(cloud, by), name)) for cloud in whole_populations(run, generation)]
