"""The last population's behaviors, runs side by side at one scale (the paper's figures 3 and 4).

Two behavior dimensions: one map per run. One: one histogram per run.
"""

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.figures.behaviors import NOTE, Heatmaps, add_colorbar, data_from_runs, draw_map
from evolvability.figures.style import add_note, draw_histogram, grid, method_color, new_figure
from evolvability.runs.folder import Run

PANEL_WIDTH = 2.1
TITLE_WIDTH = 32  # letters that fit above a panel


def draw(ax: Axes, data: Heatmaps, row: int, color: str) -> None:
    """A run's last generation: a map, or a histogram in the given color."""
    if len(data.labels) == 2:
        draw_map(ax, data, row, -1)
    else:
        draw_histogram(ax, data.rows[row].shares[-1], data.edges[0], color)
    ax.set_title(fill(data.rows[row].title, TITLE_WIDTH), loc="left")


def figure(runs: Sequence[Run]) -> Figure:
    """The last generation of every run, side by side."""
    data = data_from_runs(runs, most=1)
    columns = min(len(runs), 3)
    flat = len(data.labels) == 1
    height = 1.8 if flat else PANEL_WIDTH + 0.3
    drawing = new_figure(PANEL_WIDTH * columns + 0.8, height * -(-len(runs) // columns) + 0.5)
    axes, whole = grid(drawing, len(runs), columns, (data.labels[0], "share of population" if flat else data.labels[1]))
    for row, (ax, run) in enumerate(zip(axes, runs, strict=True)):
        draw(ax, data, row, method_color(run.config.objective))
    if not flat:
        add_colorbar(drawing, axes[0].collections[0], whole)
    last = np.unique([row.generations[-1] for row in data.rows])
    drawing.suptitle(f"generation {last[0]:,}" if len(last) == 1 else "last generation of each run", fontsize=8)
    if any(run.config.seeds > 1 for run in runs):
        add_note(drawing, NOTE)
    return drawing
