"""What mutations of trained centers do, as histograms (the paper's figures 3 and S5), from offspring that were kept.

One row per method and standard deviation of its mutations; of several seeds, the one of median variance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.style import NOTE_COLOR, Array, add_note, draw_histogram, method_color, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, unit_of
from evolvability.studies.offspring import kept_offspring, kept_sigmas
from evolvability.studies.result_files import how_to_make
from evolvability.studies.statistics import median_index

NUM_BINS = 60
NOTE = "shown: of all seeds the one of median variance, by mutations of training's size"


@dataclass(frozen=True)
class Offspring:
    """The mutations of one center."""

    name: str
    """The name of the run and the size of its mutations in the figure."""
    objective: str
    """The run's objective."""
    share: float
    """The mutations' standard deviation, as a share of training's."""
    seed: int
    """The seed of the center."""
    behavior: Array
    """(num_offspring, num_behaviors) what the mutations did."""


@dataclass(frozen=True)
class Histograms:
    """Rows over the same bins, (num_bins + 1,) edges, and what their axis shows."""

    rows: list[Offspring]
    """One row per center."""
    edges: Array
    """(num_bins + 1,) the edges of the bins."""
    label: str
    """The label of the x axis."""
    highest: float
    """The largest share of a row's offspring in one bin."""
    unit: str
    """The unit of the x axis."""


def representative(runs: Sequence[Run]) -> tuple[Run, int]:
    """The run and the place of the seed that is shown of some runs, see `NOTE`."""
    places = [(run, seed) for run in runs for seed in range(run.config.seeds)]
    clouds = [cloud for run in runs for cloud in kept_offspring(run)]
    return places[median_index([float(cloud.var(axis=0).sum()) for cloud in clouds])]


def data_from_runs(runs: Sequence[Run]) -> Histograms:
    """Histograms of the first behavior dimension, of all mutations that were kept; groups as in `behaviors`."""
    rows = []
    for group in group_runs(runs):
        if not (kept := [run for run in group.runs if kept_sigmas(run)]):
            continue
        run, seed = representative(kept)
        for sigma in kept_sigmas(run):
            title = f"{group.name}, mutations of {sigma:g}"
            share = round(sigma / run.config.population_options.sigma, 3)
            behavior = kept_offspring(run, sigma)[seed]
            rows.append(Offspring(title, run.config.objective, share, run.seeds[seed], behavior))
    if not rows:
        first = how_to_make(runs, "offspring.offspring_of_run", "measure", "--keep")
        raise RunFolderError(f"Nothing to draw: no offspring was kept in {runs[0].path} yet. First: {first}")
    # Symmetric around the origin, so that left and right are compared at a glance.
    farthest = max(float(np.abs(row.behavior[:, 0]).max()) for row in rows)
    edges = np.linspace(-farthest, farthest, NUM_BINS + 1)
    highest = max(float(_shares(row, edges).max()) for row in rows)
    return Histograms(rows, edges, runs[0].behavior_names[0], highest, unit_of(runs))


def _shares(row: Offspring, edges: Array) -> Array:
    shares: Array = np.histogram(row.behavior[:, 0], edges)[0] / len(row.behavior)
    return shares


def draw(ax: Axes, data: Histograms, row: int) -> None:
    """One center's mutations."""
    shown = data.rows[row]
    draw_histogram(ax, _shares(shown, data.edges), data.edges, method_color(shown.objective))
    ax.set_ylim(0, 1.05 * data.highest)
    ax.set_title(f"{shown.name}, seed {shown.seed}", loc="left")
    distance = np.linalg.norm(shown.behavior, axis=1).mean()
    unit, square = (f" {data.unit}", f" {data.unit}²") if data.unit else ("", "")
    variance = float(shown.behavior.var(axis=0).sum())
    digits = ",.0f" if variance >= 100 else ".3g"
    # Of a behavior that is one number the distance has a variance of its own, which the paper's text means.
    of = f" of {data.label.partition(' (')[0]}" if shown.behavior.shape[1] == 1 else ""
    text = f"mean distance {distance:.3g}{unit}, variance{of} {variance:{digits}}{square}"
    ax.set_title(text, loc="right", fontsize=6.5, color=NOTE_COLOR)


def figure(runs: Sequence[Run], shown: Callable[[Offspring], bool] = lambda row: True) -> Figure:
    """Histograms below one another, over the same behaviors; rows that are not shown have their part in the scales."""
    data = data_from_runs(runs)
    rows = [index for index, row in enumerate(data.rows) if shown(row)]
    drawing = new_figure(5.4, 0.6 + 1.15 * len(rows))
    axes = drawing.subplots(len(rows), 1, squeeze=False, sharex=True)[:, 0]
    for row, ax in zip(rows, axes, strict=True):
        draw(ax, data, row)
    axes[-1].set_xlabel(data.label)
    drawing.supylabel("share of offspring", fontsize=8)
    if sum(run.config.seeds for run in runs) > len(group_runs(runs)):
        add_note(drawing, NOTE)
    return drawing
