"""How far adaptation gets, one panel per goal: over k for the best of k mutations, over episodes for any adapter."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.bands import Line, Lines, add_legend, draw_lines
from evolvability.figures.style import ZERO_LINE, Array, in_unit, letter, new_figure
from evolvability.runs.folder import Run
from evolvability.studies.adaptation import adapted_goals, load_adaptation
from evolvability.studies.groups import group_runs, unit_of
from evolvability.studies.races import Raced, races_of
from evolvability.studies.result_files import how_to_make

ADAPTERS = {
    "mutations": ("best of k mutations", "-", "o"),
    "gradient": ("gradient steps", "-.", "s"),
}
"""What each is called, its dashes and its marker; colors are shades of the methods' that trained what is adapted."""
TICKS = (1, 2, 5, 10, 20, 40, 100, 200, 500, 1000)


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """The adaptations kept in the run folders, by goal."""
    panels: dict[str, list[Line]] = {}
    for group in group_runs(runs):
        aim = group.config.goal if group.config.objective == "mean_fitness" else ""
        name = group.name + (f" for '{aim}'" if aim else "")
        for goal in {goal for run in group.runs for goal in adapted_goals(run)}:
            growth = _pooled([load_adaptation(run, goal).growth() for run in group.runs if goal in adapted_goals(run)])
            numbers = np.arange(1, growth.shape[1] + 1)
            panels.setdefault(goal, []).append(Line(name, group.config.objective, numbers, growth))
    if not panels:
        first = how_to_make(runs, "adaptation.adapt", "adapt")
        raise RunFolderError(f"Nothing to draw: no mutation was picked in {runs[0].path} yet. First: {first}")
    return Lines(dict(sorted(panels.items())))


def race_data(runs: Sequence[Run]) -> Lines:
    """The races kept in the run folders, by goal."""
    panels: dict[str, list[Line]] = defaultdict(list)
    for group in group_runs(runs):
        found: dict[tuple[str, str], list[Raced]] = defaultdict(list)
        for raced in (raced for run in group.runs for raced in races_of(run)):
            found[raced.goal, raced.adapter].append(raced)
        for (goal, adapter), several in found.items():
            title, dashes, marker = ADAPTERS.get(adapter, (adapter, *ADAPTERS["mutations"][1:]))
            values = _pooled([raced.performance for raced in several])
            episodes = several[0].episodes[: values.shape[1]]  # as many as the shortest race has
            look = {"linestyle": dashes, "marker": marker}
            panels[goal].append(Line(f"{group.name}, {title}", group.config.objective, episodes, values, look))
    if not panels:
        first = how_to_make(runs, "races.race", "race")
        raise RunFolderError(f"Nothing to draw: nothing was raced in {runs[0].path} yet. First: {first}")
    return Lines(dict(sorted(panels.items())))


def _pooled(found: Sequence[Array]) -> Array:
    """The seeds of several runs, (num_seeds, num_points), as far as the shortest goes."""
    shortest = min(values.shape[1] for values in found)
    return np.concatenate([values[:, :shortest] for values in found])


def draw(ax: Axes, data: Lines, goal: str) -> None:
    """Performance over the number of mutations, for one goal."""
    draw_lines(ax, data, goal)
    most = max(2, *(len(line.x) for line in data.panels[goal]))  # an axis from 1 to 1 would have no width
    ax.axhline(0, **ZERO_LINE)
    ax.set(xscale="log", xlabel="mutations, k", xlim=(1, most))
    ax.set_xticks([tick for tick in TICKS if tick <= most], minor=False)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.minorticks_off()


def draw_race(ax: Axes, data: Lines, goal: str) -> None:
    """Performance over episodes used, for one goal."""
    draw_lines(ax, data, goal, alpha=0.15)
    ax.axhline(0, **ZERO_LINE)
    ax.set(xlabel="episodes used", xlim=(0, None))


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per goal."""
    return _goal_panels(data_from_runs(runs), draw, in_unit("performance of the best of k", unit_of(runs)))


def race_figure(runs: Sequence[Run]) -> Figure:
    """One panel per goal."""
    return _goal_panels(race_data(runs), draw_race, in_unit("performance", unit_of(runs)))


def _goal_panels(data: Lines, draw: Callable[[Axes, Lines, str], None], label: str) -> Figure:
    """One panel per goal, drawn by ``draw``, and one legend."""
    drawing = new_figure(max(2.8 * len(data.panels), 4.2), 2.5 + 0.14 * len(data.firsts))
    # Distances to different points are not comparable by their size; those in different directions are.
    share = not any(":" in goal for goal in data.panels)
    axes = drawing.subplots(1, len(data.panels), squeeze=False, sharey=share)[0]
    for index, (goal, ax) in enumerate(zip(data.panels, axes, strict=True)):
        draw(ax, data, goal)
        letter(ax, index, goal_title(goal))
    axes[0].set_ylabel(label)
    add_legend(drawing, data.note, columns=len(axes))
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
