"""What mutations of trained centers do, as histograms (the paper's figures 3 and S5), from offspring that were kept.

One row a method and standard deviation of its mutations; of a run with several seeds, the one of median variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.figures.curves import Array
from evolvability.figures.style import NOTE_COLOR, behavior_names, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import run_names
from evolvability.studies.offspring import kept_offspring, kept_sigmas
from evolvability.studies.statistics import median_index

NUM_BINS = 60
NOTE = "each row: one seed, whose variance of behavior is the median of its run's seeds"


@dataclass(frozen=True)
class Histogram:
    """The mutations of one center.

    Attributes:
        name: what tells the run and the size of its mutations from the others.
        objective: the run's.
        seed: the seed shown.
        shares: (num_bins,) of its offspring.
        distance: their mean distance from the origin.
        variance: the variance of their behaviors.
    """

    name: str
    objective: str
    seed: int
    shares: Array
    distance: float
    variance: float


@dataclass(frozen=True)
class Histograms:
    """Rows over the same bins, (num_bins + 1,) edges, and what their axis shows."""

    rows: list[Histogram]
    edges: Array
    label: str


def data_from_runs(runs: Sequence[Run], sigmas: Sequence[float] = ()) -> Histograms:
    """Histograms of the first behavior dimension.

    Args:
        runs: of one task, whose offspring were kept.
        sigmas: of the offspring shown, one a run; all that were kept unless given.
    """
    kept = [sigmas[index : index + 1] or kept_sigmas(run) for index, run in enumerate(runs)]
    pairs = [(run, sigma) for run, own in zip(runs, kept, strict=True) for sigma in own]
    chosen = [(run, sigma, *_median_seed(kept_offspring(run, sigma))) for run, sigma in pairs]
    if not chosen:
        raise RunFolderError(
            f"Nothing to draw: no offspring was kept in {runs[0].path} yet. First: ees measure RUN --keep"
        )
    dimensions = {cloud.shape[1] for *_, cloud in chosen}
    if len(dimensions) > 1 or len({run.config.task for run in runs}) > 1:
        raise ConfigError("The offspring of one task are compared, but the runs are of several.")
    farthest = max(float(np.abs(cloud[:, 0]).max()) for *_, cloud in chosen)
    edges = np.linspace(-farthest, farthest, NUM_BINS + 1)
    names = dict(zip((run.path for run in runs), run_names([run.config for run in runs]), strict=True))
    rows = []
    for run, sigma, index, cloud in chosen:
        shares = np.histogram(cloud[:, 0], edges)[0] / len(cloud)
        name = f"{names[run.path]}, mutations of {sigma:g}"
        distance, variance = float(np.linalg.norm(cloud, axis=1).mean()), float(cloud.var(axis=0).sum())
        rows.append(Histogram(name, run.config.objective, run.seeds[index], shares, distance, variance))
    label = behavior_names(runs[0].config, dimensions.pop())[0]
    return Histograms(rows, edges, label)


def draw(ax: Axes, data: Histograms, row: int) -> None:
    """One center's mutations."""
    shown = data.rows[row]
    looks = line_styles([one.objective for one in data.rows])
    first = next(index for index, one in enumerate(data.rows) if one.objective == shown.objective)
    color = looks[first]["color"]
    ax.stairs(shown.shares, data.edges, fill=True, color=color, alpha=0.75, linewidth=0)
    ax.axvline(0, color="0.5", linewidth=0.6, linestyle=(0, (4, 3)))
    ax.set_title(f"{shown.name}, seed {shown.seed}", loc="left")
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    text = f"mean distance {shown.distance:.3g}, variance {shown.variance:,.0f}"
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
        drawing.supxlabel(NOTE, fontsize=6.5, color=NOTE_COLOR)
    return drawing


def _median_seed(clouds: Sequence[Array]) -> tuple[int, Array]:
    index = median_index([float(cloud.var(axis=0).sum()) for cloud in clouds])
    return index, clouds[index]
