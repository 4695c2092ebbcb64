"""What the relatives of Evolvability ES cost beside the evaluations: fronts and novelty, each against another way.

    python benchmarks/relatives.py [--members 10000] [--archive 100000]

- Fronts of two values: a sweep with a binary search a member (this library), compiled; the same in Python on the host;
  and comparing all pairs, front after front, in NumPy. For values that are independent, and for one long chain.
- Novelty against an archive: a k-d tree on the host (this library), called out of a compiled program; and all distances
  on the device, a tile of members at a time.

Writes a JSON with `--output`.
"""

import argparse
import json
import os
import platform
import time
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.methods.novelty import Archive, novelty
from evolvability.methods.quality_evolvability import nondominated_fronts

TILE = 50
NUM_NEIGHBORS = 10


def seconds(function: Callable[..., Any], *arguments: Any, repeats: int = 5) -> float:
    """The median time of a call, after one that compiles."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return sorted(times)[repeats // 2]


def fronts_on_host(first: Any, second: Any) -> Any:
    order = np.lexsort((-second, -first))
    tops: list[float] = []
    fronts = np.empty(len(order), np.int32)
    for member, value in zip(order, (-second[order]).tolist(), strict=True):
        front = bisect_right(tops, value)
        tops[front : front + 1] = [value]
        fronts[member] = front
    return fronts


def fronts_by_pairs(first: Any, second: Any) -> Any:
    fronts = np.full(len(first), -1, np.int32)
    number = 0
    while (left := np.flatnonzero(fronts < 0)).size:
        a, b = first[left], second[left]
        dominated = np.array([np.any((a >= x) & (b >= y) & ((a > x) | (b > y))) for x, y in zip(a, b, strict=True)])
        fronts[left[~dominated]] = number
        number += 1
    return fronts


@jax.jit
def novelty_by_tiles(behavior: Array, archive: Archive) -> Array:
    def tile(rows: Array) -> Array:
        squares = jnp.sum((rows[:, None] - archive.behavior) ** 2, axis=-1)
        return jnp.mean(jnp.sqrt(-jax.lax.top_k(-squares, NUM_NEIGHBORS)[0]), axis=1)

    return jax.lax.map(tile, behavior.reshape(-1, TILE, behavior.shape[1])).ravel()


def compare_fronts(num_members: int) -> dict[str, float]:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, num_members)).astype(np.float32)
    sweep = jax.jit(nondominated_fronts)
    assert np.array_equal(sweep(first, second), fronts_on_host(first, second))
    few = min(num_members, 1000)
    assert np.array_equal(sweep(first[:few], second[:few]), fronts_by_pairs(first[:few], second[:few]))
    return {
        "fronts, this library": seconds(sweep, first, second),
        "fronts, this library, one chain": seconds(sweep, first, first),
        "fronts, Python on the host": seconds(fronts_on_host, first, second),
        f"fronts, all pairs, {few:,} members": seconds(fronts_by_pairs, first[:few], second[:few], repeats=1),
    }


def compare_novelty(num_members: int, size: int) -> dict[str, float]:
    generator = np.random.default_rng(0)
    behavior = jnp.asarray(generator.normal(size=(num_members, 2)), jnp.float32)
    archive = Archive(jnp.asarray(generator.normal(size=(size, 2)), jnp.float32), jnp.array(size))
    by_tree = jax.jit(lambda behavior, archive: novelty(behavior, archive, NUM_NEIGHBORS))
    some = behavior[: 10 * TILE]
    # Of float32 squares: near neighbors in a dense archive lose some digits.
    np.testing.assert_allclose(by_tree(some, archive), novelty_by_tiles(some, archive), rtol=1e-2, atol=1e-4)
    return {
        "novelty, this library": seconds(by_tree, behavior, archive),
        "novelty, all distances on the device": seconds(novelty_by_tiles, some, archive, repeats=1)
        * num_members
        / len(some),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--archive", type=int, default=100_000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    device = f"{jax.devices()[0].device_kind}, {platform.processor() or platform.machine()}, JAX {jax.__version__}"
    load = os.getloadavg()[0]
    rows = compare_fronts(arguments.members) | compare_novelty(arguments.members, arguments.archive)
    print(f"{device}, {os.cpu_count()} cores, load {load:.1f}")
    print(f"{arguments.members:,} members, an archive of {arguments.archive:,}")
    for name, value in rows.items():
        print(f"  {name:42s} {1000 * value:10,.1f} ms")
    if arguments.output:
        arguments.output.write_text(json.dumps({"device": device, "load": load, "seconds": rows}, indent=2))


if __name__ == "__main__":
    main()
