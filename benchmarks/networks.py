"""The ways a run may take, side by side: whole episodes of robots, with each network and engine in turn.

    python benchmarks/networks.py --members 1000 --output networks.json
    python benchmarks/networks.py --tasks cheetah quadruped humanoid --members 64 --steps 250 --rounds 3

``mlp`` is compiled: on a CPU with whole episodes, on a GPU as a kernel. ``gru`` is compiled on a CPU; on a GPU it is
XLA's. "written out" is the general way, that of any network of your own: every member's parameters, mapped by
`jax.vmap`. "two episodes" is half as many members, each evaluated twice. "native" is what a model that cannot be
compiled falls back to: MuJoCo's own library, on all CPU cores. No episode ends early. Ways take turns, so that what
else the machine does falls on all of them; ratios are medians over rounds, of wall time and of CPU time.
"""

import argparse
import itertools
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from evolvability import gru, make_task, mlp
from evolvability.core.cores import num_cores
from evolvability.core.populations import normal
from evolvability.core.types import Parameters


class Way(NamedTuple):
    """What drives robots, and how."""

    make: Any
    engine: str = "auto"
    episodes: int = 1


WAYS = {
    "mlp((64, 64))": Way(mlp((64, 64))),
    "two episodes": Way(mlp((64, 64)), episodes=2),
    "gru(64)": Way(gru(64)),
    "mlp((64, 64)), written out": Way(mlp((64, 64)).__call__),  # a bound method is not a factory of ours
    "gru(64), written out": Way(gru(64).__call__),
    "native": Way(mlp((64, 64)), engine="mujoco"),
}


def main() -> None:
    options = _arguments()
    device = jax.devices()[0].device_kind
    print(f"{device}, {num_cores()} cores: {options.members:,} members, {options.steps:,} steps, {options.noise} noise")
    rows = list(itertools.chain.from_iterable(measure(name, options) for name in options.tasks))
    if options.output:
        about = {"device": device, "cores": num_cores(), "load": os.getloadavg(), "jax": jax.__version__}
        about |= {"options": vars(options) | {"output": None}}
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def measure(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per way."""
    ways = {kind: prepared(name, WAYS[kind], options) for kind in options.ways}
    # (rounds, ways, 2): wall and CPU time.
    times = np.array([[_seconds(run) for run, _ in ways.values()] for _ in range(options.rounds)])
    seconds, ratios = np.median(times, axis=0).tolist(), np.median(times / times[:, :1], axis=0).tolist()
    rows, total = [], options.members * options.steps
    for (kind, (_, number)), (wall, cpu), (ratio, cpu_ratio) in zip(ways.items(), seconds, ratios, strict=True):
        row = {"task": name, "way": kind, "num_params": number, "seconds": wall, "ratio": ratio}
        row |= {"control_steps_per_second": total / wall, "cpu_seconds": cpu, "cpu_ratio": cpu_ratio}
        print(
            f"{name:10} {kind:28} {number:8,} {wall:9.3f} s {ratio:6.2f} {total / wall:13,.0f} control steps/s; "
            f"of CPU time {cpu:9.3f} s {cpu_ratio:6.2f}",
            flush=True,
        )
        rows.append(row)
    return rows


def prepared(name: str, way: Way, options: argparse.Namespace) -> tuple[Any, int]:
    """A function that evaluates one generation, compiled by a first call; and the number of parameters."""
    settings = {"num_steps": options.steps, "early_termination": False, "engine": way.engine}
    settings |= {"body": options.body} if name in ("cheetah", "ant") else {}
    task = make_task(name, settings, policy=way.make)
    population = normal(0.02, noise_dtype=options.noise)
    center = task.init(jax.random.key(0))
    parameters = Parameters(center[None])
    draws = population.draws(options.members // way.episodes)
    sample = jax.jit(lambda key: population.sample(key, parameters, 0, draws))(jax.random.key(1)).repeated(way.episodes)
    evaluate = task.evaluate if task.on_host else jax.jit(task.evaluate)

    def run() -> Any:
        return jax.block_until_ready(evaluate(jax.random.key(2), sample, task.memory))

    run()
    return run, len(center)


def _seconds(run: Any) -> tuple[float, float]:
    """By wall, and of CPU time, of all threads."""
    began, began_cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - began, time.process_time() - began_cpu


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["cheetah"])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS), metavar="WAY")
    parser.add_argument("--body", default="paper")
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--noise", default="bfloat16", choices=["float32", "bfloat16"])
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
