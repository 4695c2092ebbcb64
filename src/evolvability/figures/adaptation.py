"""How far the best of k mutations gets, over k: one panel a goal, a line and a band over seeds a group of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.curves import ENOUGH_FOR_QUARTILES, Band, quantiles
from evolvability.figures.style import letter, line_styles, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.adaptation import adapted_goals, load_adaptation
from evolvability.studies.groups import RunGroup, group_runs

TICKS = (1, 2, 5, 10, 20, 40, 100, 200, 500, 1000)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Growth:
    """The performance of a group's best of k mutations.

    Attributes:
        name: what tells the group from the others.
        objective: its objective.
        num_seeds: how many centers were mutated.
        bands: over k = 1, 2, ..., by goal.
    """

    name: str
    objective: str
    num_seeds: int
    bands: dict[str, Band]


@dataclass(frozen=True)
class Growths:
    """Groups of runs, the goals asked of them, and what the bands around their medians span."""

    groups: list[Growth]
    goals: list[str]
    spans: str


def data_from_runs(runs: Sequence[Run]) -> Growths:
    """The adaptations kept in the run folders, grouped; bands are over the seeds of a group."""
    goals = sorted({goal for run in runs for goal in adapted_goals(run)})
    if not goals:
        raise RunFolderError(f"Nothing to draw: no mutation was picked in {runs[0].path} yet. First: ees adapt RUN")
    groups = group_runs(runs)
    sizes = [sum(run.config.seeds for run in group.runs) for group in groups]
    quartiles = all(size == 1 or size >= ENOUGH_FOR_QUARTILES for size in sizes)
    spans = "interquartile range" if quartiles else "minimum to maximum"
    drawn = [_growth(group, goals, size, quartiles) for group, size in zip(groups, sizes, strict=True)]
    return Growths(drawn, goals, spans if max(sizes) > 1 else "")


def draw(ax: Axes, data: Growths, goal: str) -> None:
    """Performance over the number of mutations, for one goal."""
    most = 1
    for group, look in zip(data.groups, line_styles([group.objective for group in data.groups]), strict=True):
        if goal in group.bands:
            band = group.bands[goal]
            number = np.arange(1, len(band.median) + 1)
            most = max(most, len(number))
            ax.plot(number, band.median, label=f"{group.name} ({group.num_seeds} seeds)", **look)
            ax.fill_between(number, band.low, band.high, color=look["color"], alpha=0.25, linewidth=0)
    ax.axhline(0, color="0.5", linewidth=0.6, linestyle=(0, (4, 3)))
    ax.set(xscale="log", xlabel="mutations, k", xlim=(1, max(most, 2)))
    ax.set_xticks([tick for tick in TICKS if tick <= max(most, 2)], minor=False)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.minorticks_off()
    ax.grid(visible=True)


def figure(runs: Sequence[Run]) -> Figure:
    """One panel a goal."""
    data = data_from_runs(runs)
    drawing = new_figure(2.7 * max(len(data.goals), 1) + 0.4, 2.7)
    axes = drawing.subplots(1, len(data.goals), squeeze=False, sharey=not any(":" in goal for goal in data.goals))[0]
    for index, (goal, ax) in enumerate(zip(data.goals, axes, strict=True)):
        draw(ax, data, goal)
        letter(ax, index, goal_title(goal))
    axes[0].set_ylabel("performance of the best of k")
    note = f"line: median over seeds; band: {data.spans}" if data.spans else ""
    lines = {line.get_label(): line for ax in axes for line in ax.get_lines() if str(line.get_label())[0] != "_"}
    drawing.legend(lines.values(), [str(label) for label in lines], loc="outside lower center", ncols=3, title=note)
    return drawing


def goal_title(goal: str) -> str:
    """A goal as a panel's title.

    Examples:
        >>> goal_title("left"), goal_title("45"), goal_title("point:1,2")
        ('asked to go left', 'asked to go at 45°', 'asked to reach (1, 2)')
    """
    if goal.startswith("point:"):
        return f"asked to reach ({goal.removeprefix('point:').replace(',', ', ')})"
    if goal in ("left", "right"):
        return f"asked to go {goal}"
    return "asked for fitness" if goal == "fitness" else f"asked to go at {goal}°"


def _growth(group: RunGroup, goals: Sequence[str], num_seeds: int, quartiles: bool) -> Growth:
    ranks = (0.25, 0.5, 0.75) if quartiles else (0, 0.5, 1)
    bands = {}
    for goal in goals:
        found = [load_adaptation(run, goal).growth() for run in group.runs if goal in adapted_goals(run)]
        if found:
            shortest = min(growth.shape[1] for growth in found)
            bands[goal] = Band(*quantiles(np.concatenate([growth[:, :shortest] for growth in found]), ranks))
    aim = group.config.goal if group.config.objective == "mean_fitness" else ""
    return Growth(group.name + (f" for '{aim}'" if aim else ""), group.config.objective, num_seeds, bands)
