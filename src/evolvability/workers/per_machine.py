"""One worker a machine, with processes of its own: a scheduler then has as many workers as there are machines.

A scheduler's work grows with the number of calls it hands out, and that with the number of workers it knows. So on
large clusters a call is about the members of a whole machine, which hands them on to its own processes.
"""

import multiprocessing
import threading
from functools import cache
from itertools import pairwise
from typing import Any

from evolvability.tasks.simulators import Part, joined, lost
from evolvability.workers.dispatch import Call, Dispatch
from evolvability.workers.pools import LocalProcesses
from evolvability.workers.worker import Broadcast, Report, evaluate_members, reported

ROUNDS = 4
"""Pieces a process: the slower ones get fewer."""


def evaluation(recipe: Any, broadcast: Any, members: range, num_behaviors: int) -> Call:
    """The call that evaluates some members; suspected, it is taken apart into single ones."""
    if len(members) == 1:
        return Call(
            evaluate_members,
            (recipe, broadcast, members),
            forfeit=lambda reason: lost(num_behaviors, members[0], reason),
        )
    return Call(
        evaluate_members,
        (recipe, broadcast, members),
        pieces=lambda: [evaluation(recipe, broadcast, range(k, k + 1), num_behaviors) for k in members],
        join=joined,
        size=len(members),
    )


def evaluate_on_node(
    recipe: bytes, broadcast: Broadcast, members: range, num_behaviors: int, num_processes: int, deadline: float
) -> Report:
    """Run some members on the processes of this machine."""
    if multiprocessing.current_process().daemon:
        failure = "a worker with processes of its own must not have a nanny: start it with dask worker --no-nanny"
        return reported(_raiser(failure))
    return reported(lambda: _node(num_processes).evaluate(recipe, broadcast, members, num_behaviors, deadline))


class _Node:
    """This machine's processes, kept from call to call."""

    def __init__(self, num_processes: int) -> None:
        self.pool, self.num_processes = LocalProcesses(num_processes), num_processes
        self.lock = threading.Lock()
        self._shared: dict[Any, Any] = {}

    def evaluate(
        self, recipe: bytes, broadcast: Broadcast, members: range, num_behaviors: int, deadline: float
    ) -> Part:
        with self.lock:
            known = {hash(recipe): recipe, (broadcast.run, broadcast.generation): broadcast}
            for old in self._shared.keys() - known.keys():
                self.pool.forget(self._shared.pop(old))
            for new in known.keys() - self._shared.keys():
                self._shared[new] = self.pool.share(known[new])
            names = [self._shared[key] for key in known]
            pieces = split(len(members), ROUNDS * self.num_processes)
            calls = [
                evaluation(names[0], names[1], members[piece.start : piece.stop], num_behaviors) for piece in pieces
            ]
            return joined(Dispatch(self.pool, calls, deadline).run())


@cache
def _node(num_processes: int) -> _Node:
    return _Node(num_processes)


def _raiser(text: str) -> Any:
    def work() -> None:
        raise RuntimeError(text)

    return work


def split(total: int, parts: int) -> list[range]:
    """So many whole numbers in at most so many ranges, which differ in length by one at most.

    >>> split(5, 2), split(2, 8)
    ([range(0, 3), range(3, 5)], [range(0, 1), range(1, 2)])
    """
    parts = min(total, parts)
    ends = [-(-total * k // parts) for k in range(parts + 1)]
    return [range(first, last) for first, last in pairwise(ends)]
