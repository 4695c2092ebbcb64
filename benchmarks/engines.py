"""The engines on a CPU, networks included, beside bare physics of the same model under the same torques.

Five ways, on all cores: bare `mujoco.rollout`; the engine mujoco; the engine fused; a whole generation of a run with
it, from drawing noise to the update; and fused physics alone, called once per control step, where the engine is called
once per episode: cores then wait for each other and states go through memory at every step. They run in turns, so that
all meet the same load. A ratio to the first is taken of every turn, of wall time and of CPU time, and medians are
printed. With much other work on the machine, CPU time says more.

    python benchmarks/engines.py --output engines.json
    python benchmarks/engines.py --tasks cheetah --members 64 --steps 400 --hidden 64 256
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import mujoco
import mujoco_fused as fused
import numpy as np
from mujoco import rollout

from evolvability.config.schema import layered
from evolvability.core.cores import num_cores
from evolvability.core.populations import normal
from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine
from evolvability.tasks.engines.cores import cores_engine
from evolvability.tasks.engines.mujoco import mujoco_engine
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.normalizer import no_moments
from evolvability.tasks.options import LocomotionOptions
from evolvability.tasks.policies import mlp
from evolvability.tasks.robots.paper import ROBOTS
from evolvability.tasks.robots.robot import Robot
from evolvability.training.evolution import Evolution

Array = np.ndarray[Any, Any]
COPIES = 8
"""Of every world for fused physics alone: with few worlds, Python's share of its calls would count."""


class Way(NamedTuple):
    """A way to simulate: its name, the control steps of one turn, and what runs them."""

    name: str
    num_steps: int
    run: Callable[[], Any]


def main() -> None:
    options = _arguments()
    report: dict[str, Any] = {"cores": num_cores(), "options": vars(options) | {"output": None}, "rows": []}
    print(f"{num_cores()} cores; control steps per second, and per CPU second and core; ratios to mujoco.rollout")
    for name, hidden in itertools.product(options.tasks, options.hidden):
        for row in measure(ROBOTS[name](options.body), hidden, options):
            report["rows"].append(row)
            print(
                f"{row['task']:8} {row['hidden']:>4} {row['way']:24} {row['per_second']:>12,.0f} "
                f"{row['per_cpu_second']:>10,.0f}   "
                f"{row['ratio_wall']:6.2f} by wall, {row['ratio_cpu']:6.2f} by CPU time",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(robot: Robot, hidden: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each way to simulate a robot."""
    policy = family_of(mlp((hidden, hidden)), robot.num_observations, robot.num_joints)
    population = normal(0.02)
    cloud = population.init(jax.random.key(0), policy.init(jax.random.key(1))[None])
    sample = population.sample(jax.random.key(2), cloud, 0, population.draws(options.members))
    settings = LocomotionOptions(num_steps=options.steps, threads=num_cores(), hidden=hidden)
    torques, total = recorded_torques(robot, policy, sample, options.steps), options.members * options.steps
    ways = [
        Way("mujoco.rollout, bare", total, bare_mujoco(robot, torques)),
        Way("engine mujoco", total, episodes(robot, mujoco_engine(robot, policy, settings), sample)),
        Way("engine fused", total, episodes(robot, cores_engine(robot, policy, settings), sample)),
        Way("generation, fused", total, generation(robot.name, hidden, options)),
        Way("fused physics, bare", COPIES * total, bare_fused(robot, torques)),
    ]
    for way in ways:
        way.run()  # compiles
    # Seconds per control step: (rounds, ways, 2).
    times = np.array([[_seconds(way) for way in ways] for _ in range(options.rounds)])
    rates, ratios = np.median(1 / times, axis=0), np.median(times[:, :1] / times, axis=0)
    return [
        {
            "task": robot.name,
            "hidden": hidden,
            "way": way.name,
            "per_second": rate[0],
            "per_cpu_second": rate[1],
            "ratio_wall": ratio[0],
            "ratio_cpu": ratio[1],
        }
        for way, rate, ratio in zip(ways, rates.tolist(), ratios.tolist(), strict=True)
    ]


def episodes(robot: Robot, engine: Engine, sample: Sample) -> Callable[[], Any]:
    """Whole episodes of a sample, none of which ends early."""
    return lambda: engine.run(jax.random.key(3), sample, no_moments(robot.num_observations))


def generation(name: str, hidden: int, options: argparse.Namespace) -> Callable[[], Any]:
    """One generation after another of a run."""
    settings = {"engine": "fused", "body": options.body, "num_steps": options.steps, "hidden": hidden}
    values = {"population_size": options.members, "generations": 10 * options.rounds, "task_options": settings}
    evolution = Evolution(layered(name, objective="max_variance", values=values))
    generations = evolution.generations(evolution.start())
    return lambda: next(generations)[0]


def recorded_torques(robot: Robot, policy: NetworkFamily, sample: Sample, num_steps: int) -> Array:
    """(num_members, num_steps, num_joints) what the policies did in those episodes."""
    torques: list[Array] = []

    def act(networks: Any, observations: Any, carry: Any) -> Any:
        torques.append(np.clip(policy.act(networks, observations, carry)[0], -1, 1))
        return torques[-1], carry

    # One thread: blocks of members come one after the other.
    settings = LocomotionOptions(num_steps=num_steps, threads=1)
    episodes(robot, mujoco_engine(robot, policy._replace(act=act), settings), sample)()
    blocks = [np.stack(torques[first : first + num_steps], axis=1) for first in range(0, len(torques), num_steps)]
    return np.concatenate(blocks).astype(np.float64)


def bare_mujoco(robot: Robot, torques: Array) -> Callable[[], Any]:
    """The same episodes with torques that are known beforehand."""
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = robot.start
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    starts = np.tile(start, (len(torques), 1))
    controls = np.ascontiguousarray(np.repeat(torques, robot.steps_per_control, axis=1))
    threads_data = [mujoco.MjData(model) for _ in range(num_cores())]
    return lambda: rollout.rollout(model, threads_data, starts, controls)


def bare_fused(robot: Robot, torques: Array) -> Callable[[], Any]:
    """The same, `COPIES` of each."""
    step = fused.compile(robot.model, num_steps=robot.steps_per_control)
    controls = np.ascontiguousarray(np.tile(torques, (COPIES, 1, 1)).swapaxes(0, 1), np.float32)
    number = controls.shape[1]
    start = fused.start(robot.model, number, np.tile(robot.start, (number, 1)))

    def run() -> None:
        state = start
        for control in controls:
            state, _ = step(state, control)

    return run


def _seconds(way: Way) -> tuple[float, float]:
    """Wall time and CPU time, of all threads, per control step."""
    began, began_cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(way.run())
    return (time.perf_counter() - began) / way.num_steps, (time.process_time() - began_cpu) / way.num_steps


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--body", default="gymnasium", choices=["paper", "gymnasium"])
    parser.add_argument("--tasks", nargs="+", default=["cheetah", "ant"], choices=sorted(ROBOTS))
    parser.add_argument("--members", type=int, default=128 * num_cores())
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--hidden", type=int, nargs="+", default=[256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
