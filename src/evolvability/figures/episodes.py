"""Each mutation's episodes, mutations sorted by their mean: one look tells luck from skill.

One behavior dimension: a line per mutation from its lowest to its highest episode. Two: a star per mutation, from its
mean to each of its episodes, in the color of the mean's direction. Of several seeds one is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, hsv_to_rgb
from matplotlib.figure import Figure

from evolvability.core.errors import ConfigError, given
from evolvability.figures.behaviors import SHOWN, check_comparable, representative
from evolvability.figures.style import ZERO_LINE, Array, add_note, grid, letter, new_figure, percent
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.studies.groups import group_runs, unit_of
from evolvability.studies.repeatability import Repeatability, recorded_episodes, repeatability

MAX_MUTATIONS = {1: 120, 2: 80}
"""How many are drawn, by the number of dimensions drawn: more would cover each other."""
COLUMNS, NAME_WIDTH = 3, 38  # panels side by side, and letters that fit above one
SAME_WAY, BOTH_WAYS = "#0072B2", "#D55E00"
# Of directions: the last color is the first, and none is so light that a thin line would be lost on white.
DIRECTIONS = ListedColormap([hsv_to_rgb((turn, 0.9, 0.78)) for turn in np.arange(256) / 256])


@dataclass(frozen=True)
class Luck:
    """The mutations of one seed of a group of runs, each in all of its episodes."""

    name: str
    """The name of the runs in the figure."""
    repeatability: Repeatability
    """The share of the variance that lies between mutations, of all of them."""
    distance: float
    """The mean distance of episodes from the origin, of all mutations."""
    both_ways: float
    """The share of mutations of which two episodes went apart by more than 90 degrees, of all of them."""
    episodes: Array
    """(num_shown, num_episodes, num_behaviors) of mutations evenly spread over all, sorted by their mean's `order`."""


def data_from_runs(runs: Sequence[Run]) -> list[Luck]:
    """The last recorded population of each group of runs that differ in their seeds alone; see `representative`."""
    check_comparable(runs)
    return [_luck(group.name, *representative(group.runs)) for group in group_runs(runs)]


def go_both_ways(episodes: Array) -> Array:
    """(num_mutations,) whether two episodes of a mutation go apart by more than 90 degrees: along a line, both ways.

    Examples:
        >>> go_both_ways(np.array([[[-1.0], [2.0]], [[1.0], [2.0]]]))
        array([ True, False])
    """
    products = np.einsum("mad,mbd->mab", episodes, episodes)
    found: Array = np.any(products < 0, axis=(1, 2))
    return found


def order(means: Array) -> Array:
    """(num_mutations,) what mutations are sorted by: their mean, or its direction, in turns from 0 to 1."""
    if means.shape[1] == 1:
        return means[:, 0]
    turns: Array = np.arctan2(means[:, 1], means[:, 0]) / (2 * np.pi) % 1
    return turns


def draw(ax: Axes, data: Luck) -> None:
    """One behavior dimension: mutations from left to right by their mean, each from its lowest to its highest."""
    each = data.episodes[:, :, 0]
    place = (np.arange(len(each)) + 0.5) / len(each)
    colors = [BOTH_WAYS if both else SAME_WAY for both in go_both_ways(data.episodes)]
    ax.vlines(place, each.min(axis=1), each.max(axis=1), colors=colors, linewidth=0.7, alpha=0.8)
    across = np.repeat(place, each.shape[1])
    ax.scatter(across, each.ravel(), s=3, c=np.repeat(colors, each.shape[1]), linewidths=0, zorder=3)
    ax.plot(place, each.mean(axis=1), color="black", linewidth=0.9, zorder=2.5)
    ax.axhline(0, zorder=0, **ZERO_LINE)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(percent)


def draw_stars(ax: Axes, data: Luck) -> None:
    """Two behavior dimensions: from each mutation's mean to its episodes, in the color of the mean's direction."""
    each = data.episodes[:, :, :2]
    means = np.broadcast_to(each.mean(axis=1, keepdims=True), each.shape)
    turns = np.repeat(order(each.mean(axis=1)), each.shape[1])
    rays = np.stack([means, each], axis=2).reshape(-1, 2, 2)
    ax.add_collection(LineCollection(list(rays), colors=DIRECTIONS(turns), linewidths=0.6, alpha=0.8))
    x, y = each.reshape(-1, 2).T
    ax.scatter(x, y, s=4, c=DIRECTIONS(turns), linewidths=0, zorder=3)
    ax.plot(0, 0, marker="+", color="black", markersize=7, markeredgewidth=1, zorder=4)
    ax.set_aspect("equal")


def figure(runs: Sequence[Run]) -> Figure:
    """One panel per group of runs, with its repeatability and how far it goes."""
    data, unit = data_from_runs(runs), unit_of(runs)
    names, columns = runs[0].behavior_names, min(len(data), COLUMNS)
    flat = len(names) == 1
    layout: Literal["constrained", "compressed"] = "constrained" if flat else "compressed"
    drawing = new_figure(0.5 + 3 * columns, 0.6 + (2.7 if flat else 3.4) * -(-len(data) // columns), layout)
    labels = ("mutations, sorted by their mean", names[0]) if flat else (names[0], names[1])
    axes = grid(drawing, len(data), columns, labels)
    for index, (ax, luck) in enumerate(zip(axes, data, strict=True)):
        (draw if flat else draw_stars)(ax, luck)
        letter(ax, index, _title(luck, unit))
    several_seeds = sum(run.config.seeds for run in runs) > len(data)
    add_note(drawing, _note(data, flat) + (f"; {SHOWN[1 if flat else 2]}" if several_seeds else ""))
    return drawing


def _title(luck: Luck, unit: str) -> str:
    far = f"{luck.distance:.3g} {unit}".rstrip()
    return (
        f"{fill(luck.name, NAME_WIDTH)}\nrepeatability {luck.repeatability}\n"
        f"mean distance {far}; {luck.both_ways:.0%} go both ways"
    )


def _note(data: Sequence[Luck], flat: bool) -> str:
    number = " or ".join(str(one) for one in sorted({luck.episodes.shape[1] for luck in data}))
    if flat:
        return f"dots: the {number} episodes of each mutation; orange: it goes both ways; black: means; 95% intervals"
    return (
        f"dots: the {number} episodes of each mutation, joined to their mean and in the color of its direction; both "
        "ways: apart by more than 90°; 95% intervals"
    )


def _luck(name: str, run: Run, seed: int) -> Luck:
    episodes = recorded_episodes(run, seed)
    if episodes is None:
        raise ConfigError(
            f"{run.path} has one episode per mutation, which cannot tell luck from skill. Train with "
            f"{given(episodes=2)}, or measure its center: {command_line('measure', run.path, '--episodes', '4')}"
        )
    if not len(episodes):
        raise ConfigError(f"{run.path} has no valid member in its last recorded generation.")
    sorted_by = np.argsort(order(episodes.mean(axis=1)), kind="stable")
    most = MAX_MUTATIONS[min(episodes.shape[2], 2)]
    shown = sorted_by[np.linspace(0, len(sorted_by) - 1, min(most, len(sorted_by))).round().astype(int)]
    distance = float(np.linalg.norm(episodes, axis=2).mean())
    return Luck(name, repeatability(episodes), distance, float(go_both_ways(episodes).mean()), episodes[shown])
