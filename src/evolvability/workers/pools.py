"""Pools: ways to have functions called elsewhere, each call by a deadline.

A pool hands a function and its arguments to one of its workers and gives back a `concurrent.futures.Future`. Its result
is a `WorkerReport`; its exception is a `LostError` if this one call came to nothing, or a `ClusterError` if the workers
cannot be used at all. `evaluator` does the rest: what to hand out when, and what to do about lost calls.
"""

from collections.abc import Callable
from concurrent import futures
from typing import Any

from evolvability.core.errors import ClusterError, UserError
from evolvability.workers.worker import WorkerReport

DEADLINE = 600.0
START_SECONDS = 120.0  # how long a worker may take to get ready, whatever the deadline: it imports, builds and compiles
MANY_WORKERS = 1000  # calls handed at a time to an executor that does not tell the number of its workers


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
        self.answered: set[str] = set()  # workers of the last generation

    def submit(self, function: Callable[..., WorkerReport], *arguments: Any) -> futures.Future[WorkerReport]:
        """Call a function on some worker."""
        future: futures.Future[WorkerReport] = futures.Future()
        # An error is raised here and now: it is not a worker's.
        future.set_result(function(*arguments))
        return future

    def slots(self) -> int:
        """How many calls can be worked on now; it may change, and be 0 for a while."""
        return 1

    def close(self) -> None:
        """Let the workers go, if they are ours."""

    def status(self) -> str:
        """The workers of the last generation, in a few words."""
        number = len(self.answered)
        return f"{number} worker{'s' * (number != 1)}" if number else ""


class ThreadedPool(Pool):
    """A thread per worker makes a call and waits for it: so it is known whose it is, and when it began."""

    def __init__(self, description: str, deadline: float, num_workers: int) -> None:
        super().__init__(description, deadline)
        self.num_workers = num_workers
        self._threads = futures.ThreadPoolExecutor(num_workers)

    def submit(self, function: Callable[..., WorkerReport], *arguments: Any) -> futures.Future[WorkerReport]:
        """Call it as soon as a thread has nothing else to do."""
        return self._threads.submit(self.call, function, *arguments)

    def call(self, function: Callable[..., WorkerReport], *arguments: Any) -> WorkerReport:
        """The answer of a worker."""
        raise NotImplementedError

    def slots(self) -> int:
        """One per worker."""
        return self.num_workers

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class ExecutorPool(ThreadedPool):
    """Any `concurrent.futures.Executor`: of MPI, loky, a batch system.

    An executor does not say which worker a call goes to, so recipe and center travel with every call. It is yours to
    shut down, and works on so many calls at a time as it says.
    """

    def __init__(self, executor: futures.Executor, *, deadline: float = DEADLINE) -> None:
        # Executors of the standard library keep their number of workers in this private attribute.
        super().__init__(type(executor).__name__, deadline, getattr(executor, "_max_workers", None) or MANY_WORKERS)
        self.executor = executor
        self._hanging: list[futures.Future[WorkerReport]] = []

    def slots(self) -> int:
        """As many as it has workers that do not hang."""
        # An executor cannot end a call that has begun, so its worker is not counted on until it answers.
        self._hanging = [future for future in self._hanging if not future.done()]
        return max(self.num_workers - len(self._hanging), 0)

    def call(self, function: Callable[..., WorkerReport], *arguments: Any) -> WorkerReport:
        """By the executor."""
        try:
            future = self.executor.submit(function, *arguments)
            futures.wait([future], self.deadline)
            if future.done():
                return future.result()
        except UserError:
            raise
        except futures.CancelledError:
            raise LostError("its call was cancelled") from None
        except Exception as error:  # broken, shut down, or the call cannot be pickled: not ours to mend
            raise ClusterError(f"The workers cannot be used: {type(error).__name__}: {error}") from error
        self._hanging.append(future)
        raise OverdueError(self.deadline)
