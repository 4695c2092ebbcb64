"""The maze, its walls, and where the members of runs ended: one panel per run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from evolvability.core.errors import ConfigError
from evolvability.figures.behaviors import check_comparable
from evolvability.figures.style import HEAT, OTHER_COLORS, Array, add_colorbar, add_note, grid, letter, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import run_names
from evolvability.studies.measures import valid_behaviors
from evolvability.tasks.maze import GOAL, HALF_WIDTH, LEVEL, REACHED, UPRIGHT

MAX_DOTS = 8000
EDGE = 1.04 * HALF_WIDTH
GOAL_COLOR = OTHER_COLORS[2]  # none of a method's


@dataclass(frozen=True)
class Ends:
    """Where the members of one run ended."""

    name: str
    """The run's name in the figure."""
    solved: tuple[int, int]
    """How many of its seeds ever had a member at the goal, and how many seeds there are."""
    seed: int
    """The seed that is shown: the first that reached the goal, if any did."""
    position: Array
    """(num_dots, 2) where members of all recorded generations ended, earliest first."""
    generation: Array
    """(num_dots,) the generation of each of them."""


def data_from_runs(runs: Sequence[Run]) -> list[Ends]:
    """Ends of members, about 8,000 per run at most, spread evenly over its recorded generations."""
    check_comparable(runs)
    if runs[0].config.task != "maze":
        raise ConfigError(f"The figure 'maze' shows runs of the maze, but {runs[0].path} is a run of another task.")
    names = run_names([run.config for run in runs])
    return [_ends(name, run) for name, run in zip(names, runs, strict=True)]


def draw(ax: Axes, data: Ends, last: int) -> PathCollection:
    """Walls, start, goal, and the members' ends, later ones darker."""
    ax.add_patch(Circle(GOAL, REACHED, facecolor=GOAL_COLOR, alpha=0.3, edgecolor=GOAL_COLOR, linewidth=1))
    x, y = data.position.T
    dots = ax.scatter(x, y, c=data.generation, s=2.5, cmap=HEAT, vmin=0, vmax=last, linewidths=0, rasterized=True)
    walls: dict[str, Any] = {"color": "black", "linewidth": 1.6, "solid_capstyle": "projecting"}
    for place, start, end in UPRIGHT:
        ax.plot([place, place], [start, end], **walls)
    for place, start, end in LEVEL:
        ax.plot([start, end], [place, place], **walls)
    ax.plot(0, 0, marker="+", color="black", markersize=8, markeredgewidth=1.4)
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE))
    ax.spines[:].set_visible(False)
    return dots


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per run."""
    data = data_from_runs(runs)
    columns = min(len(data), 3)
    drawing = new_figure(0.7 + 2.1 * columns, 0.3 + 2.35 * -(-len(data) // columns), "compressed")
    axes = grid(drawing, len(data), columns, ("", ""))
    last = max(1, *(int(ends.generation.max(initial=0)) for ends in data))
    for index, (ax, ends) in enumerate(zip(axes, data, strict=True)):
        dots = draw(ax, ends, last)
        letter(ax, index, f"{ends.name}: {ends.solved[0]} of {ends.solved[1]} solved")
    add_colorbar(drawing, dots, axes[columns - 1], "generation")
    add_note(drawing, "dots: where members end, of one seed; cross: start; circle: goal")
    return drawing


def _ends(name: str, run: Run) -> Ends:
    # Fitness is the distance to the goal, negated.
    solved = np.atleast_1d(np.any(run.metrics["fitness_max"] > -REACHED, axis=1))
    index = int(np.argmax(solved))
    position, generation = [], []
    for number in run.recorded:
        own = valid_behaviors(run, index, number)[0]
        # Every k-th member, k rounded up; a generation's own rest can make it a few dots more than MAX_DOTS.
        own = own[:: -(-len(run.recorded) * run.config.population_size // MAX_DOTS)]
        position.append(own)
        generation.append(np.full(len(own), number))
    shown = (np.concatenate(position), np.concatenate(generation))
    return Ends(name, (int(solved.sum()), len(solved)), run.seeds[index], *shown)
