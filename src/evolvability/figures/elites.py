"""MAP-Elites archives of runs: coverage and QD score over evaluations, and the fitness of the elites in the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import ConfigError, in_words
from evolvability.figures.bands import Line, Lines, add_legend, draw_lines
from evolvability.figures.behaviors import check_comparable
from evolvability.figures.style import Array, add_colorbar, letter, new_figure, told_apart
from evolvability.runs.folder import Run
from evolvability.studies.groups import run_names
from evolvability.studies.map_elites import archive_scale, fill_archive, worst_fitness

CURVES = {"coverage": "coverage (share of cells)", "qd_score": "QD score"}


@dataclass(frozen=True)
class Illumination:
    """Archives with the same cells."""

    curves: Lines
    """Coverage and QD score over evaluations, one line per run."""
    fitness: dict[str, Array]
    """By run, (num_cells, num_cells) the fitness of the elites of its first seed; nan in empty cells."""
    reach: float
    """Half the width of the box of cells."""
    labels: list[str]
    """The labels of the box's axes."""


def data_from_runs(runs: Sequence[Run]) -> Illumination:
    """Every run's recorded members, fed to archives with common cells."""
    check_comparable(runs)
    if (number := len(runs[0].behavior_names)) != 2:  # before an archive of more is filled
        choose = f" Choose two: {in_words('Run(path, dimensions=(0, 1))', '--dimensions 0,1')}." if number > 2 else ""
        raise ConfigError(f"An archive is drawn over two behavior dimensions, and {runs[0].path} has {number}.{choose}")
    by, worst = archive_scale(runs), worst_fitness(runs)
    panels: dict[str, list[Line]] = {curve: [] for curve in CURVES}
    fitness = {}
    names = told_apart(run_names([run.config for run in runs]))
    for name, run in zip(names, runs, strict=True):
        archives = [fill_archive(run, k, by, worst=worst) for k in range(len(run.seeds))]
        fitness[name] = archives[0].fitness
        for curve in CURVES:
            values = np.stack([getattr(one, curve) for one in archives])
            panels[curve].append(Line(name, run.config.objective, archives[0].evaluations, values))
    return Illumination(Lines(panels), fitness, by.reach, runs[0].behavior_names)


def draw_map(ax: Axes, data: Illumination, name: str) -> Any:
    """The elites of a run's first seed, as colors; empty cells stay white."""
    # One scale for all maps.
    everywhere = np.concatenate([fitness.ravel() for fitness in data.fitness.values()])
    limits = {"vmin": np.nanmin(everywhere), "vmax": np.nanmax(everywhere)}
    box = (-data.reach, data.reach, -data.reach, data.reach)
    ax.spines[:].set_visible(True)
    # Transposed: the rows of an image go up, the first dimension goes across.
    return ax.imshow(data.fitness[name].T, origin="lower", extent=box, cmap="viridis", **limits)


def figure(runs: Sequence[Run]) -> Figure:
    """Two curves above, one map per run below."""
    data = data_from_runs(runs)
    drawing = new_figure(max(5.6, 0.9 + 1.5 * len(data.fitness)), 4.4)
    above, below = drawing.subfigures(2, 1, squeeze=False, height_ratios=(1.25, 1))[:, 0]
    for index, (curve, ax) in enumerate(zip(CURVES, above.subplots(1, len(CURVES)), strict=True)):
        draw_lines(ax, data.curves, curve)
        ax.set(xlabel="evaluations", xlim=(0, None), ylim=(0, None))
        letter(ax, index, CURVES[curve])
    add_legend(above, data.curves.note, beside=True)
    maps = below.subplots(1, len(data.fitness), squeeze=False, sharex=True, sharey=True)[0]
    for index, (name, ax) in enumerate(zip(data.fitness, maps, strict=True), start=len(CURVES)):
        image = draw_map(ax, data, name)
        letter(ax, index, name)
        ax.set_xlabel(data.labels[0])
    maps[0].set_ylabel(data.labels[1])
    add_colorbar(drawing, image, maps[-1], "fitness of elite")
    return drawing
