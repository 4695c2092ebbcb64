"""What evaluating on workers costs: beside a bare loop, for the driver, and on the wire.

    python benchmarks/host.py [--parts throughput driver wire] [--output FILE]

- throughput: steps per second of one worker process against a bare `env.step` loop with the same policy, and of two
  workers against one. The three take turns, so that whatever else the machine does hits all of them; by CPU time, too,
  which other work on the machine touches less.
- driver: the driver's own CPU time a generation for 100, 1,000 and 10,000 members of a simulator that does nothing, on
  local processes and on a Dask cluster, there with the scheduler's beside it.
- wire: bytes that the driver, the scheduler and two workers of a Dask cluster receive a generation, from the kernel's
  count for each of their sockets, for a small network and for one of 74,246 parameters.

Writes a JSON with `--output`.
"""

import argparse
import ctypes
import json
import os
import platform
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from threadpoolctl import threadpool_limits

from evolvability.config.schema import Config, layered
from evolvability.tasks.base import Task
from evolvability.tasks.gymnasium import Made, gymnasium_task
from evolvability.tasks.normalizer import LIMIT
from evolvability.tasks.options import GymnasiumOptions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.simulators import Address, Simulator, Trial, host_task
from evolvability.training.evolution import Evolution
from evolvability.workers.dask import DaskPool
from evolvability.workers.local_processes import LocalProcesses
from evolvability.workers.pools import Pool

LARGE, SMALL = 74_246, 100
TCP_INFO, BYTES_RECEIVED = 11, 128  # of Linux: the option, and the offset of the count in it


def nothing() -> Simulator:
    """A simulator that does nothing."""

    def simulate(parameters: HostArray, address: Address, memory: Any) -> Trial:
        return Trial(parameters[:2], 0.0, 1)

    return simulate


def nothing_task(num_params: int) -> Task:
    return host_task("nothing", ("x", "y"), lambda key: jax.random.normal(key, (num_params,)), nothing)


def generations(config: Config, task: Task, pool: Pool, around: Callable[[], Any]) -> list[Any]:
    """What `around` says after every generation, the first of which compiles."""
    evolution = Evolution(config, task, pool)
    return [around() for _ in evolution.generations(evolution.start())]


# Throughput


def bare_loop(env: Any, policy: Any, num_steps: int) -> tuple[float, float]:
    """Steps per second, and per CPU second, of an environment and a policy that sees scaled observations."""
    low, high = env.action_space.low, env.action_space.high
    mean, std = np.zeros(env.observation_space.shape, np.float32), np.ones(env.observation_space.shape, np.float32)
    observation, _ = env.reset(seed=0)
    began, cpu_began = time.perf_counter(), time.process_time()
    for _ in range(num_steps):
        scaled = ((observation.astype(np.float32) - mean) / std).clip(-LIMIT, LIMIT)
        observation, _, terminated, truncated, _ = env.step(policy(scaled, ())[0].clip(low, high))
        if terminated or truncated:
            observation, _ = env.reset()
    return num_steps / (time.perf_counter() - began), num_steps / (time.process_time() - cpu_began)


def cpu_seconds(pool: LocalProcesses) -> float:
    """That the workers have used so far."""
    stats = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in pool.process_ids]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def throughput(env_id: str, num_steps: int, rounds: int) -> dict[str, Any]:
    options = GymnasiumOptions(hidden=256, num_steps=num_steps, behavior="observation:0")
    task = gymnasium_task(Made(env_id, {}), options)
    config = layered("python:host", values={"population_size": 16, "generations": 1_000_000})
    env: Any = Made(env_id, {})()
    assert task.network is not None
    policy = task.network.member(np.asarray(task.init(jax.random.key(0))))
    pools = {"one": LocalProcesses(1), "two": LocalProcesses(2)}
    runs = {name: Evolution(config, task, pool) for name, pool in pools.items()}
    loops = {name: run.generations(run.start()) for name, run in runs.items()}
    for loop in loops.values():
        next(loop)  # compiles
    rows: list[dict[str, float]] = []
    for _ in range(rounds):
        row: dict[str, float] = {}
        with threadpool_limits(1, "blas"):
            row["bare"], row["bare, a CPU second"] = bare_loop(env, policy, num_steps * 8)
        for name, loop in loops.items():
            before = cpu_seconds(pools[name])
            _, ((metrics,)), _ = next(loop)
            row[name] = metrics["num_steps"] / metrics["seconds"]
            row[f"{name}, a CPU second"] = metrics["num_steps"] / (cpu_seconds(pools[name]) - before)
        rows.append(row)
        print({name: round(value) for name, value in row.items()}, flush=True)
    for pool in pools.values():
        pool.close()

    def ratio(name: str, other: str) -> float:
        return statistics.median(row[name] / row[other] for row in rows)

    return {
        "env": env_id,
        "load": os.getloadavg(),
        "steps per second, medians": {name: statistics.median(row[name] for row in rows) for name in rows[0]},
        "one worker / bare loop": ratio("one", "bare"),
        "one worker / bare loop, by CPU time": ratio("one, a CPU second", "bare, a CPU second"),
        "two workers / one": ratio("two", "one"),
        "two workers / one, by CPU time": 2 * ratio("two, a CPU second", "one, a CPU second"),
        "rounds": rows,
    }


