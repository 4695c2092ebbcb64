"""Learning in PyBullet and in the paper's body: the same settings, seeds and first networks, and then the other floor.

PyBullet's runs are in results/cheetah-bullet-*: 64 members, 300 steps, 26 generations, three seeds, standard ES and
MaxVar. Here the same is trained in our body, in a minute or two; then mutations of its last centers act in PyBullet,
which they have never seen (where it is installed), and in our body again. Runs in the paper's body that are there
already are asked the same with --transfer.

    python benchmarks/bullet_learning.py --output results/benchmarks/bullet-learning-cpu.json
    python benchmarks/bullet_learning.py --transfer runs/ant runs/cheetah
"""

import argparse
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability import Run, Sample, evolve, make_task, normal
from evolvability.studies.rebuild import parent_of
from evolvability.tasks.options import LocomotionOptions
from evolvability.tasks.robots.paper import ROBOTS

RESULTS = Path(__file__).parents[1] / "results"
RUNS = {"standard ES": "cheetah-bullet-standard", "MaxVar": "cheetah-bullet-maxvar"}
HIDDEN = 256
MEMBERS = 16
"""Of each seed's last center, in either simulator."""


def main() -> None:
    options = _arguments()
    report: dict[str, Any] = {}
    for name in options.transfer:
        run = Run(name)
        report["/".join(run.path.resolve().parts[-4:])] = {"transfer": as_rows(transfer(run), str(name))}
    for method, name in {} if options.transfer else RUNS.items():
        bullet = Run(RESULTS / name)
        ours = trained(bullet, options.runs / name.replace("bullet", "paper"))
        report[method] = {"bullet": curves(bullet), "ours": curves(ours)}
        ends = {who: [round(last(curve), 2) for curve in found] for who, found in report[method].items()}
        print(f"{method}: mean distance of the last three generations, in meters, by seed:", ends, flush=True)
        if importlib.util.find_spec("pybullet"):
            report[method]["transfer"] = as_rows(transfer(ours), method)
    if options.output:
        before = json.loads(options.output.read_text()) if options.output.exists() else {}
        options.output.write_text(json.dumps(before | report, indent=1) + "\n")


def as_rows(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows, printed."""
    for seed, row in enumerate(rows):
        print(f"{name}, seed {seed}: mutations of the last center, mean distance (m) {row}", flush=True)
    return rows


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


def transfer(run: Run) -> list[dict[str, Any]]:
    """By seed, how far mutations of the last center come, in the body they were trained in and in PyBullet."""
    noisy = replace(run.config.task_options, start_noise=0.1)  # as PyBullet's joints begin
    ours, found = run.make_task(noisy), []
    bullet = make_task(f"{run.config.task}-bullet", {"num_steps": noisy.num_steps})
    population = normal(run.config.population_options.sigma)
    for seed in range(run.config.seeds):
        parent = parent_of(run, ours, run.rebuildable[-1], seed)
        sample = population.sample(jax.random.key(5), parent.parameters, 0, population.draws(MEMBERS))
        row: dict[str, Any] = {}
        for who, task, members in (("ours", ours, sample), ("bullet", bullet, _for_bullet(run.config.task, sample))):
            outcome = task.evaluate(jax.random.key(1), members, parent.memory)[0]
            behavior = np.asarray(outcome.behavior)
            distance = np.linalg.norm(behavior, axis=1)
            row[who] = {
                "distance": round(float(distance.mean()), 2),
                "standard_deviation": round(float(distance.std()), 2),
                "mean_x": round(float(behavior[:, 0].mean()), 2),
                "steps": round(float(np.mean(outcome.num_steps))),
            }
        found.append(row)
    return found


def _for_bullet(name: str, sample: Sample) -> Sample:
    """The same networks, their outputs in the order of PyBullet's motors, which is that of joints."""
    model = ROBOTS[name]().model
    order, size = np.argsort(model.actuator_trnid[:, 0]), sample.center.shape[1]
    place = np.arange(size)
    # A network's last parameters: a row of weights per hidden unit, and the biases.
    last = place[-(HIDDEN + 1) * model.nu :].reshape(-1, model.nu)
    place[-last.size :] = last[:, order].ravel()
    return sample._replace(center=sample.center[:, place], noise=sample.noise[:, place])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/bullet-learning"), help="folder for our runs")
    parser.add_argument("--transfer", nargs="+", type=Path, default=[], help="runs in the paper's body")
    parser.add_argument("--output", type=Path, default=None, help="add all numbers to this JSON file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
