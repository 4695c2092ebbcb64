"""Learning curves with a band over seeds, for any runs (the paper's figures S1 and S2 for any metric)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.figures.bands import Line, Lines, Measured, add_legend, distinct, draw_lines, measured, stacked
from evolvability.figures.style import Array, letter, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import identity, run_names

METRICS = {
    "variance": "variance of behavior",
    "entropy": "entropy of behavior (nats)",
    "distance": "mean distance from origin",
    "fitness_mean": "mean fitness",
}
"""The metrics drawn, each if it means something for the runs; of behaviors as they are, before any shaping."""

FROM_ZERO = ("variance", "distance")
MAX_POINTS = 100
LOG_FROM = 50  # a variance that changes by more than this factor is drawn on a logarithmic axis


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """Metrics of every group of runs that differ in their seeds alone; those without any value are left out.

    A point is one generation, or in a long run the mean of several.
    """
    groups: dict[str, list[Measured]] = {}
    for run, metrics in measured(runs):
        groups.setdefault(identity(run.config), []).append((run, metrics))
    configs = [group[0][0].config for group in groups.values()]
    pooled = [{metric: stacked(distinct(group, metric)) for metric in METRICS} for group in groups.values()]
    window = -(-max(values["variance"].shape[1] for values in pooled) // MAX_POINTS)
    panels: dict[str, list[Line]] = {}
    for name, config, values in zip(run_names(configs), configs, pooled, strict=True):
        for metric in METRICS:
            if np.isfinite(values[metric]).any():
                generation = np.arange(values[metric].shape[1], dtype=float)
                x, means = window_means(generation[None], window)[0], window_means(values[metric], window)
                panels.setdefault(metric, []).append(Line(name, config.objective, x, means))
    return Lines({metric: panels[metric] for metric in METRICS if metric in panels}, window)


def window_means(values: Array, window: int) -> Array:
    """(num_series, num_points) means of so many generations each, over the values there are.

    Examples:
        >>> window_means(np.array([[1.0, 3, 5, np.nan, 7]]), 2)
        array([[2., 5., 7.]])
    """
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % window)), constant_values=np.nan)
    blocks = padded.reshape(len(values), -1, window)
    counts = np.isfinite(blocks).sum(axis=2)
    return np.where(counts > 0, np.nansum(blocks, axis=2) / np.maximum(counts, 1), np.nan)


def draw(ax: Axes, data: Lines, metric: str) -> None:
    """One metric of every group over generations."""
    draw_lines(ax, data, metric)
    bands = [data.band(line) for line in data.panels[metric]]
    lowest, highest = min(np.nanmin(band.low) for band in bands), max(np.nanmax(band.high) for band in bands)
    if metric == "variance" and highest > LOG_FROM * lowest > 0:
        ax.set_yscale("log")
    elif metric in FROM_ZERO:
        ax.set_ylim(bottom=0)
    # Up to the end of the last window, and the same in every panel.
    end = max(line.x[-1] for line in data.firsts.values()) + (data.window + 1) / 2
    ax.set(xlabel="generation", xlim=(0, end))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def figure(runs: Sequence[Run]) -> Figure:
    """Small multiples: one panel per metric, one line and band per group of runs."""
    data = data_from_runs(runs)
    # Of one to four panels none of the grid's places stays empty.
    rows = max(1, len(data.panels) // 2)
    columns = -(-len(data.panels) // rows)
    drawing = new_figure(2.7 * columns, 1.9 * rows + 0.3 + 0.15 * len(data.firsts))
    axes = drawing.subplots(rows, columns, squeeze=False, sharex=True)
    for index, (metric, ax) in enumerate(zip(data.panels, axes.flat, strict=True)):
        draw(ax, data, metric)
        letter(ax, index, METRICS[metric])
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    add_legend(drawing, data.note)
    return drawing


def distance_figure(runs: Sequence[Run]) -> Figure:
    """How far from the origin a population gets, over generations (the paper's figures S1 and S2)."""
    data = data_from_runs(runs)
    drawing = new_figure(3.6, 2.6 + 0.15 * len(data.firsts))
    ax = drawing.subplots()
    draw(ax, data, "distance")
    ax.set_ylabel(METRICS["distance"])
    add_legend(drawing, data.note, columns=1)
    return drawing