# The driver's time


def driver(sizes: list[int], num_params: int, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for kind in ("local processes", "dask"):
        for size in sizes:
            config = layered("python:host", values={"population_size": size, "generations": rounds + 1})
            with _pool(kind) as (pool, look):
                times = generations(config, nothing_task(num_params), pool, look)
            used = np.median(np.diff(times, axis=0), axis=0).tolist()
            row = {"workers": kind, "members": size, "seconds": used[0], "microseconds a member": used[0] / size * 1e6}
            rows.append(row if kind != "dask" else row | {"scheduler's seconds": used[1]})
            print(rows[-1], flush=True)
    return rows


@contextmanager
def _pool(kind: str) -> Iterator[tuple[Pool, Callable[[], list[float]]]]:
    """A pool, and what tells the CPU time of the driver and of the scheduler so far."""
    if kind == "local processes":
        pool = LocalProcesses(2)
        yield pool, lambda: [time.process_time()]
        pool.close()
    else:
        with external_cluster(2) as client:
            yield DaskPool(client), lambda: [time.process_time(), client.run_on_scheduler(time.process_time)]


@contextmanager
def external_cluster(num_workers: int) -> Iterator[Any]:
    """A scheduler and workers in processes of their own, so that the driver's CPU time is its own alone."""
    import subprocess
    import sys
    import tempfile

    from distributed import Client

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        dask = [sys.executable, "-m", "dask"]
        shared = ["--host", "127.0.0.1", "--scheduler-file", str(file)]
        scheduler = [*dask, "scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0", *shared]
        worker = [*dask, "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *shared]
        processes = [subprocess.Popen(command, **quiet) for command in [scheduler, *[worker] * num_workers]]
        try:
            with Client(scheduler_file=str(file), timeout=60) as client:
                client.wait_for_workers(num_workers, timeout=60)
                yield client
        finally:
            for process in processes:
                process.kill()
                process.wait()


# Bytes on the wire


def bytes_received() -> int:
    """By this process over TCP, on all the connections it has now."""
    total = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if not str(descriptor.readlink()).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(descriptor.name))) as connection:
                if connection.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                info = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 192)
                total += ctypes.c_uint64.from_buffer_copy(info, BYTES_RECEIVED).value
        except OSError:  # closed meanwhile, or not TCP
            continue
    return total


def wire(size: int, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for num_params in (SMALL, LARGE):
        config = layered("python:host", values={"population_size": size, "generations": rounds + 1})
        with external_cluster(2) as client:

            def look(client: Any = client) -> list[int]:
                workers = client.run(bytes_received)
                return [bytes_received(), client.run_on_scheduler(bytes_received), *workers.values()]

            found = generations(config, nothing_task(num_params), DaskPool(client), look)
        received = np.median(np.diff(found, axis=0), axis=0)
        rows.append(
            {
                "members": size,
                "parameters": num_params,
                "bytes of a center": 4 * num_params,
                "bytes of all noise": 2 * size * num_params,
                "driver": int(received[0]),
                "scheduler": int(received[1]),
                "worker, each": int(np.mean(received[2:])),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["throughput", "driver", "wire"])
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--num-steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--members", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}"}
    if "throughput" in options.parts:
        result["throughput"] = throughput(options.env, options.num_steps, options.rounds)
    if "driver" in options.parts:
        result["driver"] = driver(options.members, SMALL, 3)
    if "wire" in options.parts:
        result["wire"] = wire(1_000, 3)
    text = json.dumps(result, indent=2)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
