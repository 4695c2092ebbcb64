"""A maze with a trap: standard ES walks into it, novelty and quality evolvability find the way around.

    python examples/maze.py

Writes maze.png, where the members of each method ended, and elites.png, the MAP-Elites archives that their generations
filled on the way.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from evolvability import Run
from evolvability.cli import main as ees
from evolvability.figures.registry import draw_figure
from evolvability.tasks.maze import REACHED

OBJECTIVES = ("mean_fitness", "ns_es", "nsr_es", "nsra_es", "qe_es", "max_entropy")


def main() -> None:
    """Run what is missing, draw, and say who solved it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/maze"), help="folder for the runs and the pictures")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each method")
    arguments = parser.parse_args()
    paths = [arguments.output / objective for objective in OBJECTIVES]
    for path, objective in zip(paths, OBJECTIVES, strict=True):
        if (path / "config.toml").exists():
            ees(["resume", str(path)])
        else:
            options = ["--objective", objective, "--seeds", str(arguments.seeds), "--patience", "10"]
            ees(["train", "maze", *options, "--record-every", "5", "--output", str(path)])
    runs = [Run(path) for path in paths]
    for run in runs:
        solved = np.any(run.metrics["fitness_max"] > -REACHED, axis=1).sum()
        print(f"{run.config.objective:13s} solved by {solved} of {run.config.seeds} seeds")
    print(f"The picture: {draw_figure('maze', runs, arguments.output / 'maze.png')}")
    print(f"The archives: {draw_figure('elites', runs, arguments.output / 'elites.png')}")


if __name__ == "__main__":
    sys.exit(main())
