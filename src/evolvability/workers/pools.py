"""Pools: ways to have functions called elsewhere, each call by a deadline.

A pool hands a function and its arguments to one of its workers and gives back a `concurrent.futures.Future`. Its
exception is a `LostError` if this one call came to nothing, or a `ClusterError` if the workers cannot be used at all.
`evaluator` does the rest: what to hand out when, and what to do about lost calls.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

DEADLINE = 600.0
START_SECONDS = 120.0  # how long a worker may take to get ready, whatever the deadline: it imports, builds and compiles


class LostError(Exception):
    """A call without an answer: its worker died or left."""


class OverdueError(LostError):
    """A call without an answer by its deadline."""

    def __init__(self, deadline: float) -> None:
        super().__init__(f"no answer in {deadline:g} s")


class Pool:
    """Where functions are called: in this process, here and now; other pools override that.

    A call that takes more seconds than the deadline is made again elsewhere; in this process none can be kept.
    """

    lost_in_a_row = 0  # calls that came to nothing since the last answer
    share = 0.0  # of the work under way that is done

    def __init__(self, description: str = "this process", deadline: float = DEADLINE) -> None:
        self.description, self.deadline = description, deadline

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function on some worker."""
        future: Future[Any] = Future()
        # An error is raised here and now: it is not a worker's.
        future.set_result(function(*arguments))
        return future

    def slots(self) -> int:
        """How many calls can be worked on now; it may change, and be 0 for a while."""
        return 1

    def close(self) -> None:
        """Let the workers go, if they are ours."""
