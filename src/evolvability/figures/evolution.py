"""Further evolution from different starts (the paper's figures 5, 6 and S3): fitness, and behaviors on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import ConfigError
from evolvability.figures.behaviors import Heatmaps, draw_map
from evolvability.figures.behaviors import data_from_runs as heatmaps
from evolvability.figures.curves import ENOUGH_FOR_QUARTILES, Band, measured, quantiles, stacked
from evolvability.figures.style import METHOD_COLORS, OTHER_COLORS, letter, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, start_name

GENERATIONS = (0, 5, 10, 20)
"""Those the paper shows; of a shorter run, those it has."""
RANDOM_COLOR = "0.35"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Start:
    """Runs from one kind of start.

    Attributes:
        name: what it is.
        color: the color of the method that trained it.
        num_seeds: how many there are.
        fitness: over generations.
    """

    name: str
    color: str
    num_seeds: int
    fitness: Band


@dataclass(frozen=True)
class Further:
    """Starts, the behaviors of one seed of each at some generations, and what the bands span."""

    starts: list[Start]
    behaviors: Heatmaps
    spans: str


def data_from_runs(runs: Sequence[Run]) -> Further:
    """Group the runs by what they started from."""
    for run in runs:
        if run.config.objective != "mean_fitness":
            raise ConfigError(
                f"The figure 'evolution' shows standard ES from different starts, but {run.path} climbs "
                f"{run.config.objective}. Make such runs with: ees evolve-from"
            )
    groups = sorted(group_runs(runs), key=lambda group: _rank(group.runs[0]))
    fitness = [stacked([own for _, m in measured(group.runs) for own in m["fitness_mean"]]) for group in groups]
    quartiles = all(len(own) == 1 or len(own) >= ENOUGH_FOR_QUARTILES for own in fitness)
    ranks = (0.25, 0.5, 0.75) if quartiles else (0, 0.5, 1)
    spare = iter(OTHER_COLORS * len(groups))
    starts: list[Start] = []
    shortest = min(own.shape[1] for own in fitness)  # standard ES from scratch goes on for longer
    for group, own in zip(groups, (own[:, :shortest] for own in fitness), strict=True):
        color = _color(group.runs[0])
        color = next(spare) if color in {start.color for start in starts} else color
        starts.append(Start(start_name(group.runs[0]), color, len(own), Band(*quantiles(own, ranks))))
    spans = "interquartile range" if quartiles else "minimum to maximum"
    shown = heatmaps([group.runs[0] for group in groups], generations=GENERATIONS)
    return Further(starts, shown, spans if max(map(len, fitness)) > 1 else "")


def draw(ax: Axes, data: Further) -> None:
    """Fitness over generations, from each start (figure 6)."""
    for start in data.starts:
        generation = np.arange(len(start.fitness.median))
        ax.plot(generation, start.fitness.median, color=start.color, label=f"{start.name} ({start.num_seeds} seeds)")
        ax.fill_between(generation, start.fitness.low, start.fitness.high, color=start.color, alpha=0.22, linewidth=0)
    ax.set(xlabel="generations of standard ES", ylabel="mean fitness", xlim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.grid(visible=True)


def draw_histogram(ax: Axes, data: Further, row: int, column: int) -> None:
    """One behavior dimension of one start at one generation."""
    shown = data.behaviors.rows[row]
    ax.stairs(shown.shares[column], data.behaviors.edges[0], fill=True, color=data.starts[row].color, alpha=0.85)
    ax.axvline(0, color="0.5", linewidth=0.6, linestyle=(0, (4, 3)))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def fitness_figure(runs: Sequence[Run]) -> Figure:
    """Fitness from every start alone."""
    data = data_from_runs(runs)
    drawing = new_figure(4.2, 2.9)
    ax = drawing.subplots()
    draw(ax, data)
    drawing.legend(loc="outside lower center", title=_note(data))
    return drawing


def figure(runs: Sequence[Run]) -> Figure:
    """Fitness from every start, and below it the behaviors at some generations, one row a start."""
    data = data_from_runs(runs)
    rows, columns = len(data.starts), max(len(row.generations) for row in data.behaviors.rows)
    flat = len(data.behaviors.labels) == 1
    height = (0.75 if flat else 1.25) * rows
    drawing = new_figure(6.4, 2.6 + height + 0.4)
    above, below = drawing.subfigures(2, 1, height_ratios=[2.6, height + 0.4], squeeze=False)[:, 0]
    ax = above.subplots()
    draw(ax, data)
    letter(ax, 0, "fitness during further evolution")
    above.legend(loc="outside right center", title=_note(data))
    axes = below.subplots(rows, columns, squeeze=False, sharex=True, sharey=not flat)
    for index, start in enumerate(data.starts):
        for column, generation in enumerate(data.behaviors.rows[index].generations):
            cell = axes[index, column]
            if flat:
                draw_histogram(cell, data, index, column)
            else:
                draw_map(cell, data.behaviors, index, column)
            cell.set_title(f"generation {generation}" if index == 0 else "", loc="left")
        axes[index, 0].set_ylabel(_wrapped(start.name), color=start.color, rotation=0, ha="right", va="center")
    for cell in axes[-1]:
        cell.set_xlabel(data.behaviors.labels[0])
    seed = data.behaviors.rows[0].seed if len({row.seed for row in data.behaviors.rows}) == 1 else "of median spread"
    shades = "" if flat else "; the darker, the more members"
    below.suptitle(f"(b) behaviors of the population, seed {seed}{shades}", x=0.01, ha="left", fontsize=8)
    if not flat:
        for row in axes:
            row[-1].set_ylabel(data.behaviors.labels[1])
            row[-1].yaxis.set_label_position("right")
    return drawing


def _note(data: Further) -> str:
    return f"line: median over seeds\nband: {data.spans}" if data.spans else ""


def _rank(run: Run) -> int:
    """Evolvability ES first, then standard ES, then a random start."""
    order = list(METHOD_COLORS)
    objective = run.origin["config"]["objective"] if run.origin else None
    return order.index(objective) if objective in order else len(order)


def _color(run: Run) -> str:
    return RANDOM_COLOR if run.origin is None else METHOD_COLORS.get(run.origin["config"]["objective"], OTHER_COLORS[0])


def _wrapped(name: str) -> str:
    return (
        name.replace("seeded by ", "seeded by\n")
        .replace(" trained for ", "\ntrained for ")
        .replace(" start", "\nstart")
    )
