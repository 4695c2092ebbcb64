"""Evolvability ES by policy gradients on the toy world, against ES, for equal episodes. Writes policy-gradient.png.

    python examples/policy_gradient.py

About two minutes. How noisy the gradients are was measured by `benchmarks/estimators.py`; this draws what it wrote, and
learns with both.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes

from evolvability import normal
from evolvability.config.schema import layered
from evolvability.core.objectives import raw_variance
from evolvability.figures.style import letter, new_figure, paper_style
from evolvability.training.evolution import Evolution

RESULTS = Path(__file__).parents[1] / "results" / "benchmarks"
SIGMA = 0.05
SHARED: dict[str, Any] = {"objective": "max_variance", "sigma": SIGMA, "learning_rate": 0.03, "l2": 0.005}
SIZES: dict[str, Any] = {"population_size": 64, "generations": 40, "seeds": 8}
METHODS: dict[str, dict[str, Any]] = {
    "ES": {},
    "ES, actions with noise 0.3": {"action_std": 0.3},
    "policy gradient, noise 0.3": {"estimator": "actions", "action_std": 0.3},
    "policy gradient, noise 0.3, four times": {"estimator": "actions", "action_std": 0.3, "times": (25, 50, 75, 100)},
    "policy gradient, noise 0.1": {"estimator": "actions", "action_std": 0.1},
}
CURVES = (("black", "-"), ("#D55E00", "-"), ("#0072B2", "-"), ("#0072B2", "--"), ("#CC79A7", "-"))
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


def learn(**settings: Any) -> np.ndarray[Any, Any]:
    """(num_seeds, num_generations) the variance of the behaviors of mutations that act without noise."""
    evolution = Evolution(layered("point", values={**SHARED, **SIZES, **settings}))

    @jax.jit
    @jax.vmap
    def variance(state: Any) -> jax.Array:
        members = normal(SIGMA).sample(jax.random.key(1), state.parameters, state.generation, jnp.arange(128))
        return raw_variance(evolution.task.evaluate(jax.random.key(2), members, ())[0])

    return np.stack([variance(state) for state, _, _ in evolution.generations(evolution.start())], axis=1)


def draw_quality(ax: Axes, rows: Sequence[dict[str, Any]], action_std: float, measure: str) -> None:
    """A measure of each estimator against the length of episodes, and of ES without noise in actions.

    Args:
        ax: where.
        rows: of `benchmarks/estimators.py`.
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


def draw_learning(ax: Axes, curves: dict[str, np.ndarray[Any, Any]]) -> None:
    """Medians and ranges over seeds of (num_seeds, num_generations) curves, by name."""
    for index, (name, values) in enumerate(curves.items()):
        generations = np.arange(1, values.shape[1] + 1)
        color, style = CURVES[index]
        ax.plot(generations, np.median(values, axis=0), color=color, linestyle=style, label=name)
        low, high = values.min(axis=0), values.max(axis=0)
        ax.fill_between(generations, low, high, color=color, alpha=0.12, linewidth=0)
    ax.set(xlabel="generation", yscale="log")
    ax.grid(visible=True)


def main() -> None:
    curves = {name: learn(**settings) for name, settings in METHODS.items()}
    toy, cheetah = (json.loads((RESULTS / f"estimators-{name}-cpu.json").read_text()) for name in ("point", "cheetah"))
    with paper_style():
        figure = new_figure(7.2, 3.3)
        axes = figure.subplots(1, 3)
        draw_quality(axes[0], toy["rows"], 0.3, "episodes_needed")
        draw_quality(axes[1], cheetah["rows"], 0.3, "noise")
        draw_learning(axes[2], curves)
        axes[0].set_ylabel("episodes for signal = noise")
        axes[1].set_ylabel("trace of the covariance (m$^4$)")
        axes[2].set_ylabel("variance of mutations")
        titles = ("toy world, 386 parameters", "cheetah, 74,246 parameters", "learning, 64 episodes each")
        for index, title in enumerate(titles):
            letter(axes[index], index, title)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", title="(a), (b)")
        figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower right", title="(c) median and range")
        figure.savefig("policy-gradient.png", dpi=200)
    for name, values in curves.items():
        early, late = np.median(values[:, 9]), np.median(values[:, -1])
        print(f"{name:40s} variance after 10 generations {early:5.1f}, at the end {late:5.1f}")
    print("wrote policy-gradient.png")


if __name__ == "__main__":
    main()
