"""Who evaluates: a pool from whatever a user means by workers, and a watch on how they do."""

import statistics
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from evolvability.core.errors import ConfigError, missing_extra
from evolvability.workers.dispatch import Call
from evolvability.workers.pools import ExecutorPool, InProcess, LocalProcesses, Pool
from evolvability.workers.worker import Report

DEADLINE = 600.0

Workers = Any
"""None, a number of local processes, a Dask address or scheduler file or Client, an Executor, a Pool, or a Crew."""


@dataclass(frozen=True)
class Crew:
    """A pool, and how long its workers take.

    Attributes:
        pool: where work is done.
        deadline: seconds a unit of work may take before it is done again elsewhere.
        processes: of a worker: more than one makes it hand members on to processes of its own.
        seconds: of the last generation, by worker: seconds a member, one entry a unit.
    """

    pool: Pool
    deadline: float = DEADLINE
    processes: int = 1
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, report: Report, call: Call) -> None:
        """One more unit is done."""
        self.seconds.setdefault(report.worker, []).append(report.seconds / call.size)

    def status(self) -> str:
        """The workers of the last generation, in a few words.

        >>> Crew(InProcess(), seconds={"a": [1.0], "b": [1.0], "c": [3.0]}).status()
        '3 workers, slowest c: 3.0 times the median'
        """
        if len(self.seconds) < 2:
            return "1 worker" if self.seconds else ""
        means = {worker: statistics.mean(seconds) for worker, seconds in self.seconds.items()}
        slowest = max(means, key=lambda worker: means[worker])
        ratio = means[slowest] / statistics.median(means.values())
        return f"{len(means)} workers, slowest {slowest}: {ratio:.1f} times the median"


@contextmanager
def opened(workers: Workers = None, deadline: float = DEADLINE, processes: int = 1) -> Iterator[Crew]:
    """The crew that is meant; its pool is closed in the end unless it was one already."""
    if isinstance(workers, Crew):
        yield workers
        return
    pool = make_pool(workers)
    try:
        yield Crew(pool, deadline, processes)
    finally:
        if pool is not workers:
            pool.close()


def make_pool(workers: Workers = None) -> Pool:
    """The pool that is meant.

    Args:
        workers: None for this process, a number of local processes, the address of a Dask scheduler or its scheduler
            file, a `distributed.Client`, a `concurrent.futures.Executor`, or a pool.
    """
    if workers is None:
        return InProcess()
    if isinstance(workers, int) and not isinstance(workers, bool):
        return LocalProcesses(workers)
    if isinstance(workers, Executor):
        return ExecutorPool(workers)
    if isinstance(workers, str) or type(workers).__module__.partition(".")[0] == "distributed":
        return _dask_pool(workers)
    if all(hasattr(workers, name) for name in ("submit", "share", "slots")):
        pool: Pool = workers
        return pool
    raise ConfigError(
        "workers: None, a number of processes, a Dask address, a distributed.Client or a concurrent.futures.Executor "
        f"is expected, got {type(workers).__name__}."
    )


def _dask_pool(workers: Any) -> Pool:
    try:
        from evolvability.workers.dask import DaskPool, connect
    except ModuleNotFoundError as error:
        raise missing_extra("A Dask cluster", error.name, "dask") from None
    return DaskPool(connect(workers), is_ours=True) if isinstance(workers, str) else DaskPool(workers)
