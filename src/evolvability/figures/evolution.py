"""Fitness during further evolution from different starts (the paper's figure 6)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import ConfigError
from evolvability.figures import style
from evolvability.figures.bands import Line, Lines, add_legend, distinct, draw_lines, measured, stacked
from evolvability.methods.registry import OBJECTIVES
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, metric_unit, start_name

FITNESS = "fitness"
RANDOM = {"color": "0.35"}


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """One line per start: those that evolvability ES trained first, then standard ES's, then a random one."""
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
    return Lines({FITNESS: lines})


def figure(runs: Sequence[Run]) -> Figure:
    """Fitness over generations, from every start. What members do on the way is in the figure `behaviors`."""
    data = data_from_runs(runs)
    drawing = style.new_figure(5.4, 2.4)
    ax = drawing.subplots()
    draw_lines(ax, data, FITNESS)
    label = style.in_unit("mean fitness", metric_unit("fitness_mean", runs))
    ax.set(xlabel="generations of standard ES", ylabel=label, xlim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    add_legend(drawing, data.note, beside=True)
    return drawing


def _trainer(run: Run) -> str:
    """The objective that trained what a run started from; none of a random start."""
    return run.origin["config"]["objective"] if run.origin else ""
