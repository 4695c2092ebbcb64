"""Performance over episodes used, of every adapter raced on some runs: one panel a goal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.adaptation import goal_title
from evolvability.figures.curves import ENOUGH_FOR_QUARTILES, Array, Band, quantiles
from evolvability.figures.style import letter, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.groups import RunGroup, group_runs
from evolvability.studies.races import Raced, races_of

ADAPTER_NAMES = {
    "mutations": "best of k mutations",
    "gradient": "gradient steps",
    "es": "standard ES",
    "hill_climbing": "hill climbing",
}
ADAPTER_LOOKS = {
    "mutations": ("-", "o", "#D55E00"),
    "gradient": ("-.", "s", "#882255"),
    "es": ("--", "^", "#009E73"),
    "hill_climbing": (":", "D", "#0072B2"),
}
"""Dashes, a marker and, where all lines are of one group, a color."""


@dataclass(frozen=True)
class Line:
    """One adapter on one group of runs, for one goal.

    Attributes:
        group: what tells the group from the others.
        objective: the group's.
        adapter: by name.
        num_seeds: how many centers were adapted.
        episodes: (num_points,) used so far.
        band: of performance.
    """

    group: str
    objective: str
    adapter: str
    num_seeds: int
    episodes: Array
    band: Band


@dataclass(frozen=True)
class Races:
    """Lines by goal, and what their bands span."""

    lines: dict[str, list[Line]]
    spans: str


def data_from_runs(runs: Sequence[Run]) -> Races:
    """The races kept in the run folders, grouped; bands are over the seeds of a group."""
    found: dict[str, list[Line]] = {}
    groups = group_runs(runs)
    sizes = [sum(run.config.seeds for run in group.runs) for group in groups]
    quartiles = all(size == 1 or size >= ENOUGH_FOR_QUARTILES for size in sizes)
    for group in groups:
        for line_of, raced in _pooled(group).items():
            found.setdefault(line_of[0], []).append(_line(group, raced, quartiles))
    if not found:
        raise RunFolderError(f"Nothing to draw: nothing was raced in {runs[0].path} yet. First: ees race RUN")
    spans = ("interquartile range" if quartiles else "minimum to maximum") if max(sizes) > 1 else ""
    return Races(dict(sorted(found.items())), spans)


def draw(ax: Axes, data: Races, goal: str) -> None:
    """Performance over episodes used, for one goal."""
    groups = list(dict.fromkeys((line.group, line.objective) for lines in data.lines.values() for line in lines))
    looks = dict(zip(groups, line_styles([objective for _, objective in groups]), strict=True))
    for line in data.lines[goal]:
        dashes, marker, own_color = ADAPTER_LOOKS[line.adapter]
        color = looks[line.group, line.objective]["color"] if len(groups) > 1 else own_color
        label = (
            f"{line.group}, {ADAPTER_NAMES[line.adapter]} ({line.num_seeds} seed{'s' if line.num_seeds > 1 else ''})"
        )
        ax.plot(line.episodes, line.band.median, color=color, linestyle=dashes, marker=marker, ms=2.5, label=label)
        ax.fill_between(line.episodes, line.band.low, line.band.high, color=color, alpha=0.15, linewidth=0)
    ax.axhline(0, color="0.5", linewidth=0.6, linestyle=(0, (4, 3)))
    ax.set(xlabel="episodes used", xlim=(0, None))
    ax.grid(visible=True)


def figure(runs: Sequence[Run]) -> Figure:
    """One panel a goal."""
    data = data_from_runs(runs)
    most = max(len(lines) for lines in data.lines.values())
    drawing = new_figure(max(2.9 * len(data.lines), 4.2), 2.5 + 0.14 * most)
    axes = drawing.subplots(1, len(data.lines), squeeze=False, sharey=not any(":" in goal for goal in data.lines))[0]
    for index, (goal, ax) in enumerate(zip(data.lines, axes, strict=True)):
        draw(ax, data, goal)
        letter(ax, index, goal_title(goal))
    axes[0].set_ylabel("performance")
    lines = {line.get_label(): line for ax in axes for line in ax.get_lines() if str(line.get_label())[0] != "_"}
    note = f"line: median over seeds; band: {data.spans}" if data.spans else ""
    drawing.legend(
        lines.values(), [str(label) for label in lines], loc="outside lower center", ncols=len(axes), title=note
    )
    return drawing


def _pooled(group: RunGroup) -> dict[tuple[str, str], list[Raced]]:
    """The races of all runs of a group, by goal and adapter."""
    pooled: dict[tuple[str, str], list[Raced]] = {}
    for run in group.runs:
        for raced in races_of(run):
            pooled.setdefault((raced.goal, raced.adapter), []).append(raced)
    return pooled


def _line(group: RunGroup, raced: Sequence[Raced], quartiles: bool) -> Line:
    points = min(len(one.episodes) for one in raced)
    performance = np.concatenate([one.performance[:, :points] for one in raced])
    ranks = (0.25, 0.5, 0.75) if quartiles else (0, 0.5, 1)
    episodes, adapter = raced[0].episodes[:points], raced[0].adapter
    band = Band(*quantiles(performance, ranks))
    return Line(group.name, group.config.objective, adapter, len(performance), episodes, band)
