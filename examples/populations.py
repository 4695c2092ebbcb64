"""One task, several kinds of mutations: of full and of low rank, or with standard deviations fixed and learned.

python examples/populations.py low_rank
python examples/populations.py sigma --task cheetah --preset laptop --seeds 12

Seeds run side by side: twelve of the cheetah take minutes on a GPU, and hours on two cores.
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
        "learned, natural ascent": (*LEARNED, "--natural-gradient", "--optimizer", "sgd", "--learning-rate", "10"),
    },
}
COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73")


def main() -> None:
    """Run what is missing, draw, and say how diverse the mutations have become."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--task", default="point")
    parser.add_argument("--preset", default="", help="e.g. laptop, for the cheetah: minutes a run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("runs/populations"), help="folder for runs and picture")
    options = parser.parse_args()
    runs = {name: _run(options, name) for name in COMPARISONS[options.comparison]}
    path = options.output / f"{options.comparison}-{options.task}.png"
    with paper_style():
        drawing = new_figure(PAGE_WIDTH, 0.75 * len(runs) + 0.4)
        draw(drawing, runs)
        drawing.savefig(path)
    for name, run in runs.items():
        variance, entropy = (np.median(run.metrics[metric][:, -1]) for metric in ("variance", "entropy"))
        print(f"{name:26s} variance {variance:.4g}, entropy {entropy:.2f} nats (medians)")
    print(f"The picture: {path}")


def draw(drawing: Any, runs: dict[str, Run]) -> None:
    """Entropy over generations, median and quartiles of seeds; then where the last populations of all seeds end."""
    grid = drawing.add_gridspec(len(runs), 2)
    left: Any = drawing.add_subplot(grid[:, 0])
    right: Any = None
    ends = [run.behaviors()["behavior"][..., 0].ravel() for run in runs.values()]
    reach = max(np.quantile(np.abs(x), 0.999) for x in ends)
    for row, ((name, run), x, color) in enumerate(zip(runs.items(), ends, COLORS, strict=False)):
        low, middle, high = np.quantile(run.metrics["entropy"], (0.25, 0.5, 0.75), axis=0)
        left.fill_between(np.arange(len(middle)), low, high, color=color, alpha=0.15, linewidth=0)
        left.plot(middle, color=color, label=name)
        right = drawing.add_subplot(grid[row, 1], sharex=right, sharey=right)
        right.hist(x, np.linspace(-reach, reach, 61), weights=np.full(len(x), 1 / len(x)), color=color, alpha=0.85)
        right.axvline(0, color="0.25", linewidth=0.6, linestyle=":")
        right.text(0.02, 0.97, name, transform=right.transAxes, va="top", color=color)
        right.margins(y=0.45)
        right.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        right.tick_params(labelbottom=row == len(runs) - 1)
        if row == 0:
            letter(right, 1, "where mutations end: last generation, all seeds")
    entropies = np.concatenate([run.metrics["entropy"].ravel() for run in runs.values()])
    left.set(xlabel="generation", ylabel="entropy of behavior (nats)", ylim=(np.quantile(entropies, 0.08), None))
    left.grid(visible=True)
    left.legend(loc="lower right")
    letter(left, 0, "median and quartiles of seeds")
    right.set_xlabel("behavior x")


def _run(options: argparse.Namespace, name: str) -> Run:
    path = options.output / f"{options.task}-{name.replace(', ', '-').replace(' ', '-')}"
    if not (path / "config.toml").exists():
        preset = ["--preset", options.preset] if options.preset else []
        settings = [*COMPARISONS[options.comparison][name], "--seeds", str(options.seeds)]
        ees(["train", options.task, *preset, *settings, "--output", str(path), "--quiet"])
    elif Run(path).metrics["generation"].shape[1] < Run(path).config.generations:
        ees(["resume", str(path), "--quiet"])
    return Run(path)


if __name__ == "__main__":
    sys.exit(main())
