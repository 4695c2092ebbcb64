"""The paper's figure 1: the interference pattern, and how each method's centers move over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evolvability.core.errors import ConfigError
from evolvability.figures.curves import Measured, distinct, measured, quantiles, stacked
from evolvability.figures.style import METHOD_COLORS, OTHER_COLORS, PAGE_WIDTH, letter, method_name, new_figure
from evolvability.runs.folder import Run
from evolvability.tasks.interference import MOST_EVOLVABLE, pattern

BASELINE = "mean_fitness"
WHOLE_WAVE = (0.0, 5 * np.pi)  # where the slow sine is positive
LEGEND_ABOVE = 9.5  # where the legend starts, when it is at the top
POINTS = 4000  # 80 a period of the fast sine

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Trace:
    """How a method's centers moved.

    Attributes:
        objective: the method's objective.
        parameter: (num_lines, num_generations) one line a seed (and component), nan where it has not got that far.
        median: (num_generations,) over the lines.
    """

    objective: str
    parameter: Array
    median: Array


def data_from_runs(runs: Sequence[Run]) -> dict[str, Trace]:
    """The trace of every objective among the runs, in the order of METHOD_COLORS."""
    for run in runs:
        if run.config.task != "interference":
            raise ConfigError(
                f"The figure 'interference' shows runs of the task interference, but {run.path} is a run of "
                f"'{run.config.task}'. Try: ees figure behaviors {run.path}"
            )
    by_objective: dict[str, list[Measured]] = {}
    for run, metrics in measured(runs):
        by_objective.setdefault(run.config.objective, []).append((run, metrics))
    order = [*METHOD_COLORS, *by_objective]
    return {name: _trace(name, by_objective[name]) for name in sorted(by_objective, key=order.index)}


def panels(traces: dict[str, Trace]) -> list[list[Trace]]:
    """The traces each training plot shows: one method, and standard ES beside it for comparison."""
    methods = [trace for name, trace in traces.items() if name != BASELINE]
    baseline = [trace for name, trace in traces.items() if name == BASELINE]
    return [[method, *baseline] for method in methods] or [baseline]


def draw_pattern(ax: Axes, limits: tuple[float, float]) -> None:
    """Behavior as a function of the genome; the genome is vertical, as it is in the training plots."""
    x = np.linspace(*limits, POINTS)
    ax.plot(np.asarray(pattern(jnp.asarray(x))), x, color="0.35", linewidth=0.6)
    for side in (-1, 1):
        ax.plot(side * 5 * np.sin(x / 5), x, color="0.65", linewidth=0.6)
    _mark_optimum(ax)
    ax.set(xlabel="behavior $f(x)$", ylabel="parameter $x$", xticks=(-5, 0, 5), ylim=limits)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))


def draw(ax: Axes, traces: Sequence[Trace]) -> None:
    """The parameter over generations: a thin line a seed, a thick one for their median."""
    for trace in reversed(traces):  # the baseline lies below
        color = METHOD_COLORS.get(trace.objective, OTHER_COLORS[0])
        ax.plot(trace.parameter.T, color=color, linewidth=0.5, alpha=0.35)
    for trace in traces:
        color = METHOD_COLORS.get(trace.objective, OTHER_COLORS[0])
        several = ", median" if len(trace.parameter) > 1 else ""
        ax.plot(trace.median, color=color, label=method_name(trace.objective) + several)
    if any(len(trace.parameter) > 1 for trace in traces):
        ax.plot([], [], color="0.5", linewidth=0.5, label="each seed")
    _mark_optimum(ax, label=r"most evolvable, $x = 5\pi/2$")
    rises = max(np.nanmax(trace.median) for trace in traces) < LEGEND_ABOVE
    ax.legend(loc="upper right" if rises else "lower right")
    ax.set(xlabel="generation", xlim=(0, max(len(trace.median) for trace in traces)))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def figure(runs: Sequence[Run]) -> Figure:
    """The pattern, and beside it one training plot a method, all over the same vertical axis."""
    traces = data_from_runs(runs)
    plots = panels(traces)
    limits = _limits(list(traces.values()))
    drawing = new_figure(PAGE_WIDTH * (1.2 + 1.6 * len(plots)) / 4.4, 2.5)
    drawing.set_layout_engine("constrained", wspace=0.06)
    axes = drawing.subplots(1, 1 + len(plots), sharey=True, width_ratios=[1.2, *[1.6] * len(plots)])
    draw_pattern(axes[0], limits)
    letter(axes[0], 0, r"$f(x)=5\,\sin(x/5)\,\sin(20x)$")
    for index, (ax, shown) in enumerate(zip(axes[1:], plots, strict=True), start=1):
        draw(ax, shown)
        letter(ax, index, method_name(shown[0].objective))
    return drawing


def _trace(objective: str, runs: Sequence[Measured]) -> Trace:
    missing = [str(run.path) for run, metrics in runs if "center" not in metrics]
    if missing:
        raise ConfigError(f"{missing[0]} has no centers in its metrics: it has too many components to record them.")
    # A mixture has a line for each of its components.
    parameter = stacked([line for series in distinct(runs, "center") for line in series.T])
    return Trace(objective, parameter, quantiles(parameter, [0.5])[0])


def _limits(traces: Sequence[Trace]) -> tuple[float, float]:
    """The slow sine's positive half, and every center."""
    lowest = min(float(np.nanmin(trace.parameter)) for trace in traces)
    highest = max(float(np.nanmax(trace.parameter)) for trace in traces)
    return min(WHOLE_WAVE[0], lowest), max(WHOLE_WAVE[1], highest)


def _mark_optimum(ax: Axes, label: str | None = None) -> None:
    ax.axhline(float(MOST_EVOLVABLE), color="black", linestyle=(0, (4, 3)), linewidth=0.9, label=label)
