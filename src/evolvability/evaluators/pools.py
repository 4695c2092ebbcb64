"""Pools: ways to have functions called elsewhere.

A pool hands a function and its arguments to one of its workers and gives back a `concurrent.futures.Future`. What goes
to every worker is shared first, and sent once a worker where the pool can. `dispatch` does the rest: what to hand out
when, and what to do when an answer does not come.
"""

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from typing import Any, Protocol

from evolvability.errors import ClusterError, ConfigError
from evolvability.evaluators.units import pin


class Pool(Protocol):
    """Where functions are called."""

    def share(self, value: Any) -> Any:
        """Something to give to `submit` in place of a value that many calls need."""

    def forget(self, shared: Any) -> None:
        """No further call needs this."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function on some worker; arguments may be shared ones."""

    def give_up(self, future: Future[Any]) -> None:
        """Its answer is overdue: have nothing more to do with whoever works on it."""

    def recover(self, error: BaseException) -> None:
        """A call was lost on its way; be ready to be called again, or raise a `ClusterError`."""

    def slots(self) -> int:
        """How many calls can be worked on now; it may change, and be 0 for a while."""

    def close(self) -> None:
        """Let the workers go, if they are ours."""

    def describe(self) -> str:
        """What it is, for people."""


class InProcess:
    """No workers: everything is called here and now."""

    def share(self, value: Any) -> Any:
        """The value."""
        return value

    def forget(self, shared: Any) -> None:
        """Nothing was kept."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call it."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Never overdue."""

    def recover(self, error: BaseException) -> None:
        """Never lost."""

    def slots(self) -> int:
        """One at a time."""
        return 1

    def close(self) -> None:
        """Nothing to close."""

    def describe(self) -> str:
        """For people."""
        return "this process"


class LocalProcesses:
    """Worker processes on this machine; one that dies or hangs is replaced.

    Args:
        num_workers: how many; one a core unless given.
    """

    def __init__(self, num_workers: int | None = None) -> None:
        self.num_workers = len(os.sched_getaffinity(0)) if num_workers is None else num_workers
        if self.num_workers < 1:
            raise ConfigError(f"workers must be 1 or more, got {num_workers}.")
        self._lanes: list[_Lane] = []
        self._shared: dict[int, Any] = {}
        self._names = itertools.count()

    def share(self, value: Any) -> "_Kept":
        """Sent to each worker once, when it first needs it."""
        kept = _Kept(next(self._names))
        self._shared[kept.name] = value
        return kept

    def forget(self, shared: "_Kept") -> None:
        """Workers drop it too, when they next hear of us."""
        del self._shared[shared.name]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call it on the worker that has least to do."""
        self._lanes = [lane for lane in self._lanes if not lane.is_broken]
        while len(self._lanes) < self.num_workers:
            self._lanes.append(_Lane())
        lane: _Lane = min(self._lanes, key=lambda lane: len(lane.calls))
        return lane.submit(self._shared, function, arguments)

    def give_up(self, future: Future[Any]) -> None:
        """Kill the process; all that it had to do is lost, and done again by another."""
        for lane in self._lanes:
            if future in lane.calls:
                lane.kill()

    def recover(self, error: BaseException) -> None:
        """The processes that died are replaced when they are next needed; unless they never began."""
        _expect(error, BrokenExecutor, CancelledError)
        for lane in self._lanes:
            if lane.is_broken:
                lane.process_id  # noqa: B018 (raises)

    def slots(self) -> int:
        """One a worker."""
        return self.num_workers

    def close(self) -> None:
        """End the processes."""
        for lane in self._lanes:
            lane.kill()
        self._lanes = []

    def describe(self) -> str:
        """For people."""
        return f"{self.num_workers} local worker process{'es' * (self.num_workers != 1)}"

    @property
    def process_ids(self) -> list[int]:
        """Of the workers there are now."""
        return [lane.process_id for lane in self._lanes]


class ExecutorPool:
    """Any `concurrent.futures.Executor`: of MPI, loky, a batch system.

    An executor does not say which worker a call goes to, so what is shared travels with every call.

    Args:
        executor: the executor; it is yours to shut down.
        num_workers: how many calls it works on at a time. Unless given, all calls are handed over at once, and their
            deadline begins then.
    """

    def __init__(self, executor: Executor, num_workers: int | None = None) -> None:
        self.executor = executor
        known: Any = num_workers or getattr(executor, "_max_workers", None)
        self.num_workers: int = known or 1_000_000
        self._hanging: list[Future[Any]] = []

    def share(self, value: Any) -> Any:
        """The value."""
        return value

    def forget(self, shared: Any) -> None:
        """Nothing was kept."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have the executor call it."""
        try:
            return self.executor.submit(function, *arguments)
        except RuntimeError as error:  # broken, or shut down
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def give_up(self, future: Future[Any]) -> None:
        """An executor cannot end a call that has begun: its worker is not counted on until it answers."""
        if not future.cancel():
            self._hanging.append(future)

    def recover(self, error: BaseException) -> None:
        """An executor of somebody else's cannot be mended."""
        _expect(error, CancelledError)

    def slots(self) -> int:
        """As many as it has workers that do not hang."""
        self._hanging = [future for future in self._hanging if not future.done()]
        return max(self.num_workers - len(self._hanging), 0)

    def close(self) -> None:
        """It is not ours."""

    def describe(self) -> str:
        """For people."""
        return type(self.executor).__name__


