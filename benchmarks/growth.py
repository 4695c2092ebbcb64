"""How the time of one generation grows with members and parameters, without what members do.

    python benchmarks/growth.py --output growth.json

Parts: the noise and the gradient, which grow with members times parameters (full noise, or rank 1); the weights of
MaxVar and of MaxEnt with one, two and three behaviors; and the metric `entropy`. MaxEnt with three behaviors or more
compares all pairs of members, so its time is quadratic. What would take too long is measured with fewer members, which
a row names: pairs beyond ``--most-pairs``, times the square, and noise beyond ``--most-numbers`` random numbers, times
the number of chunks, as a run with a chunk size does it. Seconds are the least of several calls: by wall, and of CPU
time, which other work on the machine touches less. In the end there is one table of CPU seconds.
"""

import argparse
import itertools
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolvability import max_entropy, max_variance
from evolvability.core.cores import num_cores
from evolvability.core.entropy import entropy
from evolvability.core.noise import num_numbers
from evolvability.core.objectives import sample_weights
from evolvability.core.populations import Population, low_rank, normal
from evolvability.core.types import Parameters, make_outcome


def main() -> None:
    options = _arguments()
    rows = []
    for row in itertools.chain(by_members(options), by_parameters(options)):
        rows.append(row)
        print(json.dumps(row), flush=True)
    print(table(rows))
    if options.output:
        machine = f"{num_cores()} cores, {platform.machine()}"
        about = {"device": jax.devices()[0].device_kind, "machine": machine, "load": os.getloadavg()}
        about |= {"options": vars(options) | {"output": None}}
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    """CPU seconds in Markdown: a line per number of members, a column per part; ~: measured with fewer members."""
    columns: dict[str, dict[int, str]] = {}
    for row in rows:
        size = row.get("behaviors", row.get("parameters"))
        about = "~" if row["measured_with"] < row["members"] else ""
        columns.setdefault(f"{row['part']}, {size:,}", {})[row["members"]] = f"{about}{row['cpu_seconds']:.2g}"
    members = sorted({row["members"] for row in rows})
    lines = ["members | " + " | ".join(columns), "---|" * (len(columns) + 1)]
    lines += [f"{number:,} | " + " | ".join(cells.get(number, "") for cells in columns.values()) for number in members]
    return "\n".join(f"| {line} |" for line in lines)


def by_members(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What follows from behaviors alone."""
    for number in options.members:
        for dimensions in (1, 2, 3):
            few = min(number, math.isqrt(int(options.most_pairs))) if dimensions > 2 else number
            behavior = np.random.default_rng(0).normal(size=(few, dimensions)).astype(np.float32)
            outcome = make_outcome(jnp.asarray(behavior))
            shared = {"members": number, "measured_with": few, "behaviors": dimensions}
            weigh = jax.jit(lambda outcome: sample_weights(max_entropy(), outcome))
            taken = timed(options, weigh, outcome)
            yield {"part": "MaxEnt's weights", **shared, **times(taken, (number / few) ** 2)}
            if dimensions == 2:
                weigh = jax.jit(lambda outcome: sample_weights(max_variance(), outcome))
                yield {"part": "MaxVar's weights", **shared, **timed(options, weigh, outcome)}
                yield {"part": "the metric entropy", **shared, **timed(options, entropy, behavior)}


def by_parameters(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Noise and gradient: full, and of rank 1 for one square matrix with as many parameters."""
    for number in options.members:
        for num_params in options.parameters:
            side = math.isqrt(num_params)
            shapes = ((side, side),)
            kinds = {"normal": (normal(), num_params), "low_rank": (low_rank(shapes, 1), num_numbers(shapes, 1))}
            for kind, (population, numbers) in kinds.items():
                few = min(number, max(2, 2 * int(options.most_numbers / numbers)))
                once = update(population, few, num_params if kind == "normal" else side**2)
                shared = {"members": number, "measured_with": few, "parameters": num_params}
                yield {"part": kind, **shared, **times(timed(options, *once), number / few)}


def times(taken: dict[str, float], factor: float) -> dict[str, float]:
    """So many times as long."""
    return {name: factor * seconds for name, seconds in taken.items()}


def update(population: Population, number: int, num_params: int) -> tuple[Any, Any, Any]:
    """A function that draws a generation and adds up its gradient, and its arguments."""
    cloud, draws = Parameters(jnp.zeros((1, num_params))), population.draws(number)

    @jax.jit
    def once(cloud: Parameters, weights: jax.Array) -> Any:
        return population.gradient(population.sample(jax.random.key(0), cloud, 0, draws), weights)

    return once, cloud, jnp.arange(number, dtype=jnp.float32)


def timed(options: argparse.Namespace, function: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """The least seconds of several calls after the one that compiles; of few where one takes long."""
    jax.block_until_ready(function(*arguments))
    taken: list[tuple[float, float]] = []
    while len(taken) < options.repeats and sum(wall for wall, _ in taken) < options.patience:
        began, began_cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(function(*arguments))
        taken.append((time.perf_counter() - began, time.process_time() - began_cpu))
    wall, cpu = (min(column) for column in zip(*taken, strict=True))
    return {"seconds": wall, "cpu_seconds": cpu}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--parameters", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--most-pairs", type=float, default=1e8)
    parser.add_argument("--most-numbers", type=float, default=2e7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--patience", type=float, default=3.0, help="seconds of one row")
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
