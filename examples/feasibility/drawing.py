"""One network whose mutations are two policies: what they compute, where they walk, and how often they are which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from flip_network import (
    Network,
    apply,
    choose_constants,
    flip_network,
    moved,
    normal_frequency,
    num_params,
    probability_bound,
)
from matplotlib.axes import Axes
from scipy.stats import norm

from evolvability.figures.style import NOTE_COLOR

Values = np.ndarray[Any, Any]

GRID_POINTS = 101
"""At which a mutation is compared with a policy, about."""

FIRST, SECOND = "#0072B2", "#D55E00"
"""Of what mutations do whose switch moves up, and down."""


@dataclass(frozen=True)
class Frequencies:
    """How often mutations are one of the policies, by their standard deviation as a share of delta.

    Attributes:
        sizes: (num_sizes,) those measured.
        first: (num_sizes,) how many of the mutations are the first policy.
        second: (num_sizes,) how many are the second.
        every_size: (num_points,) those in the following.
        predicted: (num_points,) how many should be either one, as long as the policies themselves stay whole.
        bound: (num_points,) the least probability by the theorem.
        printed: (num_points,) the one that the paper states.
    """

    sizes: Values
    first: Values
    second: Values
    every_size: Values
    predicted: Values
    bound: Values
    printed: Values


def data_from_networks(
    policies: tuple[Network, Network], *, delta: float, ratio: float, epsilon: float, number: int = 1000, seed: int = 0
) -> Frequencies:
    """Mutations of the two policies' merger, so many of each size, compared with both policies on a grid."""
    network = flip_network(*policies, delta=delta, ratio=ratio)
    constants = choose_constants(*policies, delta=delta, ratio=ratio)
    inputs = _grid(network[0].weight.shape[0])
    mutants = jax.jit(jax.vmap(lambda step: apply(moved(network, step), inputs)))
    generator = np.random.default_rng(seed)

    def measured(size: float) -> list[float]:
        outputs = mutants(size * delta * generator.normal(size=(number, num_params(network))))
        worst = [np.abs(outputs - apply(policy, inputs)).max(axis=(1, 2)) for policy in policies]
        return [float(np.mean(distances <= epsilon)) for distances in worst]

    def expected(size: float) -> list[float]:
        cdf = norm(scale=size * delta).cdf
        bounds = [probability_bound(cdf, count, delta=delta, ratio=ratio) for count in (num_params(network), 1)]
        return [normal_frequency(constants, sigma=size * delta, epsilon=epsilon), *bounds]

    sizes, every_size = np.geomspace(0.01, 30, 15), np.geomspace(0.01, 30, 200)
    shares, lines = np.array([measured(size) for size in sizes]), np.array([expected(size) for size in every_size])
    first, second = shares.T
    predicted, bound, printed = lines.T
    return Frequencies(sizes, first, second, every_size, predicted, bound, printed)


def _grid(num_inputs: int) -> Values:
    per_side = max(2, round(GRID_POINTS ** (1 / num_inputs)))
    return np.stack(np.meshgrid(*[np.linspace(0, 1, per_side)] * num_inputs), axis=-1).reshape(-1, num_inputs)


def draw_outputs(ax: Axes, inputs: Values, policies: Sequence[Values], mutations: Values, up: Values) -> None:
    """The outputs of mutations, (num_mutations, num_inputs), over the two policies'; ``up`` says how switches moved."""
    for output, is_up in zip(mutations, up, strict=True):
        ax.plot(inputs, output, color=FIRST if is_up else SECOND, alpha=0.35, linewidth=0.6)
    for policy, color, name in zip(policies, (FIRST, SECOND), "gh", strict=True):
        ax.plot(inputs, policy, color="black", linewidth=1, linestyle=(0, (4, 2)))
        place = (inputs[len(inputs) // 5], policy[len(inputs) // 5])
        ax.annotate(f"${name}$", place, (-3, 7), textcoords="offset points", color=color, fontsize=10)
    ax.set(xlabel="input", ylabel="output")


def draw_walks(ax: Axes, paths: Values, up: Values) -> None:
    """Where mutations walk; paths: (num_mutations, num_steps, 2)."""
    for path, is_up in zip(paths, up, strict=True):
        ax.plot(*path.T, color=FIRST if is_up else SECOND, alpha=0.35, linewidth=0.6)
    ax.plot(*paths[0, 0], "o", color="black", markersize=4)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="x", ylabel="y")


def draw_frequencies(ax: Axes, data: Frequencies) -> None:
    """Shares of mutations against their size, on two logarithmic axes."""
    ax.plot(data.sizes, data.first, "o", color=FIRST, markersize=3.5, label="measured: $g$")
    ax.plot(data.sizes, data.second, "s", color=SECOND, markersize=3.5, fillstyle="none", label="measured: $h$")
    ax.plot(data.every_size, data.predicted, color="black", label="predicted")
    ax.plot(data.every_size, data.bound, color="#009E73", label="least, by the theorem")
    ax.plot(data.every_size, data.printed, color=NOTE_COLOR, linestyle=":", label="least, as printed")
    ax.set(xscale="log", yscale="log", ylim=(1e-3, 1), xlabel="mutation size $\\sigma / \\delta$")
    ax.set_ylabel("share of mutations")
    ax.grid(visible=True)
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
