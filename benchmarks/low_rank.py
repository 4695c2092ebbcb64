"""Noise of low rank against full noise, side by side: memory, noise, policy, gradient, and whole generations.

    python benchmarks/low_rank.py --members 10000 --output low-rank.json

The network is the cheetah's, 26-256-256-6. "policy" is an episode of actions of all members, each step's observations
made from the last one's actions, without physics. Further parts, each on demand:

    --with-physics    whole generations of the cheetah on the engine fused
    --million         1,000,000 members of the task navigation in one process, a few generations
    --wide            a network of ten million parameters on the task point, a few generations
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from evolvability import evolve
from evolvability.core.populations import Population, low_rank, normal
from evolvability.core.types import Parameters, Sample
from evolvability.tasks.families import family_of
from evolvability.tasks.policies import mlp

SIZES = (26, 256, 256, 6)
POLICY = family_of(mlp(SIZES[1:-1]), SIZES[0], SIZES[-1])
# From little memory to much: a device tells but the highest peak so far.
KINDS: dict[str, dict[str, Any]] = {
    "rank 1, bfloat16": {"population": "low_rank", "rank": 1, "noise_dtype": "bfloat16"},
    "rank 1": {"population": "low_rank", "rank": 1},
    "rank 4": {"population": "low_rank", "rank": 4},
    "rank 16": {"population": "low_rank", "rank": 16},
    "full, bfloat16": {"population": "normal", "noise_dtype": "bfloat16"},
    "full": {"population": "normal"},
}
BASELINES = ("full, bfloat16", "full")
WIDE = 3160
"""Units of each hidden layer: about ten million parameters."""


def main() -> None:
    options = _arguments()
    device = jax.devices()[0].device_kind
    report: dict[str, Any] = {
        "device": device,
        "jax": jax.__version__,
        "options": vars(options) | {"output": None},
        "parts": [],
    }
    print(f"{device}: {options.members:,} members, {options.steps:,} steps, network {'-'.join(map(str, SIZES))}")
    for kind in options.kinds:
        report["parts"].append(measure(kind, options))
    _compare(report["parts"], "policy")
    for row in report["parts"]:
        print(_line(row), flush=True)
    if options.with_physics:
        report["generations"] = [generations(kind, options) for kind in options.kinds]
        _compare(report["generations"], "seconds")
    if options.million:
        report["million"] = small_task(options)
    if options.wide:
        report["wide"] = wide_network()
    for name in ("generations", "million", "wide"):
        if name in report:
            print(name, json.dumps(report[name], indent=1), flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of noise, policy and gradient of one kind of noise, and its size."""
    population = _population(**KINDS[kind])
    cloud = Parameters(POLICY.init(jax.random.key(0))[None])
    draws = population.draws(options.members)
    timed = partial(_seconds, options.repeats)
    noise, sample = timed(jax.jit(lambda cloud: population.sample(jax.random.key(1), cloud, 0, draws)), cloud)
    policy, _ = timed(jax.jit(partial(_act, options.steps)), sample)
    weights = jax.random.normal(jax.random.key(2), (options.members,))
    gradient, _ = timed(jax.jit(population.gradient), sample, weights)
    return {
        "kind": kind,
        "noise_gigabytes": sum(leaf.nbytes for leaf in jax.tree.leaves(sample.noise)) / 1e9,
        "noise": noise,
        "policy": policy,
        "gradient": gradient,
        "actions_per_second": options.members * options.steps / policy,
        "peak_gigabytes_so_far": _peak(),
    }


def generations(kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """Whole generations of the cheetah, the first of which compiles."""
    result = evolve(
        "cheetah",
        population_size=options.members,
        generations=1 + options.repeats,
        task_options={"engine": "fused", "num_steps": options.steps},
        **KINDS[kind],
    )
    return {"kind": kind, "seconds": float(result.metrics["seconds"][0, 1:].min()), "peak_gigabytes_so_far": _peak()}


def small_task(options: argparse.Namespace) -> dict[str, Any]:
    """A million members at once, or in chunks."""
    return _evolve(
        "navigation", population_size=1_000_000, generations=3, chunk_size=options.chunk_size, learning_rate=0.1
    )


def wide_network() -> dict[str, Any]:
    """Ten million parameters."""
    task_options = {"hidden": WIDE, "num_steps": 20}
    return _evolve(
        "point", population_size=256, generations=10, sigma=0.01, learning_rate=0.001, task_options=task_options
    )


def _evolve(task: str, **settings: Any) -> dict[str, Any]:
    result = evolve(task, population="low_rank", rank=1, **settings)
    metrics = {name: values[0] for name, values in result.metrics.items()}
    return {
        "task": task,
        "members": settings["population_size"],
        "parameters": int(result.centers.shape[-1]),
        "seconds_a_generation": float(metrics["seconds"][1:].min()),
        "variance": [float(value) for value in metrics["variance"]],
        "peak_gigabytes_so_far": _peak(),
    }


def _population(population: str, rank: int = 1, noise_dtype: str = "float32") -> Population:
    dtype = jnp.dtype(noise_dtype)
    return normal(noise_dtype=dtype) if population == "normal" else low_rank(POLICY.shapes, rank, noise_dtype=dtype)


def _act(num_steps: int, sample: Sample) -> Array:
    """Actions of a whole episode."""
    networks = POLICY.build(sample)

    def once(observation: Array, _: None) -> tuple[Array, None]:
        actions, _ = POLICY.act(networks, observation, ())
        return observation.at[:, : SIZES[-1]].set(jnp.clip(actions, -1, 1)), None

    observation = jax.random.normal(jax.random.key(3), (sample.num_members, SIZES[0]))
    return jax.lax.scan(once, observation, length=num_steps)[0]


def _compare(rows: list[dict[str, Any]], field: str) -> None:
    """Adds how much faster each kind is than full noise."""
    seconds = {row["kind"]: row[field] for row in rows}
    for row in rows:
        row["speedup"] = {kind: seconds[kind] / row[field] for kind in BASELINES if kind in seconds}


def _seconds(repeats: int, function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The fastest of several calls after the one that compiles."""
    result = jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return min(times), result


def _peak() -> float:
    """Of the device's memory; of a CPU, the process'."""
    statistics = jax.devices()[0].memory_stats()
    most = statistics["peak_bytes_in_use"] if statistics else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / 1e9, 2)


def _line(row: dict[str, Any]) -> str:
    speedup = "  ".join(f"{ratio:.2f} x {kind}" for kind, ratio in row["speedup"].items())
    return (
        f"{row['kind']:17s} noise {row['noise_gigabytes']:.3f} GB, {row['noise']:.4f} s  policy {row['policy']:.4f} s "
        f"({row['actions_per_second'] / 1e6:.2f} M actions/s)  gradient {row['gradient']:.4f} s  policy: {speedup}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--with-physics", action="store_true", help="whole generations of the cheetah on fused")
    parser.add_argument("--million", action="store_true", help="a million members of a small task")
    parser.add_argument("--chunk-size", type=int, default=0, help="of these, how many are in memory at a time")
    parser.add_argument("--wide", action="store_true", help="ten million parameters")
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
