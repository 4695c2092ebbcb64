"""MAML over its outer steps: returns before and after adaptation, and how far the adapted policies moved."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.config.schema import MAML
from evolvability.core.errors import RunFolderError
from evolvability.figures.bands import Line, Lines, add_legend, distinct, draw_lines, measured, stacked
from evolvability.figures.style import ZERO_LINE, letter, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs

PANELS = {
    "returns": ("return per episode", "adaptation pays"),
    "divergence": ("KL of a step (nats)", "within the trust region"),
    "action_std": ("standard deviation of actions", "exploration"),
}
"""The label of each panel's axis, and its title."""
METRICS = {
    "fitness_before": ("returns", "before"),
    "fitness_mean": ("returns", "after"),
    "divergence": ("divergence", "after"),
    "action_std": ("action_std", "after"),
}
"""The panel each metric is in, and whether it is of policies before or after adaptation."""


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """The metrics of every group, by panel; runs of other methods are refused."""
    for run in runs:
        if run.config.objective != MAML:
            raise RunFolderError(f"{run.path} was not trained by MAML, which is what this figure shows.")
    groups = group_runs([run for run, _ in measured(runs)])
    panels: dict[str, list[Line]] = {panel: [] for panel in PANELS}
    for group, style in zip(groups, line_styles([MAML] * len(groups)), strict=True):
        for metric, (panel, when) in METRICS.items():
            values = stacked(distinct([(run, run.metrics) for run in group.runs], metric))
            look = {"color": style["color"], "linestyle": "--" if when == "before" else "-"}
            name = f"{group.name}, {when} adaptation"
            panels[panel].append(Line(name, MAML, np.arange(values.shape[1]), values, look))
    return Lines(panels)


def draw(ax: Axes, data: Lines, panel: str) -> None:
    """Returns, divergence or the deviation of actions over outer steps."""
    draw_lines(ax, data, panel)
    ax.set(xlabel="outer step", ylabel=PANELS[panel][0])
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if panel != "returns":
        ax.set_ylim(bottom=0)


def figure(runs: Sequence[Run]) -> Figure:
    """Three panels: returns, divergence with its bound, deviation of actions."""
    data = data_from_runs(runs)
    drawing = new_figure(7.2, 2.7)
    axes = drawing.subplots(1, len(PANELS))
    for index, (panel, ax) in enumerate(zip(PANELS, axes, strict=True)):
        draw(ax, data, panel)
        letter(ax, index, PANELS[panel][1])
    bounds = {run.config.maml.trust_region for run in runs}
    for bound in bounds:
        axes[1].axhline(bound, **ZERO_LINE)
    # The bound stays in sight, however far below it the steps are.
    axes[1].set_ylim(0, 1.15 * max(bounds))
    add_legend(drawing, "; ".join(filter(None, (data.note, "dashed in (b): the bound"))), columns=2)
    return drawing
