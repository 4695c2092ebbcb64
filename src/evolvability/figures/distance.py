"""How far from the origin a population gets, over generations (the paper's figures S1 and S2)."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from evolvability.figures.curves import METRICS, add_legend, data_from_runs, draw
from evolvability.figures.style import new_figure
from evolvability.runs.folder import Run


def figure(runs: Sequence[Run]) -> Figure:
    """The mean distance of all members; one line and band a group of runs that differ in their seeds alone."""
    data = data_from_runs(runs)
    drawing = new_figure(3.6, 2.6 + 0.15 * len(data.groups))
    ax = drawing.subplots()
    draw(ax, data, "distance")
    ax.set_ylabel(METRICS["distance"])
    add_legend(drawing, data, columns=1)
    return drawing
