"""Hands calls out to a pool until each has exactly one answer, whatever happens to workers.

A call that is lost is made again. Members that lose their workers time and again are tried one by one, and those that
still do are given up; so one member that crashes its process costs some processes, and not the run.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from evolvability.core.errors import ClusterError
from evolvability.tasks.simulators import joined
from evolvability.workers.pools import START_SECONDS, LostError, OverdueError, Pool
from evolvability.workers.worker import Report, work

MAX_LOSSES = 3  # so many workers may a call cost before it is suspected
AHEAD = 2  # calls handed out per slot: one to work on, and one so that nobody waits for us
TICK = 1.0  # seconds between looks at the number of workers


@dataclass
class Call:
    """One piece of work."""

    arguments: tuple[Any, ...]  # of `worker.work`
    # The same work in smaller calls, for one that is suspected; none if it cannot be taken apart
    pieces: Callable[[], "list[Call]"] = list
    # The result to do with when the work cannot be done; None if the run cannot do without
    forfeit: Callable[[str], Any] | None = None
    losses: int = 0  # workers that it has cost


def dispatch(pool: Pool, calls: Sequence[Call], ahead: int = AHEAD) -> list[Report]:
    """The answers to the calls, in the calls' order, whatever order they came in; so many are handed out per slot."""
    reports: dict[int, Report] = {}
    to_do = deque(range(len(calls)))
    out: dict[Future[Report], int] = {}
    # Workers come and go, so their number is asked for again at every tick.
    slots, looked = pool.slots(), time.monotonic()
    heard = looked
    while len(reports) < len(calls):
        # At least one, also while there is no worker: it waits for whoever comes.
        while to_do and len(out) < max(ahead * slots, 1):
            index = to_do.popleft()
            out[pool.submit(work, *calls[index].arguments)] = index
        for future in wait(out, TICK, FIRST_COMPLETED).done:
            # A call that is made again has a new future, so that each index is answered once.
            index, heard = out.pop(future), time.monotonic()
            try:
                reports[index] = future.result()
            except LostError as error:
                if (report := _in_place_of(calls[index], pool, error)) is None:
                    to_do.appendleft(index)
                else:
                    reports[index] = report
        patience = max(pool.deadline, START_SECONDS)
        # With workers there is no limit here: each call has the pool's deadline.
        if not slots and time.monotonic() - heard > patience:
            raise ClusterError(f"There has been no worker for {patience:g} s.")
        if time.monotonic() - looked > TICK:
            slots, looked = pool.slots(), time.monotonic()
    return [reports[index] for index in range(len(calls))]


def _in_place_of(call: Call, pool: Pool, error: LostError) -> Report | None:
    """What becomes of a call that was lost: its pieces' answers, its forfeit, or None where it is to be made again."""
    call.losses += 1
    # Overdue, in pieces at once: a deadline is long, and one member that hangs would take all others along.
    is_suspect = call.losses >= MAX_LOSSES or isinstance(error, OverdueError)
    if is_suspect and (pieces := call.pieces()):
        # One per slot, so that it is clear which of them costs a worker. Other calls' answers wait meanwhile.
        results = [report.result for report in dispatch(pool, pieces, ahead=1)]
        return Report(joined(results))  # without a worker's name: it was done by several
    if call.losses < MAX_LOSSES:
        return None
    if call.forfeit is None:
        raise ClusterError(f"A piece of work was lost {call.losses} times: {error}.")
    return Report(call.forfeit(f"{error}, {call.losses} times"))
