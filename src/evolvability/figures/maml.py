"""MAML over its outer steps: returns before and after adaptation, and how far the adapted policies moved."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.config.schema import MAML
from evolvability.core.errors import RunFolderError
from evolvability.figures.curves import ENOUGH_FOR_QUARTILES, Array, Band, distinct, measured, quantiles, stacked
from evolvability.figures.style import NOTE_COLOR, letter, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs

METRICS = ("fitness_before", "fitness_mean", "divergence", "action_std")


@dataclass(frozen=True)
class Learning:
    """A group of runs of MAML.

    Attributes:
        name: what tells the group from the others.
        num_seeds: how many seeds it has.
        bound: on the divergence of an outer step.
        bands: over outer steps, by metric.
    """

    name: str
    num_seeds: int
    bound: float
    bands: dict[str, Band]


def data_from_runs(runs: Sequence[Run]) -> list[Learning]:
    """Medians and ranges over seeds; runs of other methods are refused."""
    for run in runs:
        if run.config.objective != MAML:
            raise RunFolderError(f"{run.path} was not trained by MAML, which is what this figure shows.")
    groups = []
    for group in group_runs([run for run, _ in measured(runs)]):
        series = {name: stacked(distinct([(run, run.metrics) for run in group.runs], name)) for name in METRICS}
        size = len(series["divergence"])
        ranks = (0.25, 0.5, 0.75) if size >= ENOUGH_FOR_QUARTILES else (0, 0.5, 1)
        bands = {name: Band(*quantiles(values, ranks)) for name, values in series.items()}
        groups.append(Learning(group.name, size, group.config.maml.trust_region, bands))
    return groups


def draw_returns(ax: Axes, groups: Sequence[Learning]) -> None:
    """Returns an episode, before adaptation dashed and after it solid."""
    for group, look in zip(groups, line_styles([MAML] * len(groups)), strict=True):
        for metric, dashes, when in (("fitness_before", "--", "before"), ("fitness_mean", "-", "after")):
            label = f"{group.name}, {when} adaptation ({group.num_seeds} seed{'s' if group.num_seeds > 1 else ''})"
            _band(ax, group.bands[metric], color=look["color"], linestyle=dashes, label=label)
    ax.set_ylabel("return an episode")


def draw_divergence(ax: Axes, groups: Sequence[Learning]) -> None:
    """How far each outer step moved the adapted policies, with the bound."""
    for group, look in zip(groups, line_styles([MAML] * len(groups)), strict=True):
        _band(ax, group.bands["divergence"], color=look["color"], linestyle="-")
        ax.axhline(group.bound, color=NOTE_COLOR, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(0, 1.15 * max(group.bound for group in groups))
    ax.set_ylabel("KL of a step (nats)")


def draw_deviation(ax: Axes, groups: Sequence[Learning]) -> None:
    """The standard deviation of actions."""
    for group, look in zip(groups, line_styles([MAML] * len(groups)), strict=True):
        _band(ax, group.bands["action_std"], color=look["color"], linestyle="-")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("standard deviation of actions")


def figure(runs: Sequence[Run]) -> Figure:
    """Three panels: returns, divergence, deviation of actions."""
    groups = data_from_runs(runs)
    drawing = new_figure(7.2, 2.7)
    axes = drawing.subplots(1, 3)
    draws = (
        (draw_returns, "adaptation pays"),
        (draw_divergence, "within the trust region"),
        (draw_deviation, "exploration"),
    )
    for index, (ax, (draw, title)) in enumerate(zip(axes, draws, strict=True)):
        draw(ax, groups)
        letter(ax, index, title)
        ax.set_xlabel("outer step")
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.grid(visible=True)
    several = any(group.num_seeds > 1 for group in groups)
    quartiles = all(group.num_seeds >= ENOUGH_FOR_QUARTILES for group in groups)
    spans = "interquartile range" if quartiles else "minimum to maximum"
    note = (
        f"line: median over seeds; band: {spans}; dashed in (b): the bound" if several else "dashed in (b): the bound"
    )
    drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, title=note)
    return drawing


def _band(ax: Axes, band: Band, **look: str) -> None:
    steps: Array = np.arange(len(band.median))
    ax.plot(steps, band.median, **look)  # type: ignore[arg-type]
    ax.fill_between(steps, band.low, band.high, color=look["color"], alpha=0.2, linewidth=0)
