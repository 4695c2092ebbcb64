"""The last population's behaviors, runs side by side at one scale (the paper's figures 3 and 4).

Two behavior dimensions: a map a run. One: a histogram a run.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from evolvability.figures.behaviors import Heatmaps, add_colorbar, add_note, data_from_runs, draw_map, panels, title
from evolvability.figures.style import METHOD_COLORS, OTHER_COLORS, new_figure
from evolvability.runs.folder import Run

PANEL_WIDTH = 2.1


def draw(ax: Axes, data: Heatmaps, row: int) -> QuadMesh:
    """Two behavior dimensions: the map of a run's last generation."""
    mesh = draw_map(ax, data, row, -1)
    ax.set_title(title(data.rows[row]), loc="left")
    return mesh


def draw_histogram(ax: Axes, data: Heatmaps, row: int, color: str) -> None:
    """One behavior dimension: shares of the population; a line marks the origin."""
    edges = data.edges[0]
    ax.stairs(data.rows[row].shares[-1], edges, fill=True, color=color, alpha=0.85)
    ax.axvline(0, color="0.25", linewidth=0.6, linestyle=":")
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    ax.set_title(title(data.rows[row]), loc="left")


def figure(runs: Sequence[Run]) -> Figure:
    """The last generation of every run, side by side."""
    data = data_from_runs(runs, most=1)
    number = len(runs)
    columns = min(number, 3)
    height = PANEL_WIDTH if len(data.labels) == 2 else 1.5
    drawing = new_figure(PANEL_WIDTH * columns + 0.8, (height + 0.3) * -(-number // columns) + 0.5)
    axes, grid = panels(drawing, number)
    if len(data.labels) == 2:
        meshes = [draw(ax, data, row) for row, ax in enumerate(axes)]
        add_colorbar(drawing, meshes[0], grid)
    else:
        for row, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            draw_histogram(ax, data, row, METHOD_COLORS.get(run.config.objective, OTHER_COLORS[0]))
    for ax in grid[:, 0]:
        ax.set_ylabel(data.labels[1] if len(data.labels) == 2 else "share of population")
    for ax in axes[-columns:]:
        ax.set_xlabel(data.labels[0])
    last = np.unique([row.generations[-1] for row in data.rows])
    drawing.suptitle(f"generation {last[0]:,}" if len(last) == 1 else "last generation of each run", fontsize=8)
    add_note(drawing, runs)
    return drawing
