"""The paper's half-cheetah at a laptop's size: mutations of one network come to run both ways."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from evolvability import Run
from evolvability.cli import main as ees
from evolvability.figures.registry import draw_figure

FAR = 3.0
"""Meters from the start."""


def main() -> None:
    """Run what is missing, draw, and say where mutations end up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("runs/cheetah"), help="folder for the run and the picture")
    parser.add_argument("--preset", default="laptop", help="its size; laptop is minutes on two CPU cores")
    arguments = parser.parse_args()
    began = time.perf_counter()
    path = arguments.output / f"cheetah-{arguments.preset}"
    if (path / "config.toml").exists():
        ees(["resume", str(path)])
    else:
        ees(["train", "cheetah", "--preset", arguments.preset, "--output", str(path)])
    picture = draw_figure("behaviors", [Run(path)], arguments.output / f"{path.name}.png")
    x = Run(path).behaviors()["behavior"][0, :, 0]
    left, right, near = np.mean(x < -FAR), np.mean(x > FAR), np.mean(np.abs(x) < 1)
    print(f"\nIn the last generation {left:.0%} of all mutations end more than {FAR:g} m to the left of the start,")
    print(f"{right:.0%} more than {FAR:g} m to the right, {near:.0%} within 1 m.")
    print(f"\nThe picture: {picture} (in {time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    sys.exit(main())
