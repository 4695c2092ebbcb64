"""How noisy the two forms of MaxVar's gradient are, for equal episodes: parameters' scores against actions' scores.

    python benchmarks/estimators.py --task point --output estimators-point.json
    python benchmarks/estimators.py --task cheetah --episodes 64 --repetitions 8 --times 10 30 100

Episodes are those of one center, a random start or the center of a run (`--run`); observations are scaled by what a
first batch of episodes saw. `--action-std 0` stands for Evolvability ES as it is, without noise in actions and with
mirrored members. Writes a JSON with `--output`; `docs/policy-gradient.md` says what the columns mean.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from evolvability import Run, make_task, max_variance, normal
from evolvability.config.schema import layered
from evolvability.core.shaping import identity
from evolvability.core.types import Cloud
from evolvability.methods.policy_gradient import Exploration, explore
from evolvability.studies.estimators import compare
from evolvability.tasks.base import Task, world_of
from evolvability.tasks.normalizer import Moments, merge


def main() -> None:
    options = _arguments()
    began = time.perf_counter()
    config = layered(options.task)
    task = make_task(options.task, {"num_steps": max(options.times)})
    sigma = options.sigma or config.sigma
    center = jnp.asarray(Run(options.run).center[0, 0]) if options.run else task.init(jax.random.key(options.seed))
    key_seen, key_estimates = jax.random.split(jax.random.key(options.seed + 1))
    memory, rows = None, []
    for action_std in options.action_std:
        population = normal(sigma, mirrored=action_std == 0)
        exploration = Exploration(world_of(task), population, action_std, tuple(options.times))
        memory = memory or _memory(task, exploration, key_seen, center, options.episodes)
        sizes = {"num_episodes": options.episodes, "repetitions": options.repetitions}
        found = compare(exploration, max_variance(identity), key_estimates, center, memory, **sizes)
        for row in found:
            print(_line(row), flush=True)
        rows += found
    if options.output:
        report = {
            "task": options.task,
            "run": options.run and options.run.name,
            "num_params": len(center),
            "sigma": sigma,
            "seed": options.seed,
            "device": jax.devices()[0].device_kind,
            "seconds": round(time.perf_counter() - began),
            "rows": rows,
        }
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def _memory(task: Task, exploration: Exploration, key: jax.Array, center: jax.Array, num_episodes: int) -> Any:
    """The task's memory after a first batch of episodes."""
    if not isinstance(task.memory, Moments):
        return task.memory
    key_noise, key_episodes = jax.random.split(key)
    population = exploration.population

    def seen() -> Moments:
        sample = population.sample(key_noise, Cloud(center[None]), 0, population.draws(num_episodes))
        return explore(exploration, key_episodes, sample, task.memory).seen

    return merge(task.memory, jax.jit(seen)())


def _line(row: dict[str, Any]) -> str:
    needed = "     drowned" if row["episodes_needed"] is None else f"{row['episodes_needed']:12,.0f}"
    return (
        f"{row['time']:5d} steps  deviation {row['action_std']:<5g} {row['estimator']:18s} noise {row['noise']:10.3g}  "
        f"cosine {row['cosine']:6.3f}  episodes for signal = noise {needed}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="point", help="a task that can be stepped on the device")
    parser.add_argument("--run", type=Path, help="a run folder whose center to start from")
    parser.add_argument("--episodes", type=int, default=256, help="of one estimate")
    parser.add_argument("--repetitions", type=int, default=40, help="estimates of each kind")
    parser.add_argument("--times", type=int, nargs="+", default=[5, 10, 20, 50, 100, 200], help="lengths of episodes")
    parser.add_argument("--action-std", type=float, nargs="+", default=[0, 0.1, 0.3, 1], help="deviations of actions")
    parser.add_argument("--sigma", type=float, help="of the population; the task's default unless given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
