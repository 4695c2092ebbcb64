"""Evolvability search against Evolvability ES: how evolvable their centers are after so many evaluations.

    python examples/evolvability_search.py

Trains both on the toy world and on the interference pattern, then draws 500 fresh mutations of the centers that each
run had on its way and counts how many of them behave distinctly. Writes evolvability_search.png and summary.json.

A parent's fitness is a count, and at most the number of its offspring: 16 of them tell parents apart worse than 64 do.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolvability import Run, make_task, normal
from evolvability.cli import main as ees
from evolvability.core.types import Parameters
from evolvability.figures.registry import save_figure
from evolvability.figures.style import PAGE_WIDTH, letter, new_figure
from evolvability.runs.folder import spread_out
from evolvability.studies.measures import num_distinct

SEARCH = "evolvability_search"
COMPARED: dict[str, tuple[str, int]] = {
    "evolvability search": (SEARCH, 1),
    "the same, four times the offspring": (SEARCH, 4),
    "MaxEnt-EES": ("max_entropy", 1),
    "MaxVar-EES": ("max_variance", 1),
}
"""An objective, and how many times the members of a generation that its task starts from."""
TASKS: dict[str, dict[str, Any]] = {
    "point": {"threshold": 1.0, "members": 256, "evaluations": 102_400},
    "interference": {"threshold": 0.5, "members": 512, "evaluations": 409_600},
}
NUM_FRESH, NUM_POINTS = 500, 25
COLORS = ("#56B4E9", "#0072B2", "#D55E00", "#009E73")


def course(run: Run, threshold: float) -> tuple[Any, Any]:
    """Evaluations so far, (num_points,), and distinct fresh offspring of the center then, (num_seeds, num_points).

    Of evolvability search, that is its best parent, which its next generation has in the first place.
    """
    task = make_task(run.config.task, run.config.task_options)
    mutations = normal(run.config.population_options.sigma, mirrored=False)

    @jax.jit
    def behaviors(center: Any) -> Any:
        fresh = mutations.sample(jax.random.key(7), Parameters(center[:1]), 0, jnp.arange(NUM_FRESH))
        return task.evaluate(jax.random.key(8), fresh, task.memory)[0].behavior

    generations = sorted({*spread_out(run.recorded, NUM_POINTS), *(g for g in run.recorded if g < 16)})
    found = [
        [num_distinct(np.asarray(behaviors(center)), threshold) for center in run.drawn_around(g)["parameters/center"]]
        for g in generations
    ]
    return run.config.population_size * np.array(generations), np.array(found).T


def evaluations_to(levels: Any, evaluations: Any, distinct: Any) -> Any:
    """(num_seeds, num_levels) when each seed first had so many distinct offspring; infinite where it never had."""
    reached = distinct[:, None, :] >= levels[:, None]
    return np.where(reached.any(axis=2), evaluations[reached.argmax(axis=2)], np.inf)


def main() -> None:
    """Run what is missing, measure, draw, and say how many evaluations each needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/evolvability-search"), help="folder for all of it")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each method")
    parser.add_argument("--shorter", type=int, default=1, help="so many times fewer generations")
    arguments = parser.parse_args()
    found: dict[str, dict[str, tuple[Any, Any]]] = {}
    for task, settings in TASKS.items():
        for name, (objective, times) in COMPARED.items():
            path = arguments.output / f"{task}-{objective}-{times}"
            if not (path / "config.toml").exists():
                members = times * settings["members"]
                generations = max(2, settings["evaluations"] // members // arguments.shorter)
                options = ["--population-size", str(members), "--generations", str(generations), "--record-every", "1"]
                seeds = ["--seeds", str(arguments.seeds)]
                ees(["train", task, "--objective", objective, *options, *seeds, "--output", str(path), "--quiet"])
            found.setdefault(task, {})[name] = course(Run(path), settings["threshold"])

    summary: dict[str, Any] = {}
    for task, courses in found.items():
        highest = max(float(np.median(distinct, axis=0).max()) for _, distinct in courses.values())
        levels = np.unique(np.round(highest * np.array([0.25, 0.5, 0.75, 0.9])))
        print(f"{task}: evaluations to so many distinct of {NUM_FRESH} offspring, median over seeds")
        print(f"  {'':36s}" + "".join(f"{level:12,.0f}" for level in levels))
        summary[task] = {"levels": levels.tolist(), "evaluations": {}}
        for name, own in courses.items():
            needed = np.median(evaluations_to(levels, *own), axis=0)
            summary[task]["evaluations"][name] = [None if np.isinf(value) else float(value) for value in needed]
            print(f"  {name:36s}" + "".join(f"{value:12,.0f}" for value in needed))
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    print(f"The picture: {save_figure(lambda: draw(found), arguments.output / 'evolvability_search.png')}")


def draw(found: dict[str, dict[str, tuple[Any, Any]]]) -> Any:
    """Evolvability over evaluations, and beside it the evaluations that a level needs: one row per task."""
    drawing = new_figure(PAGE_WIDTH, 2.3 * len(found) + 0.5)
    axes = drawing.subplots(len(found), 2, squeeze=False)
    for row, (task, courses) in enumerate(found.items()):
        left, right = axes[row]
        for (name, (evaluations, distinct)), color in zip(courses.items(), COLORS, strict=True):
            low, middle, high = np.quantile(distinct, (0, 0.5, 1), axis=0)
            left.plot(evaluations, middle, label=name, color=color)
            left.fill_between(evaluations, low, high, color=color, alpha=0.15, linewidth=0)
            levels = np.arange(1, distinct.max() + 1)
            needed = np.median(evaluations_to(levels, evaluations, distinct), axis=0)
            right.plot(levels[np.isfinite(needed)], needed[np.isfinite(needed)], color=color, drawstyle="steps-post")
        smallest = TASKS[task]["members"]
        left.set(xlabel="evaluations", ylabel=f"distinct of {NUM_FRESH} offspring", xscale="log", ylim=(0, None))
        left.set_xlim(smallest, None)
        right.set(xlabel="distinct offspring, at least", ylabel="evaluations needed", yscale="log", xlim=(0, None))
        right.set_ylim(smallest, None)
        for index, ax, text in ((2 * row, left, "the center's or best parent's"), (2 * row + 1, right, "median seed")):
            ax.grid(visible=True)
            letter(ax, index, f"{task}: {text}")
    drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawing


if __name__ == "__main__":
    sys.exit(main())
