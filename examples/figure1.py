"""The paper's figure 1 from its three runs: both variants of Evolvability ES, and standard ES beside them."""

import argparse
import sys
import time
from pathlib import Path

from evolvability import Run
from evolvability.cli import main as ees
from evolvability.figures.registry import draw_figure
from evolvability.tasks.interference import MOST_EVOLVABLE

OBJECTIVES = ("max_variance", "max_entropy", "mean_fitness")


def main() -> None:
    """Run what is missing, draw, and say how near each variant came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("runs/figure1"), help="folder for the runs and the figure")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each variant")
    arguments = parser.parse_args()
    began = time.perf_counter()
    paths = [arguments.output / objective for objective in OBJECTIVES]
    for path, objective in zip(paths, OBJECTIVES, strict=True):
        if (path / "config.toml").exists():
            ees(["resume", str(path)])
        else:
            settings = ["--objective", objective, "--seeds", str(arguments.seeds), "--output", str(path)]
            ees(["train", "interference", *settings])
    figure = draw_figure("interference", [Run(path) for path in paths], arguments.output / "figure1.png")
    print(f"\nThe most evolvable point is x = {MOST_EVOLVABLE:.3f}; after 2,000 generations from x = 1:")
    for path, objective in zip(paths, OBJECTIVES, strict=True):
        centers = Run(path).centers.ravel()
        print(f"  {objective:13s} x = {centers.min():.3f} to {centers.max():.3f} over {len(centers)} seeds")
    print(f"\nThe figure: {figure} (all in {time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    sys.exit(main())
