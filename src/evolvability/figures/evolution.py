"""Further evolution from different starts (the paper's figures 5, 6 and S3): fitness, and behaviors on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import ConfigError
from evolvability.figures import style
from evolvability.figures.bands import Line, Lines, add_legend, distinct, draw_lines, measured, stacked
from evolvability.figures.behaviors import Heatmaps, draw_map
from evolvability.figures.behaviors import data_from_runs as heatmaps
from evolvability.methods.registry import OBJECTIVES
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, start_name

GENERATIONS = (0, 5, 10, 20)  # those the paper shows; of a shorter run, those it has
RANDOM = {"color": "0.35"}


@dataclass(frozen=True)
class Further:
    """Fitness from every start, one line each, and the behaviors of one seed of each at some generations."""

    fitness: Lines
    """Fitness over generations, one line per start."""
    behaviors: Heatmaps
    """The behaviors of one seed of each start."""
    label: str
    """The label of the fitness axis, with its unit."""

    @property
    def starts(self) -> list[Line]:
        """One per kind of start."""
        return self.fitness.panels["fitness"]


def data_from_runs(runs: Sequence[Run]) -> Further:
    """Group the runs by what they started from: evolvability ES first, then standard ES, then a random start."""
    for run in runs:
        if run.config.objective != "mean_fitness":
            again = command_line("evolve-from", run.path)
            raise ConfigError(f"The figure 'evolution' shows standard ES, not {run.config.objective}. First: {again}")
    rank = {objective: place for place, objective in enumerate(OBJECTIVES)}
    groups = sorted(group_runs(runs), key=lambda group: rank.get(_trainer(group.runs[0]), len(rank)))
    fitness = [stacked(distinct(measured(group.runs), "fitness_mean")) for group in groups]
    shortest = min(own.shape[1] for own in fitness)  # standard ES from scratch goes on for longer
    names = style.told_apart([start_name(group.runs[0]) for group in groups])
    lines = []
    for name, group, own in zip(names, groups, fitness, strict=True):
        trainer = _trainer(group.runs[0])
        lines.append(Line(name, trainer, np.arange(shortest), own[:, :shortest], {} if trainer else RANDOM))
    shown = heatmaps([run for group in groups for run in group.runs], GENERATIONS)
    return Further(Lines({"fitness": lines}), shown, style.in_unit("mean fitness", style.fitness_unit(runs)))


def draw(ax: Axes, data: Further) -> None:
    """Fitness over generations, from each start (figure 6)."""
    draw_lines(ax, data.fitness, "fitness")
    ax.set(xlabel="generations of standard ES", ylabel=data.label, xlim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def fitness_figure(runs: Sequence[Run]) -> Figure:
    """Fitness from every start alone."""
    data = data_from_runs(runs)
    drawing = style.new_figure(5.4, 2.4)
    draw(drawing.subplots(), data)
    add_legend(drawing, data.fitness.note, beside=True)
    return drawing


def figure(runs: Sequence[Run]) -> Figure:
    """Fitness from every start, and below it the behaviors at some generations, one row per start."""
    data = data_from_runs(runs)
    below_height = 0.4 + (0.75 if len(data.behaviors.labels) == 1 else 1.25) * len(data.starts)
    drawing = style.new_figure(6.4, 2.6 + below_height)
    above, below = drawing.subfigures(2, 1, height_ratios=[2.6, below_height], squeeze=False)[:, 0]
    ax = above.subplots()
    draw(ax, data)
    style.letter(ax, 0, "fitness during further evolution")
    add_legend(above, data.fitness.note, beside=True)
    _draw_behaviors(below, data)
    return drawing


def _draw_behaviors(drawing: SubFigure, data: Further) -> None:
    """One row per start, one column per generation: histograms of one behavior dimension, maps of two."""
    rows, labels = data.behaviors.rows, data.behaviors.labels
    flat = len(labels) == 1
    axes = drawing.subplots(
        len(rows), max(len(row.generations) for row in rows), squeeze=False, sharex=True, sharey=not flat
    )
    for index, (row, start) in enumerate(zip(rows, data.starts, strict=True)):
        color = data.fitness.looks[start.name]["color"]
        for column, generation in enumerate(row.generations):
            ax = axes[index, column]
            if flat:
                style.draw_histogram(ax, row.shares[column], data.behaviors.edges[0], color)
                ax.set_yticks([])
                ax.spines["left"].set_visible(False)
            else:
                draw_map(ax, data.behaviors, index, column)
            ax.set_title(f"generation {generation}" if index == 0 else "", loc="left")
        for ax in axes[index, len(row.generations) :]:  # recorded less often than the longest
            ax.set_axis_off()
        axes[index, 0].set_ylabel(fill(start.name, 14), color=color, rotation=0, ha="right", va="center")
        if not flat:
            last = axes[index, len(row.generations) - 1]
            last.annotate(labels[1], (1.08, 0.5), xycoords="axes fraction", rotation=90, va="center")
    for ax in axes[-1]:
        ax.set_xlabel(labels[0])
    seed = rows[0].seed if len({row.seed for row in rows}) == 1 else "of median spread"
    third = data.behaviors.third
    shades = "" if flat else f"; the lighter, the higher {third}" if third else "; the darker, the more members"
    drawing.suptitle(f"(b) behaviors of the population, seed {seed}{shades}", x=0.01, ha="left", fontsize=8)


def _trainer(run: Run) -> str:
    """The objective that trained what a run started from; none of a random start."""
    return run.origin["config"]["objective"] if run.origin else ""
