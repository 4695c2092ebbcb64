"""Hands calls out to a pool until each has exactly one answer, whatever happens to workers.

A call that is lost with its worker is made again. One that is overdue is made again elsewhere, and whichever answer
comes first counts. Members that lose their workers time and again are tried one by one, and those that still do are
given up; so one member that crashes its process costs some processes, and not the run.
"""

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any

from evolvability.core.errors import ClusterError, TaskError
from evolvability.workers.pools import START_SECONDS, NotBegunError, Pool
from evolvability.workers.worker import Report

MAX_LOSSES = 3
"""So many workers may a call cost before it is suspected."""
AHEAD = 2
"""Calls handed out a slot: one to work on, and one so that nobody waits for us."""
TICK = 0.25
"""Seconds between looks at the clock and at the number of workers."""


@dataclass(frozen=True)
class Call:
    """One piece of work.

    Attributes:
        function: what to call.
        arguments: with what.
        pieces: the same work in smaller calls, for one that is suspected; none if it cannot be taken apart.
        join: from the pieces' results to the whole's.
        forfeit: the result to do with when the work cannot be done; None if the run cannot do without.
        size: how many members it is about.
    """

    function: Callable[..., Report]
    arguments: tuple[Any, ...]
    pieces: Callable[[], "list[Call]"] = list
    join: Callable[[list[Any]], Any] = list
    forfeit: Callable[[str], Any] | None = None
    size: int = 1


class _Waiting:
    """A call without an answer yet."""

    def __init__(self, call: Call, index: int) -> None:
        self.call, self.index = call, index
        self.losses, self.failures = 0, 0


class Dispatch:
    """Some calls on their way through a pool.

    Args:
        pool: where they are made.
        calls: what to do.
        deadline: seconds a call may take before it is made again elsewhere.
        on_report: told every answer that counts, and its call.
        ahead: calls handed out a slot.
    """

    def __init__(
        self,
        pool: Pool,
        calls: Sequence[Call],
        deadline: float,
        on_report: Callable[[Report, Call], None] = lambda report, call: None,
        ahead: int = AHEAD,
    ) -> None:
        self.pool, self.deadline, self.on_report, self.ahead = pool, deadline, on_report, ahead
        self.results: dict[int, Any] = {}
        self._to_do = deque(_Waiting(call, index) for index, call in enumerate(calls))
        self._num_calls = len(calls)
        self._out: dict[Future[Any], tuple[_Waiting, float]] = {}
        self._late: dict[Future[Any], _Waiting] = {}
        self._answered: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._looked = self._heard = time.monotonic()

    def run(self) -> list[Any]:
        """The calls' results, in the calls' order."""
        slots = self.pool.slots()
        while len(self.results) < self._num_calls:
            self._hand_out(max(self.ahead * slots, 1))
            try:
                self._take(self._answered.get(timeout=TICK))
                self._heard = time.monotonic()
            except queue.Empty:
                pass
            if time.monotonic() - self._looked > TICK:
                self._looked = time.monotonic()
                slots = self.pool.slots()
                self._look_at_the_clock(slots)
        return [self.results[index] for index in range(self._num_calls)]

    def _hand_out(self, limit: int) -> None:
        while self._to_do and len(self._out) < limit:
            waiting = self._to_do.popleft()
            if waiting.index not in self.results:
                future = self.pool.submit(waiting.call.function, *waiting.call.arguments)
                self._out[future] = waiting, time.monotonic()
                future.add_done_callback(self._answered.put)

    def _take(self, future: Future[Any]) -> None:
        """An answer. Whether it was given up before does not matter, as long as it is the first."""
        is_late = future in self._late
        waiting = self._late.pop(future) if is_late else self._out.pop(future)[0]
        if waiting.index in self.results:
            return
        try:
            report: Report = future.result()
        except (Exception, CancelledError) as error:
            if not is_late:
                self.pool.recover(error)
                if isinstance(error, NotBegunError):
                    self._to_do.appendleft(waiting)
                    return
                self._lose(waiting, f"its worker was lost: {type(error).__name__}")
            return
        if report.failure:
            waiting.failures += 1
            if waiting.failures >= MAX_LOSSES:
                raise TaskError(f"Worker {report.worker} cannot do its work: {report.failure}")
            self._to_do.append(waiting)
            return
        self.results[waiting.index] = report.result
        self.on_report(report, waiting.call)

    def _lose(self, waiting: _Waiting, reason: str, *, is_overdue: bool = False) -> None:
        """Do it again: all of it, or in pieces, or not at all."""
        waiting.losses += 1
        pieces = waiting.call.pieces() if waiting.losses >= MAX_LOSSES or is_overdue else []
        if waiting.losses < MAX_LOSSES and not pieces:
            self._to_do.appendleft(waiting)
            return
        if pieces:  # one a slot, so that it is clear which of them costs a worker
            parts = Dispatch(self.pool, pieces, self.deadline, ahead=1).run()
            self.results[waiting.index] = waiting.call.join(parts)
        elif waiting.call.forfeit is not None:
            self.results[waiting.index] = waiting.call.forfeit(f"{reason}, {waiting.losses} times")
        else:
            raise ClusterError(f"A piece of work was lost {waiting.losses} times: {reason}.")

    def _look_at_the_clock(self, slots: int) -> None:
        now = time.monotonic()
        patience = max(self.deadline, START_SECONDS)
        if not slots and now - self._heard > patience:
            raise ClusterError(f"There has been no worker for {patience:g} s.")
        # Without workers nothing is overdue: it waits.
        for future, (waiting, began) in list(self._out.items()) if slots else []:
            if now - began > self.deadline and not future.done():
                if not self.pool.give_up(future):
                    self._out[future] = waiting, now
                    continue
                self._late[future] = waiting
                del self._out[future]
                # In pieces at once: a deadline is long, and one member that hangs would take all others along.
                self._lose(waiting, f"no answer in {self.deadline:g} s", is_overdue=True)
