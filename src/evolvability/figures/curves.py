"""Learning curves with a band over seeds, for any runs (the paper's figures S1 and S2 for any metric)."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import RunFolderError
from evolvability.figures.style import identity, letter, line_styles, new_figure, run_names
from evolvability.runs.checkpoints import Arrays
from evolvability.runs.folder import Run

METRICS = {
    "variance": "variance of behavior",
    "entropy": "entropy of behavior (nats)",
    "distance": "mean distance from origin",
    "fitness_mean": "mean fitness",
}
"""The metrics drawn, each if it means something for the runs; of behaviors as they are, before any shaping."""

FROM_ZERO = ("variance", "distance")
ENOUGH_FOR_QUARTILES = 5
MAX_POINTS = 100
LOG_FROM = 50  # a variance that changes by more than this factor is drawn on a logarithmic axis

Array = np.ndarray[Any, Any]
Measured = tuple[Run, Arrays]


class Band(NamedTuple):
    """A metric's median and range over seeds, each (num_points,)."""

    low: Array
    median: Array
    high: Array


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seeds alone.

    Attributes:
        name: what tells the group from the others.
        objective: its objective.
        num_seeds: how many seeds reached the last generation, and how many the first.
        generation: (num_points,) where the points of the bands lie.
        bands: by metric.
    """

    name: str
    objective: str
    num_seeds: tuple[int, int]
    generation: Array
    bands: dict[str, Band]


@dataclass(frozen=True)
class Curves:
    """Groups of runs, what the bands around their medians span, and how many generations a point stands for."""

    groups: list[Group]
    spans: str
    window: int


def data_from_runs(runs: Sequence[Run]) -> Curves:
    """Group the runs, and take medians and bands over the seeds of each group.

    Bands are interquartile ranges, or the whole range if a group has too few seeds for quartiles. A point is one
    generation, or in a long run the mean of several.
    """
    groups: dict[str, list[Measured]] = {}
    for run, metrics in measured(runs):
        groups.setdefault(identity(run.config), []).append((run, metrics))
    configs = [group[0][0].config for group in groups.values()]
    pooled = [{name: stacked(distinct(group, name)) for name in METRICS} for group in groups.values()]
    sizes = [len(values["variance"]) for values in pooled]
    quartiles = all(size == 1 or size >= ENOUGH_FOR_QUARTILES for size in sizes)
    spans = "interquartile range" if quartiles else "minimum to maximum"
    window = -(-max(values["variance"].shape[1] for values in pooled) // MAX_POINTS)
    named = zip(run_names(configs), configs, pooled, strict=True)
    drawn = [_group(name, config.objective, values, quartiles, window) for name, config, values in named]
    return Curves(drawn, spans if max(sizes) > 1 else "", window)


def measured(runs: Sequence[Run]) -> list[Measured]:
    """The runs that have metrics, with them; the others are named in a warning."""
    with_metrics = [(run, run.metrics) for run in runs]
    empty = [str(run.path) for run, metrics in with_metrics if not metrics]
    if len(empty) == len(runs):
        raise RunFolderError(f"Nothing to draw: no generation is done yet in {', '.join(empty)}.")
    if empty:
        warnings.warn(f"Left out, since no generation is done yet: {', '.join(empty)}.", stacklevel=2)
    return [(run, metrics) for run, metrics in with_metrics if metrics]


def distinct(runs: Sequence[Measured], name: str) -> list[Array]:
    """One metric of several runs, a series a seed: (num_generations, ...) each.

    A seed that is in two runs of one configuration counts once, as far as the longer of them goes.
    """
    by_seed: dict[tuple[str, int], Array] = {}
    for run, metrics in runs:
        for seed, series in zip(run.seeds, metrics[name], strict=True):
            key = (identity(run.config), seed)
            by_seed[key] = max(by_seed.get(key, series), series, key=len)
    return list(by_seed.values())


def stacked(series: Sequence[Array]) -> Array:
    """(num_series, num_generations) from series of any lengths, nan where one has ended."""
    length = max(map(len, series))
    return np.stack([np.pad(one, (0, length - len(one)), constant_values=np.nan) for one in series])


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


def quantiles(values: Array, ranks: Sequence[float]) -> Array:
    """(num_ranks, num_points) over the series that have a value there; nan where none has."""
    result = np.full((len(ranks), values.shape[1]), np.nan)
    reached = np.isfinite(values).any(axis=0)
    result[:, reached] = np.nanquantile(values[:, reached], ranks, axis=0)
    return result


def draw(ax: Axes, data: Curves, metric: str) -> None:
    """One metric of every group over generations."""
    for group, look in zip(data.groups, line_styles([group.objective for group in data.groups]), strict=True):
        if metric not in group.bands:
            continue
        band = group.bands[metric]
        marker = "o" if len(group.generation) == 1 else None
        ax.plot(group.generation, band.median, label=_legend_text(group), marker=marker, markersize=3, **look)
        ax.fill_between(group.generation, band.low, band.high, color=look["color"], alpha=0.25, linewidth=0)
    if metric == "variance" and _is_wide([group.bands[metric] for group in data.groups if metric in group.bands]):
        ax.set_yscale("log")
    elif metric in FROM_ZERO:
        ax.set_ylim(bottom=0)
    end = max(group.generation[-1] for group in data.groups) + (data.window + 1) / 2
    ax.set(xlabel="generation", xlim=(0, end))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.grid(visible=True)


def figure(runs: Sequence[Run]) -> Figure:
    """Small multiples: one panel a metric, one line and band a group of runs."""
    data = data_from_runs(runs)
    shown = [name for name in METRICS if any(name in group.bands for group in data.groups)]
    rows = max(1, len(shown) // 2)
    columns = -(-len(shown) // rows)
    drawing = new_figure(2.7 * columns, 1.9 * rows + 0.3 + 0.15 * len(data.groups))
    axes = drawing.subplots(rows, columns, squeeze=False, sharex=True)
    for index, (metric, ax) in enumerate(zip(shown, axes.flat, strict=True)):
        draw(ax, data, metric)
        letter(ax, index, METRICS[metric])
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    add_legend(drawing, data)
    return drawing


def add_legend(drawing: Figure, data: Curves, columns: int = 3) -> None:
    """One legend for all panels, in so many columns if the names are short."""
    lines = {line.get_label(): line for ax in drawing.axes for line in ax.get_lines()}
    drawing.legend(
        lines.values(),
        [str(label) for label in lines],
        loc="outside lower center",
        ncols=columns if max(len(str(label)) for label in lines) < 32 else 1,
        title=_note(data),
    )


def _note(data: Curves) -> str:
    seeds = f"line: median over seeds; band: {data.spans}" if data.spans else ""
    window = f"each point: mean of {data.window} generations" if data.window > 1 else ""
    return "; ".join(filter(None, (seeds, window)))


def _legend_text(group: Group) -> str:
    fewest, most = group.num_seeds
    seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{group.name} ({seeds} seed{'s' if most > 1 else ''})"


def _group(name: str, objective: str, values: Arrays, quartiles: bool, window: int) -> Group:
    """A group from its metrics, (num_seeds, num_generations) each; those without any value are left out."""
    ranks = (0.25, 0.5, 0.75) if quartiles else (0, 0.5, 1)
    reached = np.isfinite(values["variance"]).sum(axis=0)
    generation = window_means(np.arange(len(reached), dtype=float)[None], window)[0]
    found = {metric: array for metric, array in values.items() if np.isfinite(array).any()}
    bands = {metric: Band(*quantiles(window_means(array, window), ranks)) for metric, array in found.items()}
    return Group(name, objective, (int(reached[-1]), int(reached[0])), generation, bands)


def _is_wide(drawn: Sequence[Band]) -> bool:
    lowest = min(np.nanmin(band.low) for band in drawn)
    return bool(lowest > 0 and max(np.nanmax(band.high) for band in drawn) > LOG_FROM * lowest)
