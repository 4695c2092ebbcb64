"""Lines with bands over seeds: what the figures of learning curves, adaptation and further evolution share."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from evolvability.core.errors import RunFolderError
from evolvability.figures.style import Array, line_styles
from evolvability.runs.folder import Run
from evolvability.runs.sealed import Arrays
from evolvability.studies.groups import run_identity

ENOUGH_FOR_QUARTILES = 5
MAX_BESIDE = 36  # letters of a name that leave room for the panels

Measured = tuple[Run, Arrays]


class Band(NamedTuple):
    """A median and a range over seeds, each (num_points,)."""

    low: Array
    """(num_points,) the lower end of the range."""
    median: Array
    """(num_points,) the median."""
    high: Array
    """(num_points,) the upper end of the range."""


@dataclass(frozen=True)
class Line:
    """One group of runs in one panel."""

    name: str
    """The group's name in the legend."""
    objective: str
    """The group's objective, which decides the color."""
    x: Array
    """(num_points,) where the points are on the x axis."""
    values: Array
    """(num_seeds, num_points) the values; nan where a seed has ended."""
    look: Mapping[str, Any] = field(default_factory=dict)
    """Color, dashes and marker, where they differ from those of the objective."""

    @property
    def median(self) -> Array:
        """(num_points,) over the seeds that got so far."""
        return quantiles(self.values, [0.5])[0]

    @property
    def num_seeds(self) -> tuple[int, int]:
        """How many seeds reached the last point, and how many the first."""
        reached = np.isfinite(self.values).sum(axis=0)
        return int(reached[-1]), int(reached[0])


@dataclass(frozen=True)
class Lines:
    """The lines of a figure."""

    panels: dict[str, list[Line]]
    """The lines of each panel, by the panel's name."""
    window: int = 1
    """How many generations each point is the mean of."""

    @property
    def firsts(self) -> dict[str, Line]:
        """By name, the line in the first panel that has it: in every panel a name looks and is called the same."""
        found: dict[str, Line] = {}
        for line in (line for lines in self.panels.values() for line in lines):
            found.setdefault(line.name, line)
        return found

    @property
    def looks(self) -> dict[str, dict[str, Any]]:
        """Color, dashes and marker by name."""
        styles = line_styles([line.objective for line in self.firsts.values()])
        return {name: {**style, **line.look} for (name, line), style in zip(self.firsts.items(), styles, strict=True)}

    @property
    def spans(self) -> str:
        """What the bands span; nothing if no line has two seeds."""
        if max(len(line.values) for line in self.firsts.values()) == 1:
            return ""
        return "interquartile range" if self._quartiles else "minimum to maximum"

    @property
    def seeds(self) -> int:
        """How many seeds every line has, from its first point to its last; 0 where they differ."""
        numbers = {number for line in self.firsts.values() for number in line.num_seeds}
        return numbers.pop() if len(numbers) == 1 else 0

    @property
    def note(self) -> str:
        """What lines, bands and points stand for."""
        of = f"of {self.seeds} seeds" if self.seeds else "over seeds"
        seeds = f"line: median {of}; band: {self.spans}" if self.spans else ""
        window = f"each point: mean of {self.window} generations" if self.window > 1 else ""
        return "; ".join(filter(None, (seeds, window)))

    def band(self, line: Line) -> Band:
        """Quartiles, or the whole range if any line of the figure has too few seeds for quartiles."""
        return Band(*quantiles(line.values, (0.25, 0.5, 0.75) if self._quartiles else (0, 0.5, 1)))

    @property
    def _quartiles(self) -> bool:
        # One answer for the whole figure: its note says what all bands span. One seed has no band at all.
        sizes = [len(line.values) for line in self.firsts.values()]
        return all(size == 1 or size >= ENOUGH_FOR_QUARTILES for size in sizes)


def draw_lines(ax: Axes, data: Lines, panel: str, alpha: float = 0.22) -> None:
    """Every line of a panel, with its band."""
    for line in data.panels[panel]:
        band, look = data.band(line), data.looks[line.name]
        if len(line.x) == 1:
            look = {"marker": "o", **look}  # a line of one point would not be seen
        fewest, most = data.firsts[line.name].num_seeds
        seeds = f"{most} seed{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} seeds"
        label = line.name if data.seeds else f"{line.name} ({seeds})"
        ax.plot(line.x, band.median, label=label, markersize=3, **look)
        ax.fill_between(line.x, band.low, band.high, color=look["color"], alpha=alpha, linewidth=0)
    ax.grid(visible=True)


def add_legend(drawing: Figure | SubFigure, note: str, columns: int = 3, *, beside: bool = False) -> None:
    """One legend for all panels: below them in so many columns, or beside them in one, if the names are short."""
    every = [line for ax in drawing.axes for line in ax.get_lines()]
    # Matplotlib's own labels, of lines at zero and the like, begin with an underscore.
    lines = {str(line.get_label()): line for line in every if not str(line.get_label()).startswith("_")}
    if beside and max(map(len, lines)) < MAX_BESIDE:
        drawing.legend(lines.values(), lines.keys(), loc="outside right center", title=note.replace("; ", "\n"))
    else:
        columns = columns if max(map(len, lines)) < 45 and not beside else 1
        drawing.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=columns, title=note)


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
    """One metric of several runs, a series per seed: (num_generations, ...) each.

    A seed that is in two runs of one configuration counts once, as far as the longer of them goes.
    """
    by_seed: dict[tuple[str, int], Array] = {}
    for run, metrics in runs:
        for seed, series in zip(run.seeds, metrics[name], strict=True):
            key = (run_identity(run), seed)
            by_seed[key] = max(by_seed.get(key, series), series, key=len)
    return list(by_seed.values())


def stacked(series: Sequence[Array]) -> Array:
    """(num_series, num_generations) from series of any lengths, nan where one has ended."""
    length = max(map(len, series))
    return np.stack([np.pad(one, (0, length - len(one)), constant_values=np.nan) for one in series])


def quantiles(values: Array, ranks: Sequence[float]) -> Array:
    """(num_ranks, num_points) over the series that have a value there; nan where none has."""
    result = np.full((len(ranks), values.shape[1]), np.nan)
    # nanquantile warns of points that no series has reached.
    reached = np.isfinite(values).any(axis=0)
    result[:, reached] = np.nanquantile(values[:, reached], ranks, axis=0)
    return result
