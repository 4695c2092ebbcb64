"""The engine mujoco, policy included, beside bare `mujoco.rollout` of the same model under the same torques.

Both run on all cores, in turns, so that both meet the same load; a ratio is taken of every turn, of wall time and of
CPU time, and the medians are printed.

    python benchmarks/native.py --task cheetah
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np
from mujoco import rollout

from evolvability.core.populations import normal
from evolvability.core.types import Sample
from evolvability.tasks.engines.base import LocomotionOptions
from evolvability.tasks.engines.mujoco import mujoco_engine
from evolvability.tasks.normalizer import no_moments
from evolvability.tasks.policies import Policy, mlp
from evolvability.tasks.robots import ROBOTS, STEPS_PER_CONTROL, Robot

Array = np.ndarray[Any, Any]


def main() -> None:
    options = _arguments()
    robot = ROBOTS[options.task]()
    policy = mlp((robot.num_observations, 256, 256, robot.num_joints))
    population = normal(0.02)
    cloud = population.init(jax.random.key(0), policy.init(jax.random.key(1))[None])
    sample = population.sample(jax.random.key(2), cloud, 0, population.draws(options.members))
    cores = len(os.sched_getaffinity(0))
    engine = engine_run(robot, policy, sample, options.steps, cores)
    bare = bare_run(robot, recorded_torques(robot, policy, sample, options.steps), cores)
    total = options.members * options.steps
    rows = [(*_seconds(engine), *_seconds(bare)) for _ in range(options.rounds)]
    wall, cpu, bare_wall, bare_cpu = (np.array(column) for column in zip(*rows, strict=True))
    report = {
        "task": options.task,
        "cores": cores,
        "engine_steps_per_second": total / float(np.median(wall)),
        "bare_steps_per_second": total / float(np.median(bare_wall)),
        "ratio_wall": float(np.median(bare_wall / wall)),
        "ratio_cpu": float(np.median(bare_cpu / cpu)),
        "ratios_wall": (bare_wall / wall).tolist(),
        "ratios_cpu": (bare_cpu / cpu).tolist(),
    }
    print(json.dumps(report, indent=1))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def engine_run(robot: Robot, policy: Policy, sample: Sample, num_steps: int, threads: int) -> Callable[[], Any]:
    """Whole episodes of a sample, none of which ends early."""
    engine = mujoco_engine(robot, policy, LocomotionOptions(num_steps=num_steps, threads=threads))
    return lambda: engine.run(jax.random.key(3), sample, no_moments(robot.num_observations))


def recorded_torques(robot: Robot, policy: Policy, sample: Sample, num_steps: int) -> Array:
    """(num_members, num_steps, num_joints) what the policies did in those episodes."""
    torques: list[Array] = []

    def act(networks: Any, observations: Any) -> Any:
        torques.append(np.clip(policy.act(networks, observations), -1, 1))
        return torques[-1]

    engine_run(robot, policy._replace(act=act), sample, num_steps, threads=1)()
    blocks = [np.stack(torques[first : first + num_steps], axis=1) for first in range(0, len(torques), num_steps)]
    return np.concatenate(blocks).astype(np.float64)


def bare_run(robot: Robot, torques: Array, threads: int) -> Callable[[], Any]:
    """The same episodes with torques that are known beforehand."""
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = robot.start
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    starts = np.tile(start, (len(torques), 1))
    controls = np.ascontiguousarray(np.repeat(torques, STEPS_PER_CONTROL, axis=1))
    threads_data = [mujoco.MjData(model) for _ in range(threads)]
    return lambda: rollout.rollout(model, threads_data, starts, controls)


def _seconds(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall time and CPU time, of all threads."""
    began, began_cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(run())
    return time.perf_counter() - began, time.process_time() - began_cpu


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="cheetah", choices=sorted(ROBOTS))
    parser.add_argument("--members", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
