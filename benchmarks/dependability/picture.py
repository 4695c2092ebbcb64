"""Draw what the study's centers do: how far the best of 40 mutations comes, and in which circumstances.

    python -m benchmarks.dependability.picture results/dependable-study docs/assets/dependable-study.png

Above, one point per center and arm, in start poses that training has not seen; an arm's median is the large one.
Below, an arm's median over centers with its interval (of eight or fewer, their range), in each of the conditions.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from benchmarks.dependability.arms import ARMS, CONDITIONS, FAILED
from benchmarks.dependability.report import AIMS, Row, by_seed
from evolvability.figures.style import PAGE_WIDTH, ZERO_LINE, new_figure, paper_style
from evolvability.studies.statistics import median_interval

AXES = ("repeatability", "best of 40")
COLORS = {
    "MaxVar, one start": "0.6",
    "MaxVar": "#0072B2",
    "MaxVar of means": "#56B4E9",
    "MaxEnt": "#CC79A7",
    "MaxCov": "#D55E00",
    "MaxInfo": "#009E73",
    "MaxVar to MaxCov": "#E69F00",
    "MaxCov, falls end it": "0.3",
    "MAML": "0.0",
}


def draw(ax: Axes, rows: list[Row], task: str) -> None:
    """A robot's centers."""
    for arm in (arm for arm in ARMS if arm.task == task):
        found = [by_seed(rows, task, arm.name, "starts", name) for name in AXES]
        values = [list(one.values()) for one in found]
        if not values[0]:
            continue
        color = COLORS[arm.name]
        ax.scatter(*values, s=14, color=color, alpha=0.7, linewidths=0)
        ax.scatter(*map(np.median, values), s=70, color=color, edgecolors="white", label=arm.name)
    if task == "cheetah":
        ax.axvline(AIMS["repeatability"], **ZERO_LINE)
        ax.axhline(AIMS["best of 40"], **ZERO_LINE)
    ax.set(title=task, xlim=(0, 1), ylim=(min(0, ax.get_ylim()[0]), None), xlabel="repeatability")
    ax.set_ylabel("best of 40, in ten unseen starts [m]")
    if task == "ant":
        ax.set_ylim(top=1.4 * ax.get_ylim()[1])  # room for the legend: points are everywhere below
    ax.legend(fontsize="x-small", frameon=True, loc="lower center" if task == "cheetah" else "upper right")


def draw_conditions(ax: Axes, rows: list[Row], task: str) -> None:
    """What the best of 40 reaches in changed circumstances, in which it was picked."""
    places = (*CONDITIONS, FAILED)
    arms = [arm for arm in ARMS if arm.task == task and by_seed(rows, task, arm.name, "starts", AXES[1])]
    for number, arm in enumerate(arms):
        at = np.arange(len(places)) + 0.7 * (number / (len(arms) - 1) - 0.5)
        found = [median_interval(list(by_seed(rows, task, arm.name, place, AXES[1]).values())) for place in places]
        spread = np.array([(one.median - one.low, one.high - one.median) for one in found]).T
        medians = [one.median for one in found]
        ax.errorbar(at, medians, spread, fmt="o", color=COLORS[arm.name], markersize=3, linewidth=1)
    ax.set_xticks(np.arange(len(places)), ["unseen\nstarts", *(place.replace(" ", "\n") for place in places[1:])])
    ax.axhline(0, **ZERO_LINE)
    ax.set_ylabel("best of 40 [m]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="the study's folder")
    parser.add_argument("picture", type=Path, help="where to draw it")
    options = parser.parse_args()
    paths = sorted((options.study / "rows").glob("*.jsonl"))
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 5.6)
        for above, below, task in zip(*figure.subplots(2, 2), ("cheetah", "ant"), strict=True):
            draw(above, rows, task)
            draw_conditions(below, rows, task)
        figure.savefig(options.picture, dpi=150)


if __name__ == "__main__":
    main()
