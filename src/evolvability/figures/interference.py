"""The paper's figure 1: the interference pattern, and how each method's centers move over it."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import ConfigError
from evolvability.figures.bands import Line, Measured, distinct, measured, stacked
from evolvability.figures.style import PAGE_WIDTH, letter, method_color, new_figure
from evolvability.methods.registry import OBJECTIVES
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.studies.groups import method_name
from evolvability.tasks.interference import MOST_EVOLVABLE, pattern

BASELINE = "mean_fitness"
WHOLE_WAVE = (0.0, 5 * np.pi)  # where the slow sine is positive
LEGEND_ABOVE = 9.5  # where the legend starts, when it is at the top
POINTS = 4000  # 80 per period of the fast sine


def data_from_runs(runs: Sequence[Run]) -> list[Line]:
    """How the centers of every method among the runs moved, in the order of OBJECTIVES.

    The values of each are (num_traces, num_generations): one trace per seed and component, nan where it has ended.
    """
    for run in runs:
        if run.config.task != "interference":
            other = command_line("figure", "behaviors", run.path)
            raise ConfigError(f"{run.path} is a run of '{run.config.task}', not of interference. Try: {other}")
    by_objective: dict[str, list[Measured]] = {}
    for run, metrics in measured(runs):
        by_objective.setdefault(run.config.objective, []).append((run, metrics))
    order = [*OBJECTIVES, *by_objective]  # sums and objects come last, as they were met
    return [_line(objective, by_objective[objective]) for objective in sorted(by_objective, key=order.index)]


def panels(lines: Sequence[Line]) -> list[list[Line]]:
    """The methods each training plot shows: one, and standard ES beside it for comparison."""
    methods = [line for line in lines if line.objective != BASELINE]
    baseline = [line for line in lines if line.objective == BASELINE]
    return [[method, *baseline] for method in methods] or [baseline]


def draw_pattern(ax: Axes, limits: tuple[float, float]) -> None:
    """Behavior as a function of the genome; the genome is vertical, as it is in the training plots."""
    x = np.linspace(*limits, POINTS)
    ax.plot(np.asarray(pattern(jnp.asarray(x))), x, color="0.35", linewidth=0.6)
    for side in (-1, 1):
        ax.plot(side * 5 * np.sin(x / 5), x, color="0.65", linewidth=0.6)
    _mark_optimum(ax)
    ax.set(xlabel="behavior f(x)", ylabel="parameter x", xticks=(-5, 0, 5), ylim=limits)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))


def draw(ax: Axes, lines: Sequence[Line]) -> None:
    """The parameter over generations: a thin line per seed, a thick one for their median."""
    for line in reversed(lines):  # the baseline lies below
        ax.plot(line.x, line.values.T, color=method_color(line.objective), linewidth=0.5, alpha=0.35)
    several = max(len(line.values) for line in lines) > 1
    for line in lines:
        label = f"{line.name}, median" if len(line.values) > 1 else line.name
        ax.plot(line.x, line.median, color=method_color(line.objective), label=label)
    if several:
        # Nothing is drawn: one entry in the legend stands for all seeds' lines.
        ax.plot([], [], color="0.5", linewidth=0.5, label="each seed")
    _mark_optimum(ax, label="most evolvable, x = 5π/2")
    rises = max(np.nanmax(line.median) for line in lines) < LEGEND_ABOVE
    ax.legend(loc="upper right" if rises else "lower right")
    ax.set(xlabel="generation", xlim=(0, max(len(line.x) for line in lines)))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def figure(runs: Sequence[Run]) -> Figure:
    """The pattern, and beside it one training plot per method, all over the same vertical axis."""
    lines = data_from_runs(runs)
    plots = panels(lines)
    # The slow sine's positive half, and every center.
    lowest, highest = (float(end([end(line.values) for line in lines])) for end in (np.nanmin, np.nanmax))
    limits = (min(WHOLE_WAVE[0], lowest), max(WHOLE_WAVE[1], highest))
    drawing = new_figure(PAGE_WIDTH * (1.2 + 1.6 * len(plots)) / 4.4, 2.5)
    drawing.set_layout_engine("constrained", wspace=0.06)
    axes = drawing.subplots(1, 1 + len(plots), sharey=True, width_ratios=[1.2, *[1.6] * len(plots)])
    draw_pattern(axes[0], limits)
    letter(axes[0], 0, "f(x) = 5 sin(x/5) sin(20x)")
    for index, (ax, shown) in enumerate(zip(axes[1:], plots, strict=True), start=1):
        draw(ax, shown)
        letter(ax, index, shown[0].name)
    return drawing


def _line(objective: str, runs: Sequence[Measured]) -> Line:
    missing = [str(run.path) for run, metrics in runs if "center" not in metrics]
    if missing:
        raise ConfigError(f"{missing[0]} has no centers in its metrics: it has too many components to record them.")
    # A mixture has a trace for each of its components.
    parameter = stacked([trace for series in distinct(runs, "center") for trace in series.T])
    return Line(method_name(objective), objective, np.arange(parameter.shape[1]), parameter)


def _mark_optimum(ax: Axes, label: str | None = None) -> None:
    ax.axhline(float(MOST_EVOLVABLE), color="black", linestyle=(0, (4, 3)), linewidth=0.9, label=label)
