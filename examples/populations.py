"""One task, several kinds of mutations: of full and of low rank, or with standard deviations fixed and learned.

python examples/populations.py low_rank
python examples/populations.py sigma --task cheetah --preset laptop --seeds 3
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from evolvability import Run
from evolvability.cli import main as ees
from evolvability.figures.style import PAGE_WIDTH, letter, new_figure, paper_style

LEARNED = ("--population", "diagonal_normal")
COMPARISONS = {
    "low_rank": {
        "full rank": (),
        "rank 4": ("--population", "low_rank", "--rank", "4"),
        "rank 1": ("--population", "low_rank", "--rank", "1"),
    },
    "sigma": {
        "fixed": (),
        "learned": LEARNED,
        "learned, natural gradient": (*LEARNED, "--natural-gradient"),
    },
}
COLORS = ("#000000", "#0072B2", "#D55E00")


def main() -> None:
    """Run what is missing, draw, and say how diverse the mutations have become."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--task", default="point")
    parser.add_argument("--preset", default="", help="e.g. laptop, for the cheetah: minutes a run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("runs/populations"), help="folder for runs and picture")
    options = parser.parse_args()
    groups = {
        name: [_run(options, name, seed) for seed in range(options.seeds)] for name in COMPARISONS[options.comparison]
    }
    path = options.output / f"{options.comparison}-{options.task}.png"
    with paper_style():
        drawing = new_figure(PAGE_WIDTH, 2.6)
        draw(drawing, groups)
        drawing.savefig(path)
    for name, runs in groups.items():
        last = [[run.metrics[metric][0, -1] for run in runs] for metric in ("variance", "entropy")]
        print(f"{name:26s} variance {np.median(last[0]):.4g}, entropy {np.median(last[1]):.2f} nats (medians)")
    print(f"The picture: {path}")


def draw(drawing: Any, groups: dict[str, list[Run]]) -> None:
    """Entropy over generations, a line a seed; then where the last populations of all seeds end."""
    grid = drawing.add_gridspec(len(groups), 2)
    left: Any = drawing.add_subplot(grid[:, 0])
    right: Any = None
    ends = [np.concatenate([run.behaviors()["behavior"][0, :, 0] for run in runs]) for runs in groups.values()]
    reach = max(np.quantile(np.abs(x), 0.999) for x in ends)
    for row, ((name, runs), x, color) in enumerate(zip(groups.items(), ends, COLORS, strict=True)):
        for index, run in enumerate(runs):
            left.plot(run.metrics["entropy"][0], color=color, linewidth=0.9, label=None if index else name)
        right = drawing.add_subplot(grid[row, 1], sharex=right, sharey=right)
        right.hist(x, np.linspace(-reach, reach, 61), weights=np.full(len(x), 1 / len(x)), color=color, alpha=0.85)
        right.axvline(0, color="0.25", linewidth=0.6, linestyle=":")
        right.text(0.02, 0.97, name, transform=right.transAxes, va="top", color=color)
        right.margins(y=0.45)
        right.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        right.tick_params(labelbottom=row == len(groups) - 1)
        if row == 0:
            letter(right, 1, "where mutations end: last generation, all seeds")
    entropies = np.concatenate([run.metrics["entropy"][0] for runs in groups.values() for run in runs])
    left.set(xlabel="generation", ylabel="entropy of behavior (nats)", ylim=(np.quantile(entropies, 0.08), None))
    left.grid(visible=True)
    left.legend(loc="lower right")
    letter(left, 0, "a line a seed")
    right.set_xlabel("behavior x")


def _run(options: argparse.Namespace, name: str, seed: int) -> Run:
    path = options.output / f"{options.task}-{name.replace(', ', '-').replace(' ', '-')}-{seed}"
    if (path / "config.toml").exists():
        ees(["resume", str(path), "--quiet"])
    else:
        preset = ["--preset", options.preset] if options.preset else []
        knobs = COMPARISONS[options.comparison][name]
        ees(["train", options.task, *preset, *knobs, "--seed", str(seed), "--output", str(path), "--quiet"])
    return Run(path)


if __name__ == "__main__":
    sys.exit(main())
