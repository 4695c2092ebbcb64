"""A pool on a Dask cluster, of any kind: whatever a `distributed.Client` can connect to."""

import asyncio
import itertools
import os
import socket
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

from distributed import Client, WorkerPlugin
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from evolvability.core.errors import ClusterError, ConfigError
from evolvability.workers.pools import START_SECONDS
from evolvability.workers.worker import pin

GONE = (OSError, CommClosedError, TimeoutError, CancelledError)
LOOK_SECONDS = 1.0
"""How often the scheduler is asked for its workers."""


def connect(where: str) -> Client:
    """A client of the scheduler at an address, or of the one that wrote a scheduler file."""
    is_address = "://" in where
    if not is_address and not Path(where).is_file():
        raise ConfigError(
            f"--dask: an address such as tcp://host:8786 or a scheduler file is expected, got '{where}', "
            "and there is no such file."
        )
    try:
        return Client(where) if is_address else Client(scheduler_file=where)
    except (OSError, ValueError, TypeError, TimeoutError) as error:  # TypeError: of TLS without certificates
        raise ConfigError(
            f"--dask: no scheduler answers at {where} ({str(error) or type(error).__name__}). "
            "Start one with: dask scheduler"
        ) from None


class DaskPool:
    """Workers of a Dask cluster; they may come and go.

    Args:
        client: the cluster.
        is_ours: whether to close the client in the end.
    """

    def __init__(self, client: Client, *, is_ours: bool = False) -> None:
        if client.asynchronous:
            raise ConfigError("The Dask client must not be asynchronous: make it with Client(..., asynchronous=False).")
        self.client, self.is_ours = client, is_ours
        self._values: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        self._keys: dict[Future[Any], str] = {}
        self._names = (f"evolvability-{uuid.uuid4().hex[:8]}-{number}" for number in itertools.count())
        self._shunned: dict[str, Future[Any]] = {}
        self._nthreads: dict[str, int] = {}
        self._joined: dict[str, float] = {}
        self._known: set[str] = set()
        """Workers that have answered before."""
        self._looked = float("-inf")
        client.register_plugin(_Pinned())

    def share(self, value: Any) -> "_Shared":
        """It goes to one worker, and from there from worker to worker, once each."""
        shared = _Shared(next(self._names))
        self._values[shared.name] = value
        return shared

    def forget(self, shared: "_Shared") -> None:
        """Workers drop it."""
        del self._values[shared.name]
        self._shared.pop(shared.name, None)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have the scheduler choose a worker."""
        self._connected()
        key = next(self._names)
        where = self._trusted()
        given = (self._on_cluster(each, where) if isinstance(each, _Shared) else each for each in arguments)
        task = self.client.submit(function, *given, key=key, pure=False, **where)
        # Not Client.get_executor: its futures fail when a worker dies just after it has answered.
        loop: Any = self.client.loop
        future: Future[Any] = asyncio.run_coroutine_threadsafe(_answer(task), loop.asyncio_loop)
        self._keys[future] = key
        future.add_done_callback(self._answered)
        return future

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Workers come without being asked for, and get ready at their first call."""

    def give_up(self, future: Future[Any]) -> bool:
        """Shun its worker until it answers after all. What is shared may be stuck there as well: it is sent anew."""
        try:
            processing = self.client.processing()
        except GONE:
            return False
        holders = [worker for worker, keys in processing.items() if self._keys.get(future) in keys]
        now = time.monotonic()
        if holders and all(
            worker not in self._known and now - self._joined.get(worker, now) < START_SECONDS for worker in holders
        ):
            return False
        self._shunned.update(dict.fromkeys(holders, future))
        self._shared.clear()
        return True

    def recover(self, error: BaseException) -> None:
        """Wait for the scheduler to come back, if it has gone."""
        if not isinstance(error, (KilledWorker, *GONE)):
            raise ClusterError(f"The Dask workers cannot be used: {type(error).__name__}: {error}") from error
        self._shared.clear()
        self._connected()

    def slots(self) -> int:
        """One a worker's thread."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._connected()
            try:
                self._nthreads = self.client.nthreads()
            except GONE:  # noticed by the client in a moment
                return 0
            self._looked = time.monotonic()
            self._joined = {worker: self._joined.get(worker, self._looked) for worker in self._nthreads}
            self._shunned = {
                worker: future
                for worker, future in self._shunned.items()
                if worker in self._nthreads and not future.done()
            }
        return sum(threads for worker, threads in self._nthreads.items() if worker not in self._shunned)

    def close(self) -> None:
        """Drop what we had there; the cluster goes on."""
        self._shared.clear()
        if self.is_ours:
            self.client.close()

    def describe(self) -> str:
        """For people."""
        num_workers = len(self.client.nthreads())
        text = f"a Dask cluster of {num_workers} worker{'s' * (num_workers != 1)}"
        return f"{text} ({self.client.dashboard_link})" if self.client.dashboard_link else text

    def _answered(self, future: Future[Any]) -> None:
        self._keys.pop(future, None)
        if not future.cancelled() and future.exception() is None:
            self._known.add(future.result().worker)

    def _connected(self) -> None:
        """Wait while the client looks for its scheduler, as long as that is configured to take."""
        while self.client.status == "connecting":
            time.sleep(0.02)
        if self.client.status != "running":
            raise ClusterError("The Dask scheduler has gone away.")

    def _trusted(self) -> dict[str, Any]:
        """Restrictions that keep work from shunned workers while there are others."""
        trusted = [worker for worker in self._nthreads if worker not in self._shunned]
        return {"workers": trusted, "allow_other_workers": True} if self._shunned and trusted else {}

    def _on_cluster(self, shared: "_Shared", where: dict[str, Any]) -> Any:
        """A Dask future. It is a task that returns the value, so a cluster that loses it can make it again."""
        if shared.name not in self._shared:
            value = self._values[shared.name]
            self._shared[shared.name] = self.client.submit(_itself, value, key=next(self._names), **where)
        return self._shared[shared.name]


class _Shared:
    def __init__(self, name: str) -> None:
        self.name = name


class _Pinned(WorkerPlugin):
    """Makes every process of the cluster a worker of ours, but not the driver's own, where workers may be threads."""

    name = "evolvability-pinned"

    def __init__(self) -> None:
        self.driver = (socket.gethostname(), os.getpid())

    def setup(self, worker: Any) -> None:
        if (socket.gethostname(), os.getpid()) != self.driver:
            pin()


async def _answer(task: Any) -> Any:
    return await task


def _itself(value: Any) -> Any:
    return value
