"""The population's behaviors over generations, as heat maps (the paper's figures 2 and 5).

One behavior dimension: generations from left to right, runs side by side. Two: a map at some of the generations, one
row per run. Of several seeds one is shown: pooled, seeds that each found a different behavior would look like one
population that has them all. The last populations alone stand side by side (figures 3 and 4), one seed per group or
every seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.figures import style
from evolvability.figures.style import Array, grid, new_figure
from evolvability.runs.folder import Run, spread_out
from evolvability.runs.histograms import MAX_CELLS, Histogram, common_cells, histogram
from evolvability.studies.groups import check_one_task, group_runs, start_name
from evolvability.studies.measures import median_one_way, valid_behaviors

MAX_COLUMNS = 400  # more generations than this would be finer than print
NUM_MAPS = 5
MAX_STRIPS = 3  # side by side
PANEL, MAX_SEEDS = 1.05, 6  # inches, of one seed among many; and how many stand side by side
FINAL_PANEL, MAP = 2.1, 1.35  # inches, of a seed that stands for its group: its last generation, or one of several
TITLE_WIDTH = 32  # letters that fit above a panel
SHOWN = {
    1: "shown: of all seeds the one whose weaker side, left or right, goes the median distance",
    2: "shown: of all seeds the one of median final distance",
}
"""Which seed is shown, by the number of behavior dimensions drawn."""

Places = list[tuple[int, int]]
"""Of panels in a line: a row of the data, and one of its generations."""


@dataclass(frozen=True)
class Row:
    """The behaviors of one seed of a group of runs."""

    name: str
    """The name of the runs in the figure."""
    objective: str
    """The objective of the runs."""
    seed: int
    """The seed that is shown."""
    generations: Array
    """(num_shown,) the generations shown."""
    shares: Array
    """(num_shown, num_bins) or (num_shown, num_bins, num_bins), the share of the valid members in each bin."""

    @property
    def title(self) -> str:
        """The method and the seed."""
        return f"{self.name}, seed {self.seed}"


@dataclass(frozen=True)
class Heatmaps:
    """Rows over the same bins."""

    rows: list[Row]
    """One row per group of runs."""
    edges: list[Array]
    """(num_bins + 1,) the edges of the bins, for every dimension."""
    labels: list[str]
    """The labels of the axes, one or two."""
    least: float
    """The share of a single member, in the largest population."""


def data_from_runs(runs: Sequence[Run], most: int | None = None, *, every_seed: bool = False) -> Heatmaps:
    """Histograms over common bins, a row per group of runs that differ in their seeds alone; see `representative`.

    Invalid members are left out. At ``most`` so many generations are shown, from the first to the last; of every seed,
    if asked for, a row.
    """
    check_comparable(runs)
    names, groups = runs[0].behavior_names, group_runs(runs)
    shown = min(len(names), 2)
    places = [
        (group.name, *place)
        for group in groups
        for place in (_places(group.runs) if every_seed else [representative(group.runs)])
    ]
    most = most or (MAX_COLUMNS if shown == 1 else NUM_MAPS)
    found = []
    for _, run, seed in places:
        there = histograms_of(run, seed, shown)
        found.append({generation: there[generation] for generation in spread_out(sorted(there), most)})
    size = max(run.config.population_size for run in runs)
    width, low, shape = _cells([one for own in found for one in own.values()], size)
    edges = [width * np.arange(first, first + number + 1) for first, number in zip(low, shape, strict=True)]
    rows = []
    for (group, run, seed), own in zip(places, found, strict=True):
        name = f"{group} {start_name(run)}" if run.origin else group
        counts = [one.counted_in(width, low, shape) for one in own.values()]
        shares = np.stack([count / max(count.sum(), 1) for count in counts])
        rows.append(Row(name, run.config.objective, run.seeds[seed], np.array(list(own)), shares))
    return Heatmaps(rows, edges, names[:shown], 1 / size)


def histograms_of(run: Run, seed: int, shown: int) -> dict[int, Histogram]:
    """Of a seed by generation: of all generations, or of those whose behaviors were kept, where others are looked at.

    seed: its place among the run's seeds.
    """
    found = {} if run.dimensions else run.histograms()
    kept = {generation: one for (generation, of), one in found.items() if of == run.seeds[seed]}
    recorded = [generation for generation in run.recorded if generation not in kept]
    return kept | {one: histogram(valid_behaviors(run, seed, one)[0][:, :shown]) for one in recorded}


def representative(runs: Sequence[Run]) -> tuple[Run, int]:
    """The run and the place of the seed that figures show, see `SHOWN`; of two in the middle, the lower."""
    places = _places(runs)
    return sorted(places, key=lambda place: _spread(valid_behaviors(*place)[0]))[(len(places) - 1) // 2]


def _places(runs: Sequence[Run]) -> list[tuple[Run, int]]:
    return [(run, seed) for run in runs for seed in range(run.config.seeds)]


def _spread(cloud: Array) -> tuple[float, float]:
    distance = float(np.linalg.norm(cloud, axis=1).mean()) if len(cloud) else 0.0
    if cloud.shape[1] > 1 or not len(cloud):
        return distance, 0.0
    # Of two sides the weaker decides: by their mean distance alone, seeds that lost a side look like those with both.
    return min(median_one_way(side) for side in (cloud[:, 0], -cloud[:, 0])), distance


def draw(ax: Axes, data: Heatmaps, row: int) -> QuadMesh:
    """One behavior dimension: generations from left to right, behavior upwards."""
    shown = data.rows[row]
    # A column reaches halfway to its neighbors, as generations need not be recorded at equal distances.
    middles = (shown.generations[1:] + shown.generations[:-1]) / 2
    first, last = shown.generations[0], shown.generations[-1]
    across = np.array([first, *middles, last]) if len(middles) else np.array([first - 0.5, first + 0.5])
    mesh = _heat(ax, across, data.edges[0], shown.shares.T, data)
    ax.set_title(shown.title, loc="left")
    return mesh


def draw_map(ax: Axes, data: Heatmaps, row: int, column: int) -> QuadMesh:
    """Two behavior dimensions at one generation; a cross marks the origin."""
    mesh = _heat(ax, data.edges[0], data.edges[1], data.rows[row].shares[column].T, data)
    ax.plot(0, 0, marker="+", color="black", markersize=6, markeredgewidth=0.8)
    ax.set_aspect("equal")
    ax.spines[:].set_visible(True)
    return mesh


def figure(runs: Sequence[Run]) -> Figure:
    """Heat maps of the runs' behaviors, one row per group of them."""
    data = data_from_runs(runs)
    drawing = _strips(data) if len(data.labels) == 1 else _maps(data)
    _note_seeds(drawing, runs, data)
    return drawing


