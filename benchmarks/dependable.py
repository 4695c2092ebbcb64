"""How dependable the mutations of a trained center are, from start states that it was not picked in.

    python benchmarks/dependable.py cheetah max_covariance --seed 100 --output rows.jsonl

Trains one center, then evaluates 400 fresh mutations in eleven unseen start states each. A row has their repeatability
with its interval, how far they go, the share that goes both ways, and the best of 40: picked by its first episode and
judged by the ten others, the median of ten disjoint forties per direction. `--centers` keeps the center in 16 bits.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolvability import evolve, make_task
from evolvability.config.schema import layered
from evolvability.core.keys import Purpose, key_for
from evolvability.runs.picking import Parent, evaluator
from evolvability.studies.repeatability import repeatability
from evolvability.tasks.base import with_episodes

MUTATIONS, UNSEEN, FORTY = 400, 10, 40
NEAR = 3.0
"""Meters: who comes no farther to a side does not go there."""


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of a run: the published program's, whatever the objective."""
    robot = {"body": options.body, "start_noise": options.start_noise, "num_steps": options.steps}
    if options.no_early_termination:
        robot["early_termination"] = False
    values: dict[str, Any] = {"task_options": robot, "l2": 0.005, "noise_dtype": "bfloat16", "seed": options.seed}
    values |= {"population_size": options.population, "generations": options.generations, "episodes": options.episodes}
    values["behavior_shaping"] = "centered_ranks"
    if options.bandwidth:
        values["bandwidth"] = options.bandwidth
    return values


def judged(parent: Parent, task: Any) -> dict[str, Any]:
    """What fresh mutations of a center do in start states of their own."""
    key_noise, key_episodes = jax.random.split(key_for(Purpose.OFFSPRING, parent.key))
    sample = parent.mutations(key_noise, MUTATIONS)
    outcome, _ = evaluator(with_episodes(task, 1 + UNSEEN))(key_episodes, sample, parent.memory)
    did, valid = np.asarray(outcome.episodes), np.asarray(outcome.valid)
    found = repeatability(did[valid])
    row: dict[str, Any] = {"repeatability": found.share, "interval": [found.low, found.high]}
    row |= {"std_between": found.between, "std_within": found.within, "invalid": int((~valid).sum())}
    row["distance"] = float(np.linalg.norm(did[valid], axis=2).mean())
    x = did[valid][:, :, 0]
    row["both_ways"] = float(((x > NEAR).any(axis=1) & (x < -NEAR).any(axis=1)).mean())
    angles = (0, 180) if did.shape[2] == 1 else (0, 90, 180, 270)
    row["best_of_40"] = {str(angle): _best(did, valid, angle) for angle in angles}
    if did.shape[2] == 2:
        place = did[valid].mean(axis=1)
        radius, angle = np.linalg.norm(place, axis=1), np.arctan2(place[:, 1], place[:, 0])
        far = radius > np.median(radius) / 2
        sector = ((angle[far] + np.pi) / (2 * np.pi) * 12).astype(int) % 12
        row |= {"median_radius": float(np.median(radius)), "inside_half": float(1 - far.mean())}
        row["sectors_of_12"] = int(np.count_nonzero(np.bincount(sector, minlength=12)))
    return row


def _best(did: Any, valid: Any, angle: int) -> float:
    """The median over disjoint forties of what the pick of the first episode does in the others."""
    way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])[: did.shape[2]]
    scores = np.where(valid[:, None], did @ way, -np.inf)
    picks = [block[np.argmax(block[:, 0]), 1:].mean() for block in np.split(scores, MUTATIONS // FORTY)]
    return float(np.median(picks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("cheetah", "ant"))
    parser.add_argument("objective")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population", type=int, default=5000)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--body", default="paper")
    parser.add_argument("--start-noise", type=float, default=0.1)
    parser.add_argument("--bandwidth", type=float, default=0.0)
    parser.add_argument("--no-early-termination", action="store_true")
    parser.add_argument("--start-from", type=Path, help="a center that --centers kept")
    parser.add_argument("--centers", type=Path, help="a folder for centers")
    parser.add_argument("--output", type=Path, help="a file to append the row to")
    options = parser.parse_args()
    # As a preset has them: options count as far as the objective, or a term of it, has them.
    config = layered(options.task, objective=options.objective, offers=settings_of(options))
    task = make_task(options.task, config.task_options)
    began, seconds, distances = time.perf_counter(), [], []

    def note(rows: list[dict[str, Any]]) -> None:
        seconds.append(time.perf_counter())
        distances.append(rows[0]["distance"])

    run = evolve(_started(task, options.start_from), config, on_generation=note, progress=False)
    (parent,) = run.parents()
    row = {name: value for name, value in vars(options).items() if name not in ("output", "centers")}
    row["start_from"] = options.start_from and options.start_from.stem
    row |= {"seconds": round(time.perf_counter() - began, 1), "per_generation": float(np.median(np.diff(seconds)))}
    row["training_distance"] = [round(float(value), 2) for value in distances[:: max(1, len(distances) // 10)]]
    robot = {"start_noise": 0.1}
    noisy = make_task(options.task, type(config.task_options)(**{**vars(config.task_options), **robot}))
    row |= judged(parent, noisy)
    print(json.dumps(row), flush=True)
    if options.output:
        with options.output.open("a") as file:
            file.write(json.dumps(row) + "\n")
    if options.centers:
        options.centers.mkdir(parents=True, exist_ok=True)
        memory = {f"memory/{name}": np.asarray(value) for name, value in parent.memory._asdict().items()}
        objective = options.objective.replace("*", "x").replace(":", "_")
        sizes = (options.body, options.bandwidth or "default", options.generations, options.seed)
        center = np.asarray(parent.parameters.center[0]).astype(np.float16)
        name = "-".join(map(str, (options.task, objective, *sizes)))
        np.savez(options.centers / f"{name}.npz", center=center, **memory)


def _started(task: Any, path: Path | None) -> Any:
    """The task, started at a kept center with its statistics of observations."""
    if path is None:
        return task
    from dataclasses import replace

    arrays = np.load(path)
    center = jnp.asarray(arrays["center"], jnp.float32)
    memory = type(task.memory)(*(jnp.asarray(arrays[f"memory/{name}"]) for name in task.memory._fields))
    return replace(task, init=lambda key: center, memory=memory)


if __name__ == "__main__":
    main()
