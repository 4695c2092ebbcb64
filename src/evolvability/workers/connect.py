"""A pool from whatever a user means by workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evolvability.core.errors import ConfigError, missing_extra
from evolvability.workers.local_processes import LocalProcesses
from evolvability.workers.pools import DEADLINE, Pool

Workers = Any
"""None or 0 for this process, a number of local processes, the address of a Dask scheduler or its scheduler file, a
`distributed.Client`, or a Pool, which has a deadline of its own."""


@contextmanager
def opened(workers: Workers = None, deadline: float = DEADLINE) -> Iterator[Pool]:
    """The pool that is meant; it is closed in the end unless it was one already."""
    pool = make_pool(workers, deadline)
    try:
        yield pool
    finally:
        if pool is not workers:
            pool.close()


def are_none(workers: Workers) -> bool:
    """Whether everything is to be done in this process."""
    return workers is None or (type(workers) is int and workers == 0)  # False is an int, too


def make_pool(workers: Workers = None, deadline: float = DEADLINE) -> Pool:
    """The pool that is meant; a unit of work that takes more seconds than the deadline is done again elsewhere."""
    if isinstance(workers, Pool):
        return workers
    if are_none(workers):
        return Pool()
    # True is an int, but no number of processes.
    if isinstance(workers, int) and not isinstance(workers, bool):
        return LocalProcesses(workers, deadline)
    # By its module's name, so that Dask is imported by those alone who use it.
    if isinstance(workers, str) or type(workers).__module__.partition(".")[0] == "distributed":
        try:
            from evolvability.workers.dask import DaskPool
        except ModuleNotFoundError as error:
            raise missing_extra("A Dask cluster", error.name, "dask") from None
        return DaskPool(workers, deadline)
    raise ConfigError(
        "workers: None, a number of processes, a Dask address or a distributed.Client is expected, "
        f"got {type(workers).__name__}."
    )
