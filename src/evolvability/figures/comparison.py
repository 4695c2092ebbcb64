"""A comparison of groups: every seed, medians with their intervals, and p-values between the groups."""

from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.figures.style import OTHER_COLORS, add_note, in_unit, new_figure
from evolvability.methods.registry import OBJECTIVES
from evolvability.studies.comparison import ComparisonReport, p_text, title

MAX_BRACKETS = 6
COLUMN = 18  # characters


def draw(ax: Axes, report: ComparisonReport) -> None:
    """One column of dots per group, a bar at its median, a line over the median's interval."""
    for place, ((name, values), color) in enumerate(zip(report.values.items(), _colors(report), strict=True)):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
        ax.plot(place + spread, values, "o", color=color, markersize=3.5, alpha=0.75, markeredgewidth=0)
        interval = report.intervals[name]
        ax.plot([place + 0.26] * 2, [interval.low, interval.high], color=color, linewidth=1.2)
        ax.plot([place + 0.18, place + 0.34], [interval.median] * 2, color=color, linewidth=2.2)
    names = [f"{_wrapped(name)}\n({len(values)} runs)" for name, values in report.values.items()]
    ax.set_xticks(range(len(names)), names)
    # More room on the right, where medians stand beside the dots.
    ax.set(xlim=(-0.5, len(names) - 0.4), ylabel=in_unit(report.metric.replace("_", " "), report.unit))
    ax.grid(visible=True, axis="y")
    if len(report.comparisons) <= MAX_BRACKETS:
        _draw_brackets(ax, report)


def figure(report: ComparisonReport) -> Figure:
    """The groups side by side."""
    drawing = new_figure(1.2 + 1.25 * len(report.values), 3.0 + 0.18 * min(len(report.comparisons), MAX_BRACKETS))
    ax = drawing.subplots()
    draw(ax, report)
    ax.set_title(title(report), loc="left")
    note = "dots: seeds; bars: medians and their intervals of 95 % or more"
    if too_few := [one.number for one in report.intervals.values() if one.level < 0.95]:
        note += f" (of {max(too_few)} runs or fewer: all of them, less than 95 %)"
    if len(report.comparisons) <= MAX_BRACKETS:
        correction = f", corrected ({report.correction})" if report.correction else ""
        note += f"; p: Mann-Whitney U, two-sided{correction}"
    add_note(drawing, note, size=6)
    return drawing


def _wrapped(name: str) -> str:
    """A name in lines as narrow as a column: one for each of its parts, or more."""
    return "\n".join(fill(part, COLUMN, break_long_words=False) for part in name.replace(", ", ",\n").splitlines())


def _draw_brackets(ax: Axes, report: ComparisonReport) -> None:
    """A bracket between each two groups, the nearest ones lowest, with the p-value on it."""
    places = {name: place for place, name in enumerate(report.values)}
    low, high = ax.get_ylim()  # once: drawing brackets changes them
    step = (high - low) * 0.1
    pairs = sorted(report.comparisons, key=lambda one: abs(places[one.first] - places[one.second]))
    for level, one in enumerate(pairs):
        ends, height = (places[one.first], places[one.second]), high + step * (level + 0.2)
        foot = height - step * 0.2
        ax.plot([ends[0], *ends, ends[1]], [foot, height, height, foot], color="0.4", linewidth=0.6)
        text = "too few runs" if one.test.p is None else f"p = {p_text(one.test.p)}"
        ax.text(sum(ends) / 2, height, text, ha="center", va="bottom", fontsize=6.5)
    ax.set_ylim(low, high + step * (len(pairs) + 0.5))


def _colors(report: ComparisonReport) -> list[str]:
    """A method's own color for every group of it: its columns differ by their names."""
    by_name = {entry.label: entry.color for entry in OBJECTIVES.values()}
    spare = iter(OTHER_COLORS * len(report.values))
    return [by_name.get(name.split(",")[0]) or next(spare) for name in report.values]
