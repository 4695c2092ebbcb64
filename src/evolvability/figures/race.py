"""Performance over episodes used, of every adapter raced on some runs: one panel per goal."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evolvability.core.errors import RunFolderError
from evolvability.figures.adaptation import goal_panels, pooled
from evolvability.figures.bands import Line, Lines, draw_lines
from evolvability.figures.style import ZERO_LINE, line_styles
from evolvability.runs.folder import Run
from evolvability.studies.groups import RunGroup, group_runs
from evolvability.studies.races import Raced, races_of

ADAPTERS = {
    "mutations": ("best of k mutations", "-", "o", "#D55E00"),
    "gradient": ("gradient steps", "-.", "s", "#882255"),
    "es": ("standard ES", "--", "^", "#009E73"),
    "hill_climbing": ("hill climbing", ":", "D", "#0072B2"),
}
"""What each is called, its dashes, its marker and, where all lines are of one group, its color."""


def data_from_runs(runs: Sequence[Run]) -> Lines:
    """The races kept in the run folders, by goal."""
    groups = [(group, found) for group in group_runs(runs) if (found := _by_goal_and_adapter(group))]
    if not groups:
        raise RunFolderError(f"Nothing to draw: nothing was raced in {runs[0].path} yet. First: ees race RUN")
    styles = line_styles([group.config.objective for group, _ in groups])
    panels: dict[str, list[Line]] = {}
    for (group, found), style in zip(groups, styles, strict=True):
        for (goal, adapter), raced in found.items():
            title, dashes, marker, color = ADAPTERS[adapter]
            look = {"color": style["color"] if len(groups) > 1 else color, "linestyle": dashes, "marker": marker}
            values = pooled([one.performance for one in raced])
            # As many as `pooled` left of the shortest race.
            episodes = raced[0].episodes[: values.shape[1]]
            line = Line(f"{group.name}, {title}", group.config.objective, episodes, values, look)
            panels.setdefault(goal, []).append(line)
    return Lines(dict(sorted(panels.items())))


def draw(ax: Axes, data: Lines, goal: str) -> None:
    """Performance over episodes used, for one goal."""
    draw_lines(ax, data, goal, alpha=0.15)
    ax.axhline(0, **ZERO_LINE)
    ax.set(xlabel="episodes used", xlim=(0, None))


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per goal."""
    return goal_panels(data_from_runs(runs), draw, "performance")


def _by_goal_and_adapter(group: RunGroup) -> dict[tuple[str, str], list[Raced]]:
    """The races of all runs of a group."""
    found: dict[tuple[str, str], list[Raced]] = {}
    for run in group.runs:
        for raced in races_of(run):
            found.setdefault((raced.goal, raced.adapter), []).append(raced)
    return found
