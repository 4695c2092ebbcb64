"""Where one generation's time goes, with bare physics beside it, as a function of population size.

Every part is a compiled program of its own, timed over whole episodes; "whole" is the generation as runs do it, in one
program. "physics" is the control step under torques that cost nothing: time steps, and what the robot then sees. A
GPU's memory is named twice: the peak of JAX's own allocator, and all that is in use, the driver's among it. Neither
ever shrinks, so sizes go up. On a CPU, run it with XLA_FLAGS=--xla_force_host_platform_device_count=2: a single CPU
device has another engine, which has no such parts.

    python benchmarks/generation.py --task ant --population-sizes 1000 4000 10000 --steps 1000 --noise-dtype bfloat16
"""

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from evolvability.config.schema import layered
from evolvability.core.types import Sample
from evolvability.tasks.circumstances import Circumstances
from evolvability.tasks.engines.control import Progress, controller, first_of
from evolvability.tasks.engines.drawing import draw
from evolvability.tasks.engines.networks import actor
from evolvability.tasks.families import family_of
from evolvability.tasks.normalizer import Moments, include, scaled
from evolvability.tasks.policies import mlp
from evolvability.tasks.robots.paper import ROBOTS
from evolvability.tasks.robots.robot import Robot
from evolvability.training.evolution import Evolution
from evolvability.training.generation import step, whole

PARTS = ("noise", "policy", "physics", "statistics", "objective", "update")


def main() -> None:
    options = _arguments()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # so that what is in use is what is needed
    results = []
    for size in sorted(options.population_sizes):
        row = measure(options, size)
        results.append(row)
        print(_line(row), flush=True)
    if options.output:
        report = {"device": jax.devices()[0].device_kind, "options": vars(options) | {"output": None}, "rows": results}
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(options: argparse.Namespace, size: int) -> dict[str, Any]:
    """Seconds of every part of one generation."""
    values = {
        "population_size": size,
        "noise_dtype": options.noise_dtype,
        "task_options": {"engine": "fused", "num_steps": options.steps, "body": options.body}
        | dict(zip(("solver_iterations", "solver_line_search_iterations"), options.solver, strict=False)),
    }
    config = layered(options.task, objective=options.objective, values=values)
    solver = config.task_options.solver_iterations, config.task_options.solver_line_search_iterations
    robot = ROBOTS[options.task](config.task_options.body, solver)
    evolution = Evolution(config)
    algorithm = evolution.algorithm
    state = jax.tree.map(lambda leaf: leaf[0], evolution.start())
    timed = partial(_seconds, options.repeats)
    row: dict[str, Any] = {"population_size": size, "control_steps": size * options.steps}
    row["noise"], sample = timed(jax.jit(algorithm.ask), state)
    row["policy"], _ = timed(jax.jit(partial(_act, robot, options.steps)), sample)
    row["physics"], _ = timed(jax.jit(partial(_simulate, robot, options.steps, size)))
    row["statistics"], _ = timed(jax.jit(partial(_observe, robot, options.steps, size)))
    row["whole"], (state, _, outcome) = timed(
        jax.jit(partial(step, algorithm, whole(algorithm, evolution.population, evolution.task))), state
    )
    row["objective"], (weights, _) = timed(jax.jit(algorithm.weigh), state, outcome)
    ascend = jax.jit(
        lambda state, sample, weights: algorithm.ascend(state, evolution.population.gradient(sample, weights))
    )
    row["update"], _ = timed(ascend, state, sample, weights)
    row["whole_over_bare"] = row["whole"] / row["physics"]
    row["bare_control_steps_per_second"] = size * options.steps / row["physics"]
    row["num_invalid"] = int(jnp.sum(~outcome.valid))
    row["peak_gigabytes"], row["device_gigabytes"] = _peak(), _in_use()
    return row


def _act(robot: Robot, num_steps: int, sample: Sample) -> jax.Array:
    act = actor(family_of(mlp((256, 256)), robot.num_observations, robot.num_joints), sample)

    def once(observation: jax.Array, _: None) -> tuple[jax.Array, None]:
        torques, _ = act(observation, ())
        return observation.at[:, : robot.num_joints].set(torques), None  # each step depends on the last, as in episodes

    observation = jnp.ones((sample.num_members, robot.num_observations))
    return jax.lax.scan(once, observation, length=num_steps)[0]


def _simulate(robot: Robot, num_steps: int, size: int) -> jax.Array:
    step = controller(robot, early_termination=False, parameters=())
    phase = jnp.linspace(0, 6, size)[:, None] + jnp.arange(robot.num_joints)

    def once(now: Progress, time: jax.Array) -> tuple[Progress, None]:
        return step(now, jnp.sin(phase + 0.1 * time), {}), None

    first = first_of(robot, draw(jax.random.split(jax.random.key(0), size), robot, Circumstances()))
    return jax.lax.scan(once, first, jnp.arange(num_steps, dtype=jnp.float32))[0].qpos


def _observe(robot: Robot, num_steps: int, size: int) -> Moments:
    blank = jnp.zeros((size, robot.num_observations))
    mean, std, running = blank[0], blank[0] + 1, jnp.ones(size, bool)

    def once(seen: Moments, time: jax.Array) -> tuple[Moments, None]:
        return include(seen, scaled(seen.mean + 0.001 * time, mean, std), running), None

    first = Moments(jnp.zeros(size), blank, blank)
    return jax.lax.scan(once, first, jnp.arange(num_steps, dtype=jnp.float32))[0]


def _seconds(repeats: int, function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The fastest of several calls after the one that compiles."""
    result = jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return min(times), result


def _peak() -> float | None:
    statistics = jax.devices()[0].memory_stats()
    return round(statistics["peak_bytes_in_use"] / 1e9, 2) if statistics else None


def _in_use() -> float | None:
    """What the driver says of the first GPU, all of its memory's users together."""
    if jax.default_backend() != "gpu" or not shutil.which("nvidia-smi"):
        return None
    query = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return round(float(subprocess.run(query, capture_output=True, text=True, check=True).stdout) * 2**20 / 1e9, 2)


def _line(row: dict[str, Any]) -> str:
    parts = "  ".join(f"{part} {row[part]:.3f}" for part in PARTS)
    return (
        f"{row['population_size']:>7,} members  {parts}  sum {sum(row[part] for part in PARTS):.3f}  "
        f"whole {row['whole']:.3f} s = {row['whole_over_bare']:.2f} x bare  "
        f"bare {row['bare_control_steps_per_second'] / 1e3:,.0f} k control steps/s  "
        f"{row['num_invalid']} invalid  memory: JAX {row['peak_gigabytes']} GB, device {row['device_gigabytes']} GB"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="ant", choices=sorted(ROBOTS))
    parser.add_argument("--body", default="paper", choices=["paper", "gymnasium"])
    parser.add_argument("--objective", default="max_entropy")
    parser.add_argument("--population-sizes", type=int, nargs="+", default=[1000, 4000, 10_000])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--noise-dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--solver", type=int, nargs=2, metavar=("ITERATIONS", "LINE_SEARCH"), default=())
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
