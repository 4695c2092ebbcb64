"""Pools: ways to have functions called elsewhere.

A pool hands a function and its arguments to one of its workers and gives back a `concurrent.futures.Future`. What goes
to every worker is shared first, and sent once a worker where the pool can. `dispatch` does the rest: what to hand out
when, and what to do when an answer does not come.
"""

import contextlib
import itertools
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from typing import Any, NamedTuple, Protocol

from evolvability.core.cores import num_cores
from evolvability.core.errors import ClusterError, ConfigError
from evolvability.workers.worker import pin

MAX_LOST_AT_START = 3
START_SECONDS = 120.0
"""How long a worker may take to get ready, whatever the deadline: it imports, builds and compiles."""


class NotBegunError(Exception):
    """A call whose worker was lost before it came to it: it is not to blame."""


class Pool(Protocol):
    """Where functions are called."""

    def share(self, value: Any) -> Any:
        """Something to give to `submit` in place of a value that many calls need."""

    def forget(self, shared: Any) -> None:
        """No further call needs this."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function on some worker; arguments may be shared ones."""

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> None:
        """What a new worker may be called with first, so that deadlines are about work and not about getting ready."""

    def give_up(self, future: Future[Any]) -> bool:
        """Its answer is overdue: have nothing more to do with its worker. False if that one is only getting ready."""

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

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Nobody new will come."""

    def give_up(self, future: Future[Any]) -> bool:
        """Never overdue."""
        return True

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
        self.num_workers = num_cores() if num_workers is None else num_workers
        if self.num_workers < 1:
            raise ConfigError(f"workers must be 1 or more, got {num_workers}.")
        self._lanes: list[_Lane] = []
        self._shared: dict[int, Any] = {}
        self._names = itertools.count()
        self._first: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self._lost_at_start = 0

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
        self._drop_broken()
        while len(self._lanes) < self.num_workers:
            self._lanes.append(_Lane())
            if self._first is not None and all(each.name in self._shared for each in self._first[1]):
                self._lanes[-1].first = self._lanes[-1].submit(self._shared, *self._first)
        lane: _Lane = min(self._lanes, key=lambda lane: len(lane.calls))
        return lane.submit(self._shared, function, arguments)

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> None:
        """The first call of every new process."""
        self._first = function, arguments

    def give_up(self, future: Future[Any]) -> bool:
        """Kill the process; all that it had to do is lost, and done again by another."""
        for lane in self._lanes:
            if future in lane.calls:
                if not lane.is_overdue(future):
                    return False
                lane.kill()
        return True

    def recover(self, error: BaseException) -> None:
        """The processes that died are replaced when they are next needed; unless they die before they are ready."""
        _expect(error, BrokenExecutor, NotBegunError)
        self._drop_broken()

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

    def _drop_broken(self) -> None:
        for lane in [lane for lane in self._lanes if lane.is_broken]:
            self._lanes.remove(lane)
            lane.process_id  # noqa: B018 (raises if it never began)
            self._lost_at_start = 0 if lane.was_ready else self._lost_at_start + 1
            if self._lost_at_start > MAX_LOST_AT_START:
                raise ClusterError("Worker processes die while they build the simulator; their own message is above.")

    @property
    def process_ids(self) -> list[int]:
        """Of the workers there are now."""
        return [lane.process_id for lane in self._lanes]


class ExecutorPool:
    """Any `concurrent.futures.Executor`: of MPI, loky, a batch system.

    An executor does not say which worker a call goes to. So calls name what is shared, and a call whose worker turns
    out not to have it is made again with the value: about as many times as there are workers.

    Args:
        executor: the executor; it is yours to shut down.
        num_workers: how many calls it works on at a time. Unless given, all calls are handed over at once, and their
            deadline begins then.
    """

    def __init__(self, executor: Executor, num_workers: int | None = None) -> None:
        known: Any = num_workers or getattr(executor, "_max_workers", None)
        self.executor = executor
        self.num_workers: int = known or 1_000_000
        self._shared: dict[int, Any] = {}
        self._hanging: list[Future[Any]] = []
        self._names = itertools.count(random.getrandbits(64))  # a worker may know another pool's values, too

    def share(self, value: Any) -> "_Kept":
        """Sent to workers that say they do not have it."""
        kept = _Kept(next(self._names))
        self._shared[kept.name] = value
        return kept

    def forget(self, shared: "_Kept") -> None:
        """Workers keep the last few values."""
        del self._shared[shared.name]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have the executor call it."""
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()

        def call(new: dict[int, Any]) -> None:
            try:
                self.executor.submit(_call_if_known, new, function, arguments).add_done_callback(take)
            except RuntimeError as error:  # broken, or shut down
                answer.set_exception(error)

        def take(done: Future[Any]) -> None:
            if done.cancelled():
                answer.set_exception(CancelledError())
            elif (error := done.exception()) is not None:
                answer.set_exception(error)
            elif isinstance(done.result(), _Missing):
                call({name: self._shared[name] for name in done.result().names if name in self._shared})
            else:
                answer.set_result(done.result())

        call({})
        return answer

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> None:
        """It is not known which worker is new."""

    def give_up(self, future: Future[Any]) -> bool:
        """An executor cannot end a call that has begun: its worker is not counted on until it answers."""
        self._hanging.append(future)
        return True

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
        self.calls: dict[Future[Any], None] = {}  # in their order
        self.first: Future[Any] | None = None
        self.began = time.monotonic()
        self.is_broken = False
        self._has: set[int] = set()
        self._ahead: dict[Future[Any], Future[Any]] = {}  # of a call that waits, which one was being worked on

    def is_overdue(self, call: Future[Any]) -> bool:
        """Whether the process hangs, when a call had no answer by its deadline; asked again a deadline later if not.

        It does not while it gets ready, nor while it works on another call, unless it is still the same one.
        """
        if not self.is_ready:
            return time.monotonic() - self.began > START_SECONDS
        first, before = next(iter(self.calls)), self._ahead.get(call)
        self._ahead[call] = first
        return first is call or first is before

    @property
    def is_ready(self) -> bool:
        """Whether the process runs, and has answered its first call."""
        return self._process_id.done() and (self.first is None or self.first.done())

    @property
    def was_ready(self) -> bool:
        """Whether it was before it broke."""
        return self.first is None or (self.first.done() and self.first.exception() is None)

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
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        self.calls[answer] = None
        self._has = (self._has | names) - old
        try:
            self._executor.submit(_call, new, old, function, arguments).add_done_callback(
                lambda done: self._take(done, answer)
            )
        except BrokenExecutor:
            self.calls.pop(answer, None)
            self.is_broken = True
            answer.set_exception(NotBegunError())
        return answer

    def kill(self) -> None:
        """End the process at once, even one that is stopped."""
        with contextlib.suppress(ProcessLookupError, ClusterError):
            os.kill(self.process_id, signal.SIGKILL)
        self.is_broken = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _take(self, done: Future[Any], answer: Future[Any]) -> None:
        self.calls.pop(answer, None)
        error = NotBegunError() if done.cancelled() else done.exception()
        if isinstance(error, BrokenExecutor):
            # Calls are made, and lost, in the order they came: the first was being worked on, the others were not.
            error, self.is_broken = NotBegunError() if self.is_broken else error, True
        if error is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)


_values: dict[int, Any] = {}
_lock = threading.Lock()


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


class _Missing(NamedTuple):
    """A worker's answer to a call with shared values that it does not have."""

    names: set[int]


_KEPT = 16
"""Values that a worker keeps: a recipe, and a center for each of some seeds."""


def _call_if_known(new: dict[int, Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with _lock:  # workers may be threads
        _values.update(new)
        missing = {each.name for each in arguments if isinstance(each, _Kept)} - _values.keys()
        if missing:
            return _Missing(missing | new.keys())
        given = [_values[each.name] if isinstance(each, _Kept) else each for each in arguments]
        for name in [*_values][:-_KEPT]:
            del _values[name]
    return function(*given)


def _call(new: dict[int, Any], old: set[int], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    _values.update(new)
    for name in old:
        _values.pop(name, None)
    return function(*(_values[each.name] if isinstance(each, _Kept) else each for each in arguments))
