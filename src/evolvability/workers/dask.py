"""A pool on a Dask cluster, of any kind: whatever a `distributed.Client` can connect to."""

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import distributed
from distributed import Client
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from evolvability.core.errors import ClusterError, ConfigError, UserError, described, in_words
from evolvability.workers.pools import DEADLINE, START_SECONDS, LostError, OverdueError, Pool
from evolvability.workers.worker import Broadcast, Recipe

GONE = (OSError, CommClosedError, TimeoutError, CancelledError, asyncio.CancelledError)
"""What a client raises while its scheduler is away."""
UNBEGUN_TIMES = 3
"""So many times the time of one call may pass until a worker comes to it: others are in front of it."""


def connect(where: str) -> Client:
    """A client of the scheduler at an address, or of the one that wrote a scheduler file."""
    is_address, what = "://" in where, in_words("workers", "--dask")
    if not is_address and not Path(where).is_file():
        raise ConfigError(
            f"{what}: tcp://host:8786 or a scheduler file is expected, and there is no such file as '{where}'."
        )
    try:
        return Client(where) if is_address else Client(scheduler_file=where)
    except (OSError, ValueError, TypeError, TimeoutError) as error:  # TypeError: of TLS without certificates
        raise ConfigError(
            f"{what}: no scheduler answers at {where} ({str(error) or type(error).__name__}). "
            "Start one with: dask scheduler"
        ) from None


class DaskPool(Pool):
    """Workers of a Dask cluster; they may come and go. A client that you bring is yours to close."""

    def __init__(self, cluster: Client | str, deadline: float = DEADLINE) -> None:
        self.client, self.is_ours = (connect(cluster), True) if isinstance(cluster, str) else (cluster, False)
        if self.client.asynchronous:
            raise ConfigError("The Dask client must not be asynchronous: make it with Client(..., asynchronous=False).")
        self._nthreads: dict[str, int] = self.client.nthreads()
        link = self.client.dashboard_link
        text = f"a Dask cluster of {len(self._nthreads)} worker{'s' * (len(self._nthreads) != 1)}"
        super().__init__(f"{text} ({link})" if link else text, deadline)
        # Dask's futures of recipes and broadcasts: workers drop them when they are forgotten here.
        self._sent: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._shunned: dict[str, Any] = {}  # workers that hang, and the Dask future each owes us

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have the scheduler choose a worker, preferably one that does not hang."""
        # A client that has lost its scheduler looks for it by itself.
        self._wait_for_scheduler()
        trusted = self._trusted()
        # A preference only: if none of the trusted is left, a call may still go to one that hangs.
        where = {"workers": trusted, "allow_other_workers": True} if self._shunned and trusted else {}
        given = [self._on_cluster(each, where) if isinstance(each, (Recipe, Broadcast)) else each for each in arguments]
        # Under a key of its own and not pure: a call that is made again must be worked on again.
        task = self.client.submit(function, *given, key=_new_key(), pure=False, **where)
        # Not Client.get_executor: its futures fail when a worker dies just after it has answered.
        loop: Any = self.client.loop
        keys = {task.key, *(each.key for each in given if isinstance(each, distributed.Future))}
        # On the client's own event loop, so that waiting takes no thread per call.
        return asyncio.run_coroutine_threadsafe(self._answer(task, keys), loop.asyncio_loop)

    def slots(self) -> int:
        """One per thread of a worker that does not hang."""
        self._wait_for_scheduler()
        try:
            self._nthreads = self.client.nthreads()
        except GONE:  # noticed by the client in a moment
            return 0
        for worker, task in list(self._shunned.items()):  # a copy: Dask's thread may shun another meanwhile
            if worker not in self._nthreads or task.done():
                del self._shunned[worker]
        return sum(self._nthreads[worker] for worker in self._trusted())

    def close(self) -> None:
        """Drop what we had there; the cluster goes on."""
        self._sent.clear()
        if self.is_ours:
            self.client.close()

    def _trusted(self) -> list[str]:
        return [worker for worker in self._nthreads if worker not in self._shunned]

    def _wait_for_scheduler(self) -> None:
        """While the client looks for it, which takes as long as Dask is configured to."""
        while self.client.status == "connecting":
            time.sleep(0.02)
        if self.client.status != "running":
            raise ClusterError("The Dask scheduler has gone away.")

    def _on_cluster(self, value: Recipe | Broadcast, where: dict[str, Any]) -> Any:
        """A Dask future of it: it goes to one worker, and from there from worker to worker, once each.

        It is a task that returns the value, so a cluster that loses it can make it again.
        """
        future = self._sent.get(value)
        if future is None:
            future = self._sent[value] = self.client.submit(lambda given: given, value, key=_new_key(), **where)
        return future

    async def _answer(self, task: Any, keys: set[Any]) -> Any:
        """Of a worker; keys: of the call and of what it waits for.

        Dask itself makes a call again whose worker dies, up to its allowed-failures.
        """
        answer = asyncio.ensure_future(task)
        answer.add_done_callback(lambda late: late.cancelled() or late.exception())  # or asyncio complains of late ones
        try:
            # Not asyncio.wait_for, which would cancel an answer that is merely late.
            for times in itertools.count(1):
                # The worker may be a new one, which imports, builds and compiles.
                if (await asyncio.wait({answer}, timeout=self.deadline + START_SECONDS))[0]:
                    break
                await self._check_excuse(task, keys, times)
            return answer.result()
        except (LostError, UserError):
            raise
        except (KilledWorker, *GONE) as error:
            self._sent.clear()  # a scheduler that comes back does not know what another one had
            raise LostError(f"its worker was lost: {type(error).__name__}") from None
        except Exception as error:
            raise ClusterError(f"The Dask workers cannot be used: {described(error)}") from error

    async def _check_excuse(self, task: Any, keys: set[Any], times: int) -> None:
        """Wait for an answer once more, or shun its worker until it answers; of a call that nobody began, give up."""
        scheduler: Any = self.client.scheduler
        processing = await scheduler.processing(workers=None)
        holders = {worker for worker, own in processing.items() if not keys.isdisjoint(own)}
        # A scheduler whose workers died may have lost sight of a call, which then waits for ever.
        is_begun, seconds = bool(holders) or task.done(), times * (self.deadline + START_SECONDS)
        if not self._trusted() or not (is_begun or times >= UNBEGUN_TIMES):
            return  # there is nobody else to do it, or nobody has come to it
        self._sent.clear()  # what is shared may be stuck there, or forgotten: it is sent anew
        if not is_begun:
            raise LostError(f"no worker came to it in {seconds:.0f} s")
        self._shunned.update(dict.fromkeys(holders, task))
        raise OverdueError(seconds)


def _new_key() -> str:
    """Never one that a scheduler may remember."""
    return f"evolvability-{uuid.uuid4().hex}"
