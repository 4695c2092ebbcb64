"""Learning curves with a band over seeds; of the distance alone, the paper's S1 and S2."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.figures.bands import Line, Lines, add_legend, distinct, draw_lines, measured, stacked
from evolvability.figures.style import Array, in_unit, letter, new_figure, told_apart
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, metric_unit

METRICS = {
    "variance": "variance of behavior",
    "entropy": "entropy of behavior",
    "distance": "mean distance from origin",
    "repeatability": "repeatability",
    "fitness_mean": "mean fitness",
}
"""The metrics drawn, each if it means something for the runs; of behaviors as they are, before any shaping."""
OF_MAML = {
    "fitness_before": "mean fitness before adapting",
    "divergence": "divergence of a step",
    "action_std": "deviation of actions",
}
"""Those that MAML's runs have besides."""

FROM_ZERO = ("variance", "distance", "repeatability", "divergence", "action_std")
MAX_POINTS = 100
LOG_FROM = 50  # a variance that changes by more than this factor is drawn on a logarithmic axis


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """Metrics of every group of runs that differ in their seeds alone; those without any value are left out.

    A point is one generation, or in a long run the mean of several.
    """
    metrics = METRICS | OF_MAML
    known = measured(runs)
    window = -(-max(found["generation"].shape[1] for _, found in known) // MAX_POINTS)
    panels: dict[str, list[Line]] = {metric: [] for metric in metrics}
    groups = group_runs([run for run, _ in known])
    for name, group in zip(told_apart([group.name for group in groups]), groups, strict=True):
        own = [(run, found) for run, found in known if run in group.runs]
        for metric in (one for one in metrics if all(one in found for _, found in own)):
            values = stacked(distinct(own, metric))
            if np.isfinite(values).any():
                generation = np.arange(values.shape[1], dtype=float)
                x, means = window_means(generation[None], window)[0], window_means(values, window)
                panels[metric].append(Line(name, group.config.objective, x, means))
    return Lines({metric: lines for metric, lines in panels.items() if lines}, window)


def window_means(values: Array, window: int) -> Array:
    """(num_series, num_points) means of so many generations each, over the values there are.

    Examples:
        >>> window_means(np.array([[1.0, 3, 5, np.nan, 7]]), 2)
        array([[2., 5., 7.]])
    """
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % window)), constant_values=np.nan)
    means: Array = np.ma.masked_invalid(padded.reshape(len(values), -1, window)).mean(axis=2).filled(np.nan)
    return means


def _label(metric: str, runs: Sequence[Run]) -> str:
    return in_unit((METRICS | OF_MAML)[metric], metric_unit(metric, runs))


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
    rows = 1 if len(data.panels) < 4 else 2  # of five panels and of seven, the grid's last place stays empty
    columns = -(-len(data.panels) // rows)
    drawing = new_figure(2.7 * columns, 1.9 * rows + 0.3 + 0.15 * len(data.firsts))
    axes = drawing.subplots(rows, columns, squeeze=False, sharex=True)
    for index, (metric, ax) in enumerate(zip(data.panels, axes.flat, strict=False)):
        draw(ax, data, metric)
        letter(ax, index, _label(metric, runs))
    for ax in axes.flat[: len(data.panels) - columns]:
        ax.set_xlabel("")
    for ax in axes.flat[len(data.panels) :]:
        ax.set_axis_off()
        axes[-2, ax.get_subplotspec().colspan.start].xaxis.set_tick_params(labelbottom=True)
    add_legend(drawing, data.note)
    return drawing


def distance_figure(runs: Sequence[Run]) -> Figure:
    """How far from the origin a population gets, over generations (the paper's figures S1 and S2)."""
    data = data_from_runs(runs)
    drawing = new_figure(5.0, 2.4 + 0.1 * len(data.firsts))
    ax = drawing.subplots()
    draw(ax, data, "distance")
    ax.set_ylabel(_label("distance", runs))
    add_legend(drawing, data.note, beside=True)
    return drawing
