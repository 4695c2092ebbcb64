"""Other networks against the usual one, side by side: whole generations of robots, and what each network takes of them.

    python benchmarks/networks.py --members 1000 --output networks.json

``mlp`` is compiled: on a CPU with whole episodes, on a GPU as a kernel. ``gru`` is compiled on a CPU; on a GPU it is
XLA's. "written out" is the general way, that of any network of your own: every member's parameters, mapped by
`jax.vmap`. Ways take turns, so that what else the machine does falls on all of them; ratios are medians over rounds.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability import gru, make_task, mlp
from evolvability.core.populations import normal
from evolvability.core.types import Parameters

WAYS: dict[str, Any] = {
    "mlp((64, 64))": mlp((64, 64)),
    "gru(64)": gru(64),
    "mlp((64, 64)), written out": mlp((64, 64)).__call__,  # a bound method is not a factory of ours
    "gru(64), written out": gru(64).__call__,
}


def main() -> None:
    options = _arguments()
    device = jax.devices()[0].device_kind
    print(f"{device}: {options.members:,} of the {options.task}, {options.steps:,} steps, {options.noise} noise")
    ways = {name: way(make, options) for name, make in WAYS.items()}
    rounds = [[_seconds(run) for run, _ in ways.values()] for _ in range(options.rounds)]
    times = np.array(rounds)  # (rounds, ways)
    seconds, ratios = np.median(times, axis=0), np.median(times / times[:, :1], axis=0)
    rows = [
        {"network": name, "num_params": number, "seconds": own, "ratio": ratio}
        for (name, (_, number)), own, ratio in zip(ways.items(), seconds.tolist(), ratios.tolist(), strict=True)
    ]
    for row in rows:
        print(f"{row['network']:28} {row['num_params']:8,} {row['seconds']:9.3f} s {row['ratio']:6.2f}")
    if options.output:
        about = {"device": device, "jax": jax.__version__, "options": vars(options) | {"output": None}}
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def way(make: Any, options: argparse.Namespace) -> tuple[Any, int]:
    """A function that evaluates one generation, compiled by a first call; and the number of parameters."""
    task = make_task(options.task, {"body": options.body, "num_steps": options.steps}, policy=make)
    population = normal(0.02, noise_dtype=options.noise)
    center = task.init(jax.random.key(0))
    parameters = Parameters(center[None])
    draws = population.draws(options.members)
    sample = jax.jit(lambda key: population.sample(key, parameters, 0, draws))(jax.random.key(1))
    evaluate = task.evaluate if task.on_host else jax.jit(task.evaluate)

    def run() -> Any:
        return jax.block_until_ready(evaluate(jax.random.key(2), sample, task.memory))

    run()
    return run, len(center)


def _seconds(run: Any) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="cheetah")
    parser.add_argument("--body", default="paper")
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--noise", default="bfloat16", choices=["float32", "bfloat16"])
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
