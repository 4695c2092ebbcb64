"""What mutations of trained centers do, as histograms (the paper's figures 3 and S5), from offspring that were kept.

One row per method and standard deviation of its mutations; of a run with several seeds, the one of median variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.style import (
    NOTE_COLOR,
    Array,
    add_note,
    draw_histogram,
    method_color,
    new_figure,
)
from evolvability.runs.folder import Run
from evolvability.studies.groups import check_one_task, run_names
from evolvability.studies.offspring import kept_offspring, kept_sigmas
from evolvability.studies.result_files import how_to_make
from evolvability.studies.statistics import median_index

NUM_BINS = 60
NOTE = "each row: one seed, whose variance of behavior is the median of its run's seeds"


@dataclass(frozen=True)
class Offspring:
    """The mutations of one center."""

    name: str  # what tells the run and the size of its mutations from the others
    objective: str  # the run's
    seed: int
    behavior: Array  # (num_offspring, num_behaviors)


@dataclass(frozen=True)
class Histograms:
    """Rows over the same bins, (num_bins + 1,) edges, and what their axis shows."""

    rows: list[Offspring]
    edges: Array
    label: str


def data_from_runs(runs: Sequence[Run], sigmas: Sequence[float] = ()) -> Histograms:
    """Histograms of the first behavior dimension, of all offspring that were kept, or of one sigma per run."""
    check_one_task(runs)
    rows = []
    for index, (name, run) in enumerate(zip(run_names([run.config for run in runs]), runs, strict=True)):
        # Sliced: empty where none was given, which an index would not be.
        for sigma in sigmas[index : index + 1] or kept_sigmas(run):
            clouds = kept_offspring(run, sigma)
            seed = median_index([float(cloud.var(axis=0).sum()) for cloud in clouds])
            title = f"{name}, mutations of {sigma:g}"
            rows.append(Offspring(title, run.config.objective, run.seeds[seed], clouds[seed]))
    if not rows:
        raise RunFolderError(
            f"Nothing to draw: no offspring was kept in {runs[0].path} yet. First: "
            f"{how_to_make(runs, 'offspring.offspring_of_run', 'measure', '--keep')}"
        )
    # Symmetric around the origin, so that left and right are compared at a glance.
    farthest = max(float(np.abs(row.behavior[:, 0]).max()) for row in rows)
    edges = np.linspace(-farthest, farthest, NUM_BINS + 1)
    return Histograms(rows, edges, runs[0].behavior_names[0])


def draw(ax: Axes, data: Histograms, row: int) -> None:
    """One center's mutations."""
    shown = data.rows[row]
    shares = np.histogram(shown.behavior[:, 0], data.edges)[0] / len(shown.behavior)
    draw_histogram(ax, shares, data.edges, method_color(shown.objective))
    ax.set_title(f"{shown.name}, seed {shown.seed}", loc="left")
    distance = np.linalg.norm(shown.behavior, axis=1).mean()
    text = f"mean distance {distance:.3g}, variance {shown.behavior.var(axis=0).sum():,.0f}"
    ax.set_title(text, loc="right", fontsize=6.5, color=NOTE_COLOR)


def figure(runs: Sequence[Run], sigmas: Sequence[float] = ()) -> Figure:
    """Histograms below one another, over the same behaviors."""
    data = data_from_runs(runs, sigmas)
    drawing = new_figure(5.4, 0.6 + 1.15 * len(data.rows))
    axes = drawing.subplots(len(data.rows), 1, squeeze=False, sharex=True)[:, 0]
    for index, ax in enumerate(axes):
        draw(ax, data, index)
    axes[-1].set_xlabel(data.label)
    drawing.supylabel("share of offspring", fontsize=8)
    if any(run.config.seeds > 1 for run in runs):
        add_note(drawing, NOTE)
    return drawing
