"""Two forms of one gradient: how noisy they are, and what is learned with them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

LOOKS: dict[str, dict[str, Any]] = {
    "parameters": {"color": "#D55E00", "marker": "o"},
    "actions": {"color": "#56B4E9", "marker": "s"},
    "actions, baseline": {"color": "#0072B2", "marker": "D"},
}
NAMES = {
    "parameters": "scores of parameters (ES)",
    "actions": "scores of actions",
    "actions, baseline": "scores of actions, with a baseline",
}
WITHOUT_NOISE = {"color": "black", "marker": "o", "linestyle": "--", "fillstyle": "none"}
STYLES = ("-", "--", ":")
"""Of learning curves, in turn."""


def draw_quality(ax: Axes, rows: Sequence[dict[str, Any]], action_std: float, measure: str) -> None:
    """A measure of each estimator against the length of episodes, and of ES without noise in actions.

    Args:
        ax: where.
        rows: of `evolvability.studies.estimators.compare`.
        action_std: which of the explorations, besides the one without noise.
        measure: ``episodes_needed``, ``noise`` or ``cosine``.
    """
    for name, look in LOOKS.items():
        _line(ax, rows, name, action_std, measure, label=NAMES[name], **look)
    if measure != "noise":  # of another gradient, which is not to be compared with these by its size
        label = "ES as it is: mirrored, no noise in actions"
        _line(ax, rows, "parameters", 0, measure, label=label, **WITHOUT_NOISE)
    ax.set(xscale="log", xlabel="steps of an episode", yscale="linear" if measure == "cosine" else "log")
    ax.grid(visible=True)


def _line(
    ax: Axes, rows: Sequence[dict[str, Any]], estimator: str, action_std: float, measure: str, **look: Any
) -> None:
    chosen = [row for row in rows if row["estimator"] == estimator and row["action_std"] == action_std]
    values = [np.nan if row[measure] is None else row[measure] for row in chosen]
    ax.plot([row["time"] for row in chosen], values, markersize=3.5, linewidth=1, **look)


def draw_learning(ax: Axes, curves: dict[str, np.ndarray[Any, Any]], colors: dict[str, str]) -> None:
    """Medians and ranges over seeds of (num_seeds, num_generations) curves, by name."""
    for index, (name, values) in enumerate(curves.items()):
        generations = np.arange(1, values.shape[1] + 1)
        style = STYLES[[color == colors[name] for color in list(colors.values())[:index]].count(True)]
        ax.plot(generations, np.median(values, axis=0), color=colors[name], linestyle=style, label=name)
        low, high = values.min(axis=0), values.max(axis=0)
        ax.fill_between(generations, low, high, color=colors[name], alpha=0.12, linewidth=0)
    ax.set(xlabel="generation", yscale="log")
    ax.grid(visible=True)
