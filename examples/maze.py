"""A maze with a trap: standard ES walks into it, novelty and quality evolvability find the way around.

    python examples/maze.py

Writes maze.png, where the members of each method ended, and elites.png, the MAP-Elites archives that their generations
filled on the way.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from evolvability import Run
from evolvability.cli import main as ees
from evolvability.figures.registry import draw_figure, save_figure
from evolvability.figures.style import HEAT, OTHER_COLORS, add_colorbar, add_note, grid, letter, new_figure
from evolvability.studies.groups import run_names
from evolvability.studies.measures import valid_behaviors
from evolvability.tasks.maze import GOAL, HALF_WIDTH, LEVEL, REACHED, UPRIGHT

OBJECTIVES = ("mean_fitness", "ns_es", "nsr_es", "nsra_es", "qe_es", "max_entropy")
MAX_DOTS = 8000
EDGE, GOAL_COLOR = 1.04 * HALF_WIDTH, OTHER_COLORS[2]
WALL: dict[str, Any] = {"color": "black", "linewidth": 1.6, "solid_capstyle": "projecting"}


def main() -> None:
    """Run what is missing, draw, and say who solved it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/maze"), help="folder for the runs and the pictures")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each method")
    arguments = parser.parse_args()
    paths = [arguments.output / objective for objective in OBJECTIVES]
    for path, objective in zip(paths, OBJECTIVES, strict=True):
        if (path / "config.toml").exists():
            ees(["resume", str(path)])
        else:
            options = ["--objective", objective, "--seeds", str(arguments.seeds)]
            options += ["--patience", "10"] if objective == "nsra_es" else []
            ees(["train", "maze", *options, "--record-every", "5", "--output", str(path)])
    runs = [Run(path) for path in paths]
    for run in runs:
        print(f"{run.config.objective:13s} solved by {solved(run).sum()} of {run.config.seeds} seeds")
    print(f"The picture: {save_figure(lambda: figure(runs), arguments.output / 'maze.png')}")
    print(f"The archives: {draw_figure('elites', runs, arguments.output / 'elites.png')}")


def solved(run: Run) -> Any:
    """(num_seeds,) whether a seed ever had a member at the goal; fitness is the distance to it, negated."""
    return np.any(run.metrics["fitness_max"] > -REACHED, axis=1)


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per run: where the members of one seed ended, the first that solved the maze, if any did."""
    columns = min(len(runs), 3)
    drawing = new_figure(0.7 + 2.1 * columns, 0.3 + 2.35 * -(-len(runs) // columns), "compressed")
    axes = grid(drawing, len(runs), columns, ("", ""))
    for index, (ax, run, name) in enumerate(zip(axes, runs, run_names([run.config for run in runs]), strict=True)):
        dots = draw(ax, run, max(own.recorded[-1] for own in runs))
        letter(ax, index, f"{name}: {solved(run).sum()} of {run.config.seeds} solved")
    add_colorbar(drawing, dots, axes[columns - 1], "generation")
    add_note(drawing, "dots: where members end, of one seed; cross: start; circle: goal")
    return drawing


def draw(ax: Axes, run: Run, last: int) -> Any:
    """Walls, start, goal, and where members of all recorded generations ended, later ones darker."""
    every = -(-len(run.recorded) * run.config.population_size // MAX_DOTS)
    ends = [valid_behaviors(run, int(np.argmax(solved(run))), number)[0][::every] for number in run.recorded]
    (x, y), generation = np.concatenate(ends).T, np.repeat(run.recorded, [len(own) for own in ends])
    ax.add_patch(Circle(GOAL, REACHED, facecolor=GOAL_COLOR, alpha=0.3, edgecolor=GOAL_COLOR, linewidth=1))
    dots = ax.scatter(x, y, c=generation, s=2.5, cmap=HEAT, vmin=0, vmax=last, linewidths=0, rasterized=True)
    for place, start, end in UPRIGHT:
        ax.plot([place, place], [start, end], **WALL)
    for place, start, end in LEVEL:
        ax.plot([start, end], [place, place], **WALL)
    ax.plot(0, 0, marker="+", color="black", markersize=8, markeredgewidth=1.4)
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE))
    ax.spines[:].set_visible(False)
    return dots


if __name__ == "__main__":
    main()
