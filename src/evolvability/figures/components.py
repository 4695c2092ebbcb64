"""Behaviors told apart by component (the paper's figures 7 and S4): one panel per run, with what its species cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.behaviors import check_comparable, representative_seed
from evolvability.figures.style import Array, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import method_name
from evolvability.studies.measures import (
    MeasureScale,
    common_reach,
    coverage,
    measure_scale,
    specialization_of,
    valid_behaviors,
)

# Okabe and Ito's, in an order in which neighbors differ most; one component alone is dark gray.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
ALONE = "0.25"
MARKED = 4000  # members drawn, at most
TITLE_WIDTH = 32  # letters that fit above a panel


@dataclass(frozen=True)
class Species:
    """The last recorded generation of one seed of a run."""

    name: str
    seed: int
    behavior: Array  # (num_members, num_behaviors) of the valid members
    component: Array  # (num_members,) the component of each
    union: float  # the share of cells that all components together cover
    each: list[float]  # the share of cells that each covers
    specialization: float | None  # how far behavior tells the component, from 0 to 1; None for one component


@dataclass(frozen=True)
class Panels:
    """The species of several runs, measured by one scale."""

    panels: list[Species]
    by: MeasureScale
    labels: list[str]


def data_from_runs(runs: Sequence[Run]) -> Panels:
    """The seed of median final distance, of every run; of what was split, the one it was split from."""
    check_comparable(runs)
    seeds = _shown_seeds(runs)
    found = [valid_behaviors(run, seed) for run, seed in zip(runs, seeds, strict=True)]
    if not any(len(behavior) for behavior, _ in found):
        raise RunFolderError("Nothing to draw: no member of the recorded generations is valid.")
    by = measure_scale(common_reach([behavior for behavior, _ in found]))
    panels = [_species(run, seed, *own, by) for run, seed, own in zip(runs, seeds, found, strict=True)]
    return Panels(panels, by, runs[0].behavior_names)


def _shown_seeds(runs: Sequence[Run]) -> list[int]:
    seeds = [representative_seed(run) for run in runs]
    # What was split is shown beside what it was split from, so both panels must be of one seed.
    split = {run.seeds[seed] for run, seed in zip(runs, seeds, strict=True) if run.origin}
    for index, run in enumerate(runs):
        if run.config.population != "mixture" and len(split) == 1 and split <= set(run.seeds):
            seeds[index] = list(run.seeds).index(*split)  # its one element
    return seeds


def draw(ax: Axes, data: Panels, index: int) -> None:
    """One run: points in two dimensions, histograms on top of each other in one."""
    panel = data.panels[index]
    number = len(panel.each)
    colors = [COLORS[index % len(COLORS)] for index in range(number)] if number > 1 else [ALONE]
    if panel.behavior.shape[1] == 1:
        edges = np.linspace(-data.by.reach, data.by.reach, 2 * data.by.cells + 1)
        groups = [panel.behavior[panel.component == index, 0] for index in range(number)]
        ax.hist(groups, edges.tolist(), stacked=True, color=colors)
        ax.set_ylabel("members")
    else:
        order = np.random.default_rng(0).permutation(len(panel.behavior))[:MARKED]  # no component lies on top
        across, up = panel.behavior[order, :2].T
        shades = np.array(colors)[panel.component[order]]
        ax.scatter(across, up, s=3, c=shades, linewidths=0, alpha=0.7, rasterized=True)
        ax.plot(0, 0, marker="+", color="black", markersize=6, markeredgewidth=0.8)
        edge = 1.06 * data.by.reach
        ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
        ax.set_ylabel(data.labels[1] if index == 0 else "")
    ax.set_xlabel(f"{data.labels[0]}\n\n{_numbers(panel)}")
    ax.set_title(fill(f"({chr(ord('a') + index)}) {panel.name}", TITLE_WIDTH), loc="left")


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per run."""
    data = data_from_runs(runs)
    number = len(data.panels)
    drawing = new_figure(2.35 * number + 0.3, 3.3)
    axes = drawing.subplots(1, number, squeeze=False, sharex=True, sharey=len(data.labels) == 1)[0]
    for index, ax in enumerate(axes):
        draw(ax, data, index)
    return drawing


def _species(run: Run, seed: int, behavior: Array, component: Array, by: MeasureScale) -> Species:
    mixed = run.config.population == "mixture"
    number = run.config.components if mixed else 1
    each = [coverage(behavior[component == index], by) for index in range(number)]
    share = specialization_of(run, seed, None, by).share if mixed else None
    how = f"{'split into' if run.config.start_from else 'mixture of'} {number}" if mixed else "one component"
    name = f"{method_name(run.config.objective)}, {how}"
    return Species(name, run.seeds[seed], behavior, component, coverage(behavior, by), each, share)


def _numbers(panel: Species) -> str:
    lines = [f"seed {panel.seed} covers {100 * panel.union:.0f} % of the cells"]
    if panel.specialization is not None:
        alone = " and ".join(f"{100 * share:.0f} %" for share in panel.each)
        lines += [f"its components {alone}", f"specialization {panel.specialization:.2f}"]
    return "\n".join(lines)
