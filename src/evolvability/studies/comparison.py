"""A comparison of groups of runs, for the terminal, for Markdown and as JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs
from evolvability.studies.measures import MeasureScale, yardstick
from evolvability.studies.quantities import OF_BEHAVIORS, quantity, reach_of
from evolvability.studies.statistics import Comparison, Correction, Interval, compare_all, median_interval


@dataclass(frozen=True)
class Report:
    """A metric of several groups, compared.

    Attributes:
        metric: what is compared.
        generation: of which generation; None for each run's last.
        task: of which task.
        values: one a seed, by group.
        intervals: medians by group.
        comparisons: every pair of groups.
        correction: how p-values were corrected for their number, if they were.
    """

    metric: str
    generation: int | None
    task: str
    values: dict[str, list[float]]
    intervals: dict[str, Interval]
    comparisons: list[Comparison]
    correction: Correction | None


def compare_runs(
    runs: Sequence[Run],
    metric: str,
    *,
    generation: int | None = None,
    correction: Correction | None = None,
    by: MeasureScale | None = None,
) -> Report:
    """Compare groups of runs, which are found by their configurations, by one metric.

    Args:
        runs: run folders, of one task.
        metric: see `quantities.quantity`.
        generation: which; each run's last unless given.
        correction: correct p-values for their number: holm, bonferroni or benjamini-hochberg.
        by: what behaviors are measured by; as far as all groups reach unless given.
    """
    groups = group_runs(runs)
    if by is None and metric in OF_BEHAVIORS and metric not in runs[0].metrics:
        by = yardstick(reach_of(groups, generation))
    values = {group.name: quantity(group, metric, generation=generation, by=by) for group in groups}
    intervals = {name: median_interval(own) for name, own in values.items()}
    comparisons = compare_all(values, correction)
    return Report(metric, generation, runs[0].config.task, values, intervals, comparisons, correction)


def to_json(report: Report) -> str:
    """All numbers of a report."""
    return json.dumps(_jsonable(asdict(report)), indent=2)


def to_markdown(report: Report) -> str:
    """A report as Markdown."""
    lines = [f"**{title(report)}**", "", "| group | runs | median | interval of the median |", "|---|---|---|---|"]
    lines += [f"| {name} | {i.number} | {i.median:.4g} | {interval_text(i)} |" for name, i in report.intervals.items()]
    if report.comparisons:
        lines += ["", "| first | second | p | P(first > second) | shift |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(_cells(one)) + " |" for one in report.comparisons]
    return "\n".join([*lines, "", note(report), ""])


def to_terminal(report: Report) -> Lines:
    """A report as tables of the terminal."""
    groups, pairs = Table(), Table()
    for heading in ("group", "runs", "median", "interval of the median"):
        groups.add_column(heading, overflow="fold")
    for name, i in report.intervals.items():
        groups.add_row(Text(name), str(i.number), f"{i.median:.4g}", interval_text(i))
    for heading in ("first", "second", "p", "P(first > second)", "shift"):
        pairs.add_column(heading, overflow="fold")
    for one in report.comparisons:
        pairs.add_row(*map(Text, _cells(one)))
    tables = [groups, pairs] if report.comparisons else [groups]
    return Lines(Text(title(report), style="bold"), *tables, Text(note(report), style="dim"))


def title(report: Report) -> str:
    """What is compared, in a line."""
    when = "the last generation" if report.generation is None else f"generation {report.generation}"
    what = report.metric.replace("_", " ")
    return f"{report.task}: {what}" + ("" if report.metric.startswith("adapted:") else f" at {when}")


def note(report: Report) -> str:
    """How the numbers were made."""
    correction = f", corrected for {len(report.comparisons)} tests ({report.correction})" if report.correction else ""
    return (
        f"p: Mann-Whitney U, two-sided{correction}. P(first > second): the probability that a run of the first "
        "group is above one of the second, 0.5 for no difference. Shift: median of all differences."
    )


def interval_text(interval: Interval) -> str:
    """An interval and its level."""
    return f"{interval.low:.4g} to {interval.high:.4g} ({100 * interval.level:.0f} %)"


def p_text(p: float) -> str:
    """A p-value as papers print it.

    >>> p_text(0.0312), p_text(2e-5)
    ('0.031', '2e-05')
    """
    return f"{p:.2g}"


def _cells(one: Comparison) -> tuple[str, ...]:
    test = one.test
    p = test.reason if test.p is None else p_text(test.p)
    return one.first, one.second, p, f"{test.effect:.2f}", f"{test.shift:+.4g}"


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
