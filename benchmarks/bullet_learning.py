"""Learning in PyBullet and in the paper's body: the same settings, seeds and first networks, and then the other floor.

PyBullet's runs are in results/cheetah-bullet-*: 64 members, 300 steps, 26 generations, three seeds, standard ES and
MaxVar. Here the same is trained in our body, in a minute or two; then mutations of its last centers act in PyBullet,
which they have never seen (where it is installed), and in our body again.

    python benchmarks/bullet_learning.py --output results/benchmarks/bullet-learning-cpu.json
"""

import argparse
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability import Run, evolve, make_task, normal
from evolvability.studies.rebuild import parent_of
from evolvability.tasks.engines.base import LocomotionOptions

RESULTS = Path(__file__).parents[1] / "results"
RUNS = {"standard ES": "cheetah-bullet-standard", "MaxVar": "cheetah-bullet-maxvar"}
MEMBERS = 24
"""Of each seed's last center, in either simulator."""


def main() -> None:
    options = _arguments()
    report: dict[str, Any] = {}
    for method, name in RUNS.items():
        bullet = Run(RESULTS / name)
        ours = trained(bullet, options.runs / name.replace("bullet", "paper"))
        report[method] = {"bullet": curves(bullet), "ours": curves(ours)}
        ends = {who: [round(last(curve), 2) for curve in found] for who, found in report[method].items()}
        print(f"{method}: mean distance of the last three generations, in meters, by seed:", ends, flush=True)
        if importlib.util.find_spec("pybullet"):
            report[method]["transfer"] = transfer(ours)
            print("  the last centers' mutations, in our body and in PyBullet:", report[method]["transfer"], flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def trained(bullet: Run, path: Path) -> Run:
    """A run with the settings of one in PyBullet; one that is there already is taken."""
    if not (path / "config.toml").exists():
        theirs = bullet.config.task_options
        # PyBullet's joints begin within 0.1 rad of the pose.
        task = LocomotionOptions(
            num_steps=theirs.num_steps, observation_share=theirs.observation_share, start_noise=0.1
        )
        evolve("cheetah", replace(bullet.config, task="cheetah", task_options=task), output=path)
    return Run(path)


def curves(run: Run) -> list[list[float]]:
    """By seed, the mean distance of every generation."""
    return [[round(float(value), 3) for value in curve] for curve in run.metrics["distance"]]


def last(curve: list[float]) -> float:
    """The mean of the last three generations."""
    return float(np.mean(curve[-3:]))


def transfer(run: Run) -> list[dict[str, float]]:
    """By seed, where mutations of the last center end (x, m), in the body they were trained in and in PyBullet."""
    ours, found = run.make_task(run.config.task_options), []
    bullet = make_task("cheetah-bullet", {"num_steps": run.config.task_options.num_steps})
    population = normal(run.config.sigma)
    for seed in range(run.config.seeds):
        parent = parent_of(run, ours, run.rebuildable[-1], seed)
        sample = population.sample(jax.random.key(5), parent.cloud, 0, population.draws(MEMBERS))
        row = {}
        for who, task in (("ours", ours), ("bullet", bullet)):
            x = np.asarray(task.evaluate(jax.random.key(1), sample, parent.memory)[0].behavior)[:, 0]
            row |= {f"{who}_mean": round(float(x.mean()), 2), f"{who}_std": round(float(x.std()), 2)}
        found.append(row)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/bullet-learning"), help="folder for our runs")
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
