"""Evolvability search against Evolvability ES: how evolvable their centers are after so many evaluations.

    python examples/evolvability_search.py

Trains both on the toy world and on the interference pattern, then draws 500 fresh mutations of the centers that each
run had on its way and counts how many of them behave distinctly. Writes evolvability_search.png.
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
from evolvability.evidence.groups import method_name
from evolvability.figures.registry import save_figure
from evolvability.figures.style import letter, line_styles, new_figure
from evolvability.runs import spread_out
from evolvability.studies.measures import num_distinct
from evolvability.types import Cloud

METHODS = ("evolvability_search", "max_entropy", "max_variance")
TASKS = {
    "point": {"threshold": 1.0, "generations": {"evolvability_search": 400, "max_entropy": 60, "max_variance": 60}},
    "interference": {
        "threshold": 0.5,
        "generations": {"evolvability_search": 150, "max_entropy": 1000, "max_variance": 1000},
    },
}
NUM_FRESH, NUM_POINTS = 500, 25


def course(run: Run, threshold: float) -> tuple[Any, Any]:
    """Evaluations so far, (num_points,), and distinct fresh offspring of the center then, (num_seeds, num_points).

    Of evolvability search, that is its best parent, which its next generation has in the first place.
    """
    task, mutations = make_task(run.config.task, run.config.task_options), normal(run.config.sigma, mirrored=False)

    @jax.jit
    def behaviors(center: Any) -> Any:
        fresh = mutations.sample(jax.random.key(7), Cloud(center[:1]), 0, jnp.arange(NUM_FRESH))
        return task.evaluate(jax.random.key(8), fresh, task.memory)[0].behavior

    generations = sorted({*spread_out(run.recorded, NUM_POINTS), *(g for g in run.recorded if g < 16)})
    found = [
        [num_distinct(np.asarray(behaviors(center)), threshold) for center in run.drawn_around(g)["cloud/center"]]
        for g in generations
    ]
    return run.config.population_size * np.array(generations), np.array(found).T


def evaluations_to(level: float, evaluations: Any, distinct: Any) -> Any:
    """(num_seeds,) when each seed first had so many distinct offspring; infinite where it never had."""
    reached = distinct >= level
    return np.where(reached.any(axis=1), evaluations[reached.argmax(axis=1)], np.inf)


def main() -> None:
    """Run what is missing, measure, draw, and say how many evaluations each needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/evolvability-search"), help="folder for all of it")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each method")
    parser.add_argument("--shorter", type=int, default=1, help="so many times fewer generations")
    arguments = parser.parse_args()
    found: dict[str, dict[str, tuple[Any, Any]]] = {}
    for task, settings in TASKS.items():
        for method in METHODS:
            path = arguments.output / f"{task}-{method}"
            generations = str(max(2, settings["generations"][method] // arguments.shorter))
            if not (path / "config.toml").exists():
                options = ["--seeds", str(arguments.seeds), "--generations", generations, "--record-every", "1"]
                ees(["train", task, "--objective", method, *options, "--output", str(path)])
            found.setdefault(task, {})[method] = course(Run(path), settings["threshold"])

    summary: dict[str, Any] = {}
    for task, courses in found.items():
        start = np.median(courses["evolvability_search"][1][:, 0])
        end = np.median(courses["evolvability_search"][1][:, -1])
        level = start + 0.9 * (end - start)
        needed = {name: evaluations_to(level, *own).tolist() for name, own in courses.items()}
        summary[task] = {"level": level, "evaluations": needed}
        print(f"{task}: evaluations to {level:.0f} distinct of {NUM_FRESH} offspring, median over seeds")
        for name, values in needed.items():
            print(f"  {method_name(name):20s} {np.median(values):10,.0f}")
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=2))

    def draw() -> Any:
        drawing = new_figure(6.4, 2.6)
        axes = drawing.subplots(1, len(found), squeeze=False)[0]
        for index, (ax, (task, courses)) in enumerate(zip(axes, found.items(), strict=True)):
            for (name, (evaluations, distinct)), look in zip(courses.items(), line_styles(METHODS), strict=True):
                low, middle, high = np.quantile(distinct, (0, 0.5, 1), axis=0)
                ax.plot(evaluations, middle, label=method_name(name), **look)
                ax.fill_between(evaluations, low, high, color=look["color"], alpha=0.2, linewidth=0)
            ax.axhline(summary[task]["level"], color="0.5", linewidth=0.7, linestyle=(0, (4, 3)))
            ax.set_xscale("symlog", linthresh=1000)
            ax.set(xlabel="evaluations", xlim=(0, None), ylim=(0, None))
            ax.grid(visible=True)
            letter(ax, index, task)
        axes[0].set_ylabel(f"distinct behaviors of {NUM_FRESH} offspring")
        axes[-1].legend(loc="lower right", title=f"median and range of {arguments.seeds} seeds")
        return drawing

    print(f"The picture: {save_figure(draw, arguments.output / 'evolvability_search.png')}")


if __name__ == "__main__":
    sys.exit(main())