def _strips(data: Heatmaps) -> Figure:
    columns = min(len(data.rows), MAX_STRIPS)
    width, rows = 0.75 if columns < MAX_STRIPS else 1, -(-len(data.rows) // columns)
    drawing = new_figure(style.PAGE_WIDTH * width, 0.4 + 1.9 * rows)
    axes = grid(drawing, len(data.rows), columns, ("generation", data.labels[0]))
    meshes = [draw(ax, data, index) for index, ax in enumerate(axes)]
    _add_colorbar(drawing, meshes[0], axes[columns - 1])
    return drawing


def _maps(data: Heatmaps) -> Figure:
    """One line of maps per row of data, one map per generation."""
    lines = [[(index, column) for column in range(len(row.generations))] for index, row in enumerate(data.rows)]
    titles = [[f"generation {generation:,}" for generation in row.generations] for row in data.rows]
    return _panels(data, lines, MAP, titles, [row.title for row in data.rows])


def final_figure(runs: Sequence[Run]) -> Figure:
    """The last generation of every group, side by side at one scale: a map, or of one dimension a histogram."""
    data = data_from_runs(runs, most=1)
    places = [(index, -1) for index in range(len(data.rows))]
    lines = [places[first : first + MAX_STRIPS] for first in range(0, len(places), MAX_STRIPS)]
    titles = [[fill(data.rows[index].title, TITLE_WIDTH) for index, _ in line] for line in lines]
    drawing = _panels(data, lines, FINAL_PANEL, titles)
    drawing.suptitle(_last_generation(data), fontsize=8)
    _note_seeds(drawing, runs, data)
    return drawing


def seeds_figure(runs: Sequence[Run]) -> Figure:
    """The last generation of every seed at one scale, in lines of a group each: one seed may not stand for others."""
    data = data_from_runs(runs, most=1, every_seed=True)
    lines = _lines(data)
    side = max(PANEL, style.PAGE_WIDTH / (max(map(len, lines)) + 1))
    titles = [[f"seed {data.rows[index].seed}" for index, _ in line] for line in lines]
    drawing = _panels(data, lines, side, titles, [data.rows[line[0][0]].name for line in lines])
    drawing.suptitle(f"{_last_generation(data)}\n", fontsize=8)  # with room for the first line's name
    return drawing


def _last_generation(data: Heatmaps) -> str:
    last = {int(row.generations[-1]) for row in data.rows}
    return f"generation {last.pop():,}" if len(last) == 1 else "last generation of each run"


def _panels(
    data: Heatmaps, lines: Sequence[Places], side: float, titles: Sequence[Sequence[str]], names: Sequence[str] = ()
) -> Figure:
    """Lines of panels, each with a title; side: of a panel, in inches; names: of lines, above their first panels."""
    columns, flat = max(map(len, lines)), len(data.labels) == 1
    drawing = new_figure(side * columns + 1, (side + 0.3) * len(lines) + 0.5)
    drawing.set_layout_engine("constrained" if flat else "compressed", h_pad=0.13)
    drawing.suptitle(" ")  # room for the first line's name
    axes = drawing.subplots(len(lines), columns, squeeze=False, sharex=True, sharey=True)
    for line, panels, own in zip(lines, axes, titles, strict=True):
        panels[0].set_ylabel("share" if flat else data.labels[1])
        for place, ax, title in zip(line, panels, own, strict=False):
            _draw_panel(ax, data, *place)
            ax.set_title(title, loc="left", fontsize=7)
        for ax in panels[len(line) :]:
            ax.set_axis_off()
    for panels in axes.T:  # the lowest that is drawn, where lines are not equally long
        lowest = [ax for ax in panels if ax.axison][-1]
        lowest.set_xlabel(data.labels[0])
        lowest.xaxis.set_tick_params(labelbottom=True)
    for ax, name, former in zip(axes[:, 0], names, ["", *names], strict=False):
        if name != former:
            text = ax.annotate(name, (0, 1), xytext=(0, 14), xycoords="axes fraction", textcoords="offset points")
            text.set_in_layout(False)  # it may reach over further panels
    if not flat:
        digits = (1,) if columns > NUM_MAPS else (1, 2, 5)
        _add_colorbar(drawing, axes[0, 0].collections[0], axes[0, len(lines[0]) - 1], digits)
    return drawing


def _lines(data: Heatmaps) -> list[Places]:
    """Places of last populations, by group and seed; a group of many seeds has several lines, about equally long."""
    found: list[Places] = []
    for _, group in groupby(range(len(data.rows)), lambda index: data.rows[index].name):
        seeds = sorted(group, key=lambda index: data.rows[index].seed)
        found += [[(int(index), -1) for index in line] for line in np.array_split(seeds, -(-len(seeds) // MAX_SEEDS))]
    return found


def _draw_panel(ax: Axes, data: Heatmaps, index: int, column: int) -> None:
    row = data.rows[index]
    if len(data.labels) == 1:
        style.draw_histogram(ax, row.shares[column], data.edges[0], style.method_color(row.objective))
    else:
        draw_map(ax, data, index, column)
    if not row.shares[column].any():  # an empty panel would look like a mistake
        ax.text(0.5, 0.6, "no member is valid", transform=ax.transAxes, ha="center", fontsize=7)


def _note_seeds(drawing: Figure, runs: Sequence[Run], data: Heatmaps) -> None:
    if sum(run.config.seeds for run in runs) > len(data.rows):
        style.add_note(drawing, SHOWN[len(data.labels)])


def _add_colorbar(drawing: Figure, mesh: Collection, ax: Axes, digits: Sequence[int] = (1, 2, 5)) -> None:
    """The scale of all heat maps of a figure, beside one of them."""
    bar = style.add_colorbar(drawing, mesh, ax, "share of population")
    low, high = mesh.get_clim()
    # Of a narrow range, more.
    bar.locator = LogLocator(subs=digits if high > 100 * low else (1, 2, 5), numticks=99)
    bar.formatter = FuncFormatter(style.percent)
    bar.minorticks_off()


def _heat(ax: Axes, across: Array, up: Array, shares: Array, data: Heatmaps) -> QuadMesh:
    top = max(float(row.shares.max()) for row in data.rows)
    # Logarithmic: a bin with a single member is seen beside one with a tenth of the population.
    # At least a factor of two: equal ends would be no scale.
    norm = LogNorm(data.least, max(top, 2 * data.least))
    # Empty bins stay white. Drawn as an image, so that a vector file stays small.
    return ax.pcolormesh(across, up, np.ma.masked_equal(shares, 0), norm=norm, cmap=style.HEAT, rasterized=True)


def _cells(histograms: Sequence[Histogram], size: int) -> tuple[float, Sequence[int], Sequence[int]]:
    """Cells that hold every behavior: the more members, the finer; of two dimensions a square around the origin."""
    if not any(one.counts.any() for one in histograms):
        raise RunFolderError("Nothing to draw: no member of the recorded generations is valid.")
    most = int(np.clip(2 * np.sqrt(size), 20, MAX_CELLS[histograms[0].counts.ndim]))
    if histograms[0].counts.ndim == 1:
        return common_cells(histograms, most)
    # With the origin, which is in sight: of a cloud far from it, narrow cells would be too many.
    width, low, shape = common_cells([*histograms, histogram(np.zeros((1, 2)))], most)
    first, last = np.minimum(low, -1), np.maximum(np.add(low, shape), 1)
    number = int(max(last - first)) + 2
    return width, ((first + last - number) // 2).tolist(), [number, number]


def check_comparable(runs: Sequence[Run]) -> None:
    """Refuse runs whose behaviors cannot be drawn over the same axes."""
    check_one_task(runs)
    for run in runs:
        if not run.recorded:
            raise RunFolderError(f"{run.path} has no recorded behaviors yet. Wait for its first generation.")
        if run.behaviors()["behavior"].shape[2] != runs[0].behaviors()["behavior"].shape[2]:
            raise ConfigError(f"{runs[0].path} and {run.path} differ in their number of behaviors. Draw them apart.")
