"""Behaviors by component (the paper's figures 7 and S4): a heat map per run, with what its species cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.behaviors import check_comparable, representative
from evolvability.figures.style import OTHER_COLORS, Array, add_note, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, method_name
from evolvability.studies.measures import (
    MeasureScale,
    common_reach,
    coverage,
    measure_scale,
    specialization_of,
    valid_behaviors,
    whole_populations,
)

COLORS = (OTHER_COLORS[1], OTHER_COLORS[2], OTHER_COLORS[0])  # none of a method's
ALONE = "#404040"
TITLE_WIDTH = 32  # letters that fit above a panel
FAINTEST = 0.45  # how much of its color a cell with a single member has
NOTE = "the darker a cell, the more members (logarithmic); its color tells of which components they are"
SHOWN = "of all seeds the one of median final distance is shown; beside a split population, its seed"


@dataclass(frozen=True)
class Species:
    """The last recorded generation of one seed of a run."""

    name: str
    """The run's name in the figure."""
    seed: int
    """The seed that is shown."""
    behavior: Array
    """(num_members, num_behaviors) the behaviors of the valid members."""
    component: Array
    """(num_members,) the component of each of them."""
    num_valid: int
    """How many valid members there are; an export may hold only some of them."""
    union: float
    """The share of cells that all components cover together."""
    each: list[float]
    """The share of cells that each component covers."""
    specialization: float | None
    """How well a behavior predicts its component, from 0 to 1; None for one component."""


@dataclass(frozen=True)
class Panels:
    """The species of several runs, measured by one scale."""

    panels: list[Species]
    """One panel per run."""
    by: MeasureScale
    """The scale that cells are measured by."""
    labels: list[str]
    """The labels of the axes."""


def data_from_runs(runs: Sequence[Run]) -> Panels:
    """One seed of every group of runs that differ in their seeds alone, see `_places`."""
    check_comparable(runs)
    places = _places([group.runs for group in group_runs(runs)])
    found = [whole_populations(run)[seed] for run, seed in places]
    if not any(len(behavior) for behavior in found):
        raise RunFolderError("Nothing to draw: no member of the recorded generations is valid.")
    by = measure_scale(common_reach(found))
    panels = [_species(*place, own, by) for place, own in zip(places, found, strict=True)]
    return Panels(panels, by, runs[0].behavior_names)


def _places(groups: Sequence[Sequence[Run]]) -> list[tuple[Run, int]]:
    """The run and the place of the seed that stands for each group; where one was split, its seed wherever it is."""
    places = [representative(runs) for runs in groups]
    # What was split is shown beside what it was split from, so both panels must be of one seed.
    split = {run.seeds[seed] for run, seed in places if run.origin}
    if len(split) != 1:
        return places
    (seed,) = split
    same = [[(run, run.seeds.index(seed)) for run in runs if seed in run.seeds] for runs in groups]
    return [own[0] if own else place for own, place in zip(same, places, strict=True)]


def draw(ax: Axes, data: Panels, index: int) -> None:
    """One run: a heat map in two dimensions, histograms on top of each other in one."""
    panel = data.panels[index]
    number = len(panel.each)
    colors = [COLORS[index % len(COLORS)] for index in range(number)] if number > 1 else [ALONE]
    if panel.behavior.shape[1] == 1:
        edges = np.linspace(-data.by.reach, data.by.reach, 2 * data.by.cells + 1)
        groups = [panel.behavior[panel.component == index, 0] for index in range(number)]
        ax.hist(groups, edges.tolist(), stacked=True, color=colors)
        ax.set_ylabel("members")
    else:
        edge = 1.06 * data.by.reach
        # Transposed: the rows of an image go up, the first dimension goes across.
        shades = _shades(panel, colors, edge).transpose(1, 0, 2)
        ax.imshow(shades, origin="lower", extent=(-edge, edge, -edge, edge), interpolation="nearest")
        ax.plot(0, 0, marker="+", color="black", markersize=6, markeredgewidth=0.8)
        ax.set_ylabel(data.labels[1] if index == 0 else "")
        ax.spines[:].set_visible(True)
    ax.set_xlabel(f"{data.labels[0]}\n{_numbers(panel)}", fontsize=7, linespacing=1.4)
    ax.set_title(fill(f"({chr(ord('a') + index)}) {panel.name}", TITLE_WIDTH), loc="left")


def _shades(panel: Species, colors: Sequence[str], edge: float) -> Array:
    """(num_cells, num_cells, 3) the color of every cell: its components' mixed, the lighter, the fewer members."""
    cells = int(np.clip(2 * np.sqrt(len(panel.behavior)), 20, 80))
    edges = [np.linspace(-edge, edge, cells + 1)] * 2
    each = [panel.component == index for index in range(len(colors))]
    counts = np.stack([np.histogramdd(panel.behavior[own][:, :2], edges)[0] for own in each], axis=-1)
    total = counts.sum(axis=-1, keepdims=True)
    mixed = counts @ np.array([to_rgb(color) for color in colors]) / np.maximum(total, 1)
    depth = FAINTEST + (1 - FAINTEST) * np.log(np.maximum(total, 1)) / np.log(max(total.max(), 2))
    return np.where(total > 0, 1 - depth * (1 - mixed), 1)


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per group of runs."""
    data = data_from_runs(runs)
    number, flat = len(data.panels), len(data.labels) == 1
    several = sum(run.config.seeds for run in runs) > number
    notes = [*([] if flat else [NOTE]), *([SHOWN] if several else [])]
    drawing = new_figure(2.35 * number + 0.3, 3.2 + 0.25 * several, "constrained" if flat else "compressed")
    axes = drawing.subplots(1, number, squeeze=False, sharex=True, sharey=True)[0]
    for index, ax in enumerate(axes):
        draw(ax, data, index)
    if notes:
        add_note(drawing, "; ".join(notes))
    return drawing


def _species(run: Run, seed: int, whole: Array, by: MeasureScale) -> Species:
    mixed = run.config.population == "mixture"
    number = run.config.population_options.components if mixed else 1
    # A histogram, which may be all there is of some members, does not tell components apart.
    behavior, component = valid_behaviors(run, seed) if mixed else (whole, np.zeros(len(whole), int))
    each = [coverage(behavior[component == index], by) for index in range(number)]
    share = specialization_of(run, seed, None, by) if mixed else None
    how = f"{'split into' if run.config.start_from else 'mixture of'} {number}" if mixed else "one component"
    name = f"{method_name(run.config.objective)}, {how}"
    return Species(name, run.seeds[seed], behavior, component, len(whole), coverage(whole, by), each, share)


def _numbers(panel: Species) -> str:
    covers = f"seed {panel.seed} covers {100 * panel.union:.0f} % of the cells"
    if panel.specialization is None:
        return covers
    alone = "(" + " and ".join(f"{100 * share:.0f} %" for share in panel.each) + ")"
    if len(panel.behavior) < panel.num_valid:  # some cover less
        alone = f"shown: {len(panel.behavior):,} of {panel.num_valid:,}"
    return f"{covers}\n{alone}, specialization {panel.specialization:.2f}"
