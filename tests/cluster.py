"""What the tests of evaluators share: a simulator that keeps a diary, and a Dask cluster of real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from evolvability.tasks.base import Task
from evolvability.tasks.normalizer import Moments, no_moments
from evolvability.tasks.replay import HostArray
from evolvability.tasks.simulators import Address, Simulator, Trial, host_task
from tests.patience import attempts

ROOT = Path(__file__).parents[1]
NUM_PARAMS = 12
NUM_STEPS = 5


class Diary:
    """Builds a simulator that writes down whom it evaluates, and, if asked to, breaks down at certain members."""

    def __init__(self, path: Path, seconds: float = 0.0, at: dict[int, str] | None = None) -> None:
        self.path, self.seconds, self.at = path, seconds, at or {}

    def __call__(self) -> Simulator:
        def simulate(parameters: HostArray, address: Address, memory: Moments) -> Trial:
            with self.path.open("a") as file:  # one short line: appended whole, even by several processes
                file.write(f"{address.generation} {address.member} {os.getpid()}\n")
            trouble = self.at.get(address.member) if address.generation == 1 else None
            if trouble == "exit":
                os._exit(7)
            if trouble == "hang":
                time.sleep(1000)
            if trouble == "pause":
                for _ in attempts():
                    if self.evaluated()[address.generation, address.member] > 1:
                        break  # somebody else does it
                    time.sleep(0.01)
            if trouble == "quit":
                sys.exit(0)
            if trouble == "interrupt":
                raise KeyboardInterrupt("of its own")
            if trouble == "raise":
                raise ZeroDivisionError("of no use")
            time.sleep(self.seconds)
            noise = np.random.default_rng(address.seed()).normal(size=2)
            behavior = np.tanh(parameters[:2]) * 3 + 0.1 * noise + memory.mean[:2]
            seen = Moments(np.float64(1), parameters[:3].astype(np.float64), np.zeros(3))
            return Trial(behavior, float(behavior[0]), NUM_STEPS, seen if address.member % 5 == 0 else None)

        return simulate

    def evaluated(self) -> Counter[tuple[int, int]]:
        """How often each (generation, member) was."""
        return Counter((int(generation), int(member)) for generation, member, _ in self._lines())

    def processes(self) -> set[int]:
        """Who evaluated."""
        return {int(process) for _, _, process in self._lines()}

    def _lines(self) -> list[list[str]]:
        return [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []


def diary_task(diary: Diary) -> Task:
    start = jnp.linspace(-0.3, 0.3, NUM_PARAMS)
    return host_task("diary", ("x", "y"), lambda key: start, diary, memory=no_moments(3), shapes=((4, 2), (4,)))


class Cluster:
    """A Dask scheduler and its workers, each a process of its own, to be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",  # many deaths on purpose
        }
        self.scheduler = self._dask(
            "scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(self.file)
        )
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        while True:
            with suppress(FileNotFoundError, json.JSONDecodeError):  # not there yet, or not written to its end
                return str(json.loads(self.file.read_text())["address"])
            time.sleep(0.02)

    def add(self) -> None:
        self.workers.append(self._dask("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"))

    def signal(self, index: int, number: signal.Signals) -> None:
        """To the worker that has been there for so long; one that this ends is forgotten."""
        worker = self.workers[index]
        worker.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.workers.remove(worker)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _dask(self, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "dask", arguments[0], "--host", "127.0.0.1", *arguments[1:]]
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)


@contextmanager
def cluster_in(folder: Path, num_workers: int) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        for _ in range(num_workers):
            cluster.add()
        yield cluster
    finally:
        cluster.close()
