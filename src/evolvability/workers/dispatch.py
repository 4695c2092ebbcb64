"""Hands calls out to a pool until each has exactly one answer, whatever happens to workers.

A call that is lost is made again. Members that lose their workers time and again are tried one by one, and those that
still do are given up; so one member that crashes its process costs some processes, and not the run.
"""

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from evolvability.core.errors import ClusterError
from evolvability.tasks.simulators import joined
from evolvability.workers.pools import START_SECONDS, LostError, OverdueError, Pool
from evolvability.workers.worker import Report, work

MAX_LOSSES = 3
"""So many workers may a call cost before it is suspected."""
AHEAD = 2
"""Calls handed out per slot: one to work on, and one so that nobody waits for us."""
TICK = 1.0
"""Seconds between looks at the number of workers."""


@dataclass
class Call:
    """One piece of work."""

    arguments: tuple[Any, ...]  # of `worker.work`
    # The same work in smaller calls, for one that is suspected; none if it cannot be taken apart
    pieces: Callable[[], "list[Call]"] = list
    # The result to do with when the work cannot be done; None if the run cannot do without
    forfeit: Callable[[str], Any] | None = None
    losses: int = 0  # workers that it has cost


class Dispatch:
    """Some calls on their way through a pool.

    Args:
        pool: where they are made.
        calls: what to do.
        ahead: calls handed out per slot.
    """

    def __init__(self, pool: Pool, calls: Sequence[Call], ahead: int = AHEAD) -> None:
        self.pool, self.calls, self.ahead = pool, calls, ahead
        self._reports: dict[int, Report] = {}
        self._to_do = deque(range(len(calls)))
        self._out: dict[Future[Report], int] = {}
        self._answered: queue.SimpleQueue[Future[Report]] = queue.SimpleQueue()

    def run(self) -> list[Report]:
        """The answers to the calls, in the calls' order, whatever order they came in."""
        # Workers come and go, so their number is asked for again at every tick.
        slots, looked = self.pool.slots(), time.monotonic()
        heard = looked
        while len(self._reports) < len(self.calls):
            # At least one, also while there is no worker: it waits for whoever comes.
            self._hand_out(max(self.ahead * slots, 1))
            try:
                self._take(self._answered.get(timeout=TICK))
                heard = time.monotonic()
            except queue.Empty:
                patience = max(self.pool.deadline, START_SECONDS)
                # With workers there is no limit here: each call has the pool's deadline.
                if not slots and time.monotonic() - heard > patience:
                    raise ClusterError(f"There has been no worker for {patience:g} s.") from None
            if time.monotonic() - looked > TICK:
                slots, looked = self.pool.slots(), time.monotonic()
        return [self._reports[index] for index in range(len(self.calls))]

    def _hand_out(self, limit: int) -> None:
        while self._to_do and len(self._out) < limit:
            index = self._to_do.popleft()
            future = self.pool.submit(work, *self.calls[index].arguments)
            self._out[future] = index
            # Called on whatever thread the answer comes in: the queue brings it to this one.
            future.add_done_callback(self._answered.put)

    def _take(self, future: Future[Report]) -> None:
        # A call that is made again has a new future, so that each index is answered once.
        index = self._out.pop(future)
        try:
            self._reports[index] = future.result()
        except LostError as error:
            self._lose(index, error)

    def _lose(self, index: int, error: LostError) -> None:
        """Do it again: all of it, or in pieces, or not at all."""
        call = self.calls[index]
        call.losses += 1
        # Overdue, in pieces at once: a deadline is long, and one member that hangs would take all others along.
        is_suspect = call.losses >= MAX_LOSSES or isinstance(error, OverdueError)
        if is_suspect and (pieces := call.pieces()):
            # One per slot, so that it is clear which of them costs a worker. Other calls' answers wait in their queue.
            reports = Dispatch(self.pool, pieces, ahead=1).run()
            # Without a worker's name: it was done by several.
            self._reports[index] = Report(joined(report.result for report in reports))
        elif call.losses < MAX_LOSSES:
            self._to_do.appendleft(index)
        elif call.forfeit is not None:
            self._reports[index] = Report(call.forfeit(f"{error}, {call.losses} times"))
        else:
            raise ClusterError(f"A piece of work was lost {call.losses} times: {error}.")
