"""MAP-Elites archives of runs: coverage and QD score over evaluations, and the fitness of the elites in the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import ConfigError
from evolvability.figures.behaviors import check_comparable
from evolvability.figures.curves import ENOUGH_FOR_QUARTILES, Band, quantiles
from evolvability.figures.style import behavior_names, letter, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import run_names
from evolvability.studies.map_elites import Elites, archive_yardstick, fill_archive, worst_fitness

Array = np.ndarray[Any, Any]
CURVES = {"coverage": "coverage (share of cells)", "qd_score": "QD score"}


@dataclass(frozen=True)
class Illumination:
    """The archives of one run's seeds.

    Attributes:
        name: what tells the run from the others.
        objective: its own.
        archives: one a seed.
    """

    name: str
    objective: str
    archives: list[Elites]

    def band(self, curve: str) -> Band:
        """The median and the range over seeds: quartiles, or all of it where seeds are few."""
        values = np.stack([getattr(one, curve) for one in self.archives])
        ranks = (0.25, 0.5, 0.75) if len(values) >= ENOUGH_FOR_QUARTILES else (0, 0.5, 1)
        return Band(*quantiles(values, ranks))


@dataclass(frozen=True)
class Illuminations:
    """Archives with the same cells, the half width of their box, and what its axes are."""

    runs: list[Illumination]
    reach: float
    labels: list[str]


def data_from_runs(runs: Sequence[Run]) -> Illuminations:
    """Every run's recorded members, fed to archives with common cells."""
    check_comparable(runs)
    by, worst = archive_yardstick(runs), worst_fitness(runs)
    found = [
        Illumination(name, run.config.objective, [fill_archive(run, k, by, worst=worst) for k in range(len(run.seeds))])
        for name, run in zip(run_names([run.config for run in runs]), runs, strict=True)
    ]
    num_behaviors = found[0].archives[0].fitness.ndim
    if num_behaviors != 2:
        raise ConfigError(f"Archives of two behavior dimensions are drawn, but {runs[0].path} has {num_behaviors}.")
    return Illuminations(found, by.reach, behavior_names(runs[0].config, num_behaviors))


def draw_curve(ax: Axes, data: Illuminations, curve: str) -> None:
    """Coverage or QD score over evaluations."""
    for run, look in zip(data.runs, line_styles([run.objective for run in data.runs]), strict=True):
        band, evaluations = run.band(curve), run.archives[0].evaluations
        ax.plot(evaluations, band.median, label=run.name, **look)
        ax.fill_between(evaluations, band.low, band.high, color=look["color"], alpha=0.2, linewidth=0)
    ax.set(xlabel="evaluations", xlim=(0, None), ylim=(0, None))
    ax.grid(visible=True)


def draw_map(ax: Axes, data: Illuminations, index: int) -> Any:
    """The elites of a run's first seed, as colors; empty cells stay white."""
    all_fitness = np.concatenate([run.archives[0].fitness.ravel() for run in data.runs])
    limits = {"vmin": np.nanmin(all_fitness), "vmax": np.nanmax(all_fitness)}
    box = (-data.reach, data.reach, -data.reach, data.reach)
    ax.spines[:].set_visible(True)
    return ax.imshow(data.runs[index].archives[0].fitness.T, origin="lower", extent=box, cmap="viridis", **limits)


def figure(runs: Sequence[Run]) -> Figure:
    """Two curves above, one map a run below."""
    data = data_from_runs(runs)
    number = len(data.runs)
    drawing = new_figure(max(5.6, 0.9 + 1.5 * number), 4.4)
    above, below = drawing.subfigures(2, 1, squeeze=False, height_ratios=(1.25, 1))[:, 0]
    curves = above.subplots(1, len(CURVES), squeeze=False)[0]
    for index, (curve, title) in enumerate(CURVES.items()):
        draw_curve(curves[index], data, curve)
        letter(curves[index], index, title)
    lines = curves[0].get_lines()
    names = [str(line.get_label()) for line in lines]
    above.legend(lines, names, loc="outside right center")
    maps = below.subplots(1, number, squeeze=False, sharex=True, sharey=True)[0]
    for index, ax in enumerate(maps):
        image = draw_map(ax, data, index)
        letter(ax, len(CURVES) + index, data.runs[index].name)
        ax.set_xlabel(data.labels[0])
    maps[0].set_ylabel(data.labels[1])
    below.colorbar(image, ax=maps, label="fitness of elite", pad=0.02)
    return drawing