def _expect(error: BaseException, *kinds: type[BaseException]) -> None:
    """Losses of these kinds happen; another says that the workers cannot be used at all."""
    if not isinstance(error, kinds):
        raise ClusterError(f"The workers cannot be used: {type(error).__name__}: {error}") from error


class _Kept:
    """The name of a value that workers keep."""

    def __init__(self, name: int) -> None:
        self.name = name


class _Lane:
    """One worker process and what it has to do, in order."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a forked JAX hangs
        self._executor = ProcessPoolExecutor(1, spawn, _begin)
        self._process_id = self._executor.submit(os.getpid)
        self.calls: set[Future[Any]] = set()
        self.is_broken = False
        self._has: set[int] = set()

    @property
    def process_id(self) -> int:
        """Known when the process has begun."""
        try:
            return self._process_id.result()
        except BrokenExecutor as error:
            raise ClusterError(
                "A worker process could not start; its own message is above. In a script, what starts workers must be "
                "under `if __name__ == '__main__':`, because every worker imports the script."
            ) from error

    def submit(self, shared: dict[int, Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        """Call a function after having sent what of its arguments is not there yet."""
        names = {argument.name for argument in arguments if isinstance(argument, _Kept)}
        new, old = {name: shared[name] for name in names - self._has}, self._has - shared.keys()
        try:
            future = self._executor.submit(_call, new, old, function, arguments)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        self._has = (self._has | names) - old
        self.calls.add(future)
        future.add_done_callback(self._done)
        return future

    def kill(self) -> None:
        """End the process at once, even one that is stopped."""
        with contextlib.suppress(ProcessLookupError, ClusterError):
            os.kill(self.process_id, signal.SIGKILL)
        self.is_broken = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: Future[Any]) -> None:
        self.calls.discard(future)
        if future.cancelled() or isinstance(future.exception(), BrokenExecutor):
            self.is_broken = True


_values: dict[int, Any] = {}


def _begin() -> None:
    """The first thing in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    pin()
    parent = multiprocessing.parent_process()
    if parent is not None:  # a driver that is killed takes its workers along

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def _call(new: dict[int, Any], old: set[int], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    _values.update(new)
    for name in old:
        _values.pop(name, None)
    return function(*(_values[each.name] if isinstance(each, _Kept) else each for each in arguments))
