"""Worker processes on this machine: replaced when they die or hang, watched from outside, their last words reported."""

import contextlib
import faulthandler
import multiprocessing
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

from evolvability.core.cores import machine_memory, num_cores
from evolvability.core.errors import ClusterError, ConfigError
from evolvability.workers.pools import DEADLINE, START_SECONDS, LostError, OverdueError, ThreadedPool
from evolvability.workers.worker import WorkerReport

MAX_STARTS = 3  # so many processes in a row may die while they get ready before the run is stopped
WATCH_SECONDS = 0.2  # between looks at the workers' memory
MAX_WORDS = 400  # letters of a worker's last words
MAX_STDERR = 1 << 20  # bytes kept of what a worker writes
UNGUARDED = 78
"""The exit code of a worker that was about to start workers itself."""
SAFE_PATH = "PYTHONSAFEPATH"
MEMORY_SHARE = 0.9  # of the machine's memory, for all workers together


class LocalProcesses(ThreadedPool):
    """Worker processes on this machine, by default one per core; one that dies or hangs is replaced.

    One that takes more than its share of the machine's memory is ended.
    """

    def __init__(self, num_workers: int | None = None, deadline: float = DEADLINE) -> None:
        number = num_cores() if num_workers is None else num_workers
        if number < 1:
            raise ConfigError(f"workers must be 1 or more, got {number}.")
        super().__init__(f"{number} local worker process{'es' * (number != 1)}", deadline, number)
        self.memory = MEMORY_SHARE * machine_memory() / self.num_workers
        self._workers = [_Worker() for _ in range(self.num_workers)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # A call that any process can answer, until `prepare` has a better one.
        self._first: tuple[Any, ...] = (os.getpid,)
        self._is_closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def prepare(self, function: Callable[..., WorkerReport], *arguments: Any) -> None:
        """The first call of every new process."""
        self._first = function, *arguments

    def close(self) -> None:
        """End the processes."""
        self._is_closed.set()
        super().close()
        for worker in self._workers:
            worker.close()

    @property
    def process_ids(self) -> list[int]:
        """Of the workers there are now."""
        return [worker.process_id for worker in self._workers if worker.process_id]

    def _watch(self) -> None:
        """Look after the workers' memory, from outside: one that is busy filling it would not come to it."""
        while not self._is_closed.wait(WATCH_SECONDS):
            for worker in self._workers:
                worker.stay_below(self.memory)

    def call(self, function: Callable[..., WorkerReport], *arguments: Any) -> WorkerReport:
        """By the first process that has nothing else to do."""
        worker = self._idle.get()
        try:
            # Beforehand, with patience of its own: a deadline is for work.
            worker.get_ready(*self._first)
            report: WorkerReport = worker.call(self.deadline, function, *arguments)
            return report
        finally:
            self._idle.put(worker)


class _Worker:
    """One worker process after another: the next begins when the last has died or was killed."""

    def __init__(self) -> None:
        self.process_id = 0  # of no process yet
        self._executor: futures.ProcessPoolExecutor | None = None
        self._is_closed = False
        self._stderr = tempfile.NamedTemporaryFile(prefix="ees-worker-")  # noqa: SIM115 (as long as it lives)
        self._words = ""  # what it wrote there last
        self._process: Any = None

    def get_ready(self, *first: Any) -> None:
        """Have a process that has answered its first call."""
        for _ in range(MAX_STARTS):
            # None also after a first call that was lost: then another process is tried.
            if self._executor is None:
                self._begin()
                with contextlib.suppress(LostError):
                    self.call(START_SECONDS, *first)
        if self._executor is None:
            raise ClusterError(f"Worker processes die while they build the simulator{self._last_words()}.")

    def call(self, deadline: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns there. If there is no answer, there is no process any more."""
        # Read once: another thread may close this worker at any moment.
        executor = self._executor
        if executor is None:
            raise LostError("the workers were let go")
        try:
            return executor.submit(function, *arguments).result(deadline)
        except futures.BrokenExecutor:
            self._end()
            raise LostError(f"its worker was lost{self._last_words()}") from None
        except TimeoutError:
            self._end()
            raise OverdueError(deadline) from None
        finally:
            self._pass_on()

    def stay_below(self, memory: float) -> None:
        """End it once it takes more bytes of memory, so that it does not take the driver along."""
        with contextlib.suppress(OSError):  # it ends by itself, or this is no Linux
            if process_id := self.process_id:
                pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
                if (taken := pages * os.sysconf("SC_PAGE_SIZE")) > memory:
                    os.kill(process_id, signal.SIGKILL)
                    self._words = f"it took {taken / 1e9:.1f} GB of memory, of {memory / 1e9:.1f} GB at most"

    def _pass_on(self) -> None:
        """Write what the process wrote to its standard error to ours, and remember the last of it."""
        if text := self._stderr.read().decode(errors="replace"):
            sys.stderr.write(text)
            sys.stderr.flush()
            # Of a crash, how Python tells it: the call that it happened in comes first.
            crash = text.rfind("Fatal Python error")
            self._words = text[crash:][:MAX_WORDS] if crash >= 0 else text[-MAX_WORDS:]
        if self._stderr.tell() > MAX_STDERR:
            self._stderr.seek(0)
            self._stderr.truncate()

    def _last_words(self) -> str:
        self._pass_on()
        words, self._words = " ".join(self._words.split()), ""
        code = self._exit_code()
        how = f" ({signal.Signals(-code).name})" if code and code < 0 else f" (exit code {code})" if code else ""
        return f"{how}, whose last words were: {words}" if words else f"{how}, without a word"

    def _exit_code(self) -> int | None:
        # Its executor asks, too: whoever asks second gets nothing until the first has noted the answer.
        until, code = time.monotonic() + 1, None
        while self._process and (code := self._process.exitcode) is None and time.monotonic() < until:
            time.sleep(0.01)
        return code

    def close(self) -> None:
        """End it for good."""
        self._is_closed = True
        self._end()

    def _begin(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a forked JAX hangs
        first = (self._stderr.name, SAFE_PATH not in os.environ)
        with _safe_path():  # the first of all starts a process of Python's own, which tracks resources
            executor = self._executor = futures.ProcessPoolExecutor(1, spawn, _begin_process, first)
        if self._is_closed:  # meanwhile, by another thread, which may not have seen this process
            self._end()
        try:
            # To be known before there is work, since a process that hangs is killed by it.
            with _safe_path():
                first_call = executor.submit(os.getpid)
                self._process = next(iter((executor._processes or {}).values()), None)
            self.process_id = first_call.result()
        except futures.BrokenExecutor as error:
            if self._exit_code() != UNGUARDED:
                raise ClusterError(f"A worker process could not start{self._last_words()}.") from error
            raise ClusterError(
                "Every worker process imports this script, so what starts workers must not run there. Put it under: "
                "if __name__ == '__main__':"
            ) from None

    def _end(self) -> None:
        """At once, even a process that is stopped."""
        executor, process_id = self._executor, self.process_id
        # Forgotten before it is ended, so that nobody calls it meanwhile.
        self._executor, self.process_id = None, 0
        if process_id:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


_spawning = threading.Lock()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Start processes that do not look for Python's own modules in the working folder: it may be somebody else's."""
    with _spawning:
        former = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = former or "1"
        try:
            yield
        finally:
            if former is None:
                del os.environ[SAFE_PATH]


def _begin_process(stderr: str, clear_path: bool) -> None:
    """The first thing in a worker process; stderr: a file of the driver's."""
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND), 2)  # also of libraries, and to the very end
    faulthandler.enable(all_threads=False)  # of a crash, the call that it happened in
    if clear_path:
        os.environ.pop(SAFE_PATH, None)  # programs that a simulator starts are its own affair
    with contextlib.suppress(OSError):  # if memory ends all the same, Linux takes workers first
        Path("/proc/self/oom_score_adj").write_text("500")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # and this, which clusters send to all processes of a run
    parent = multiprocessing.parent_process()
    if parent is not None:  # a driver that is killed takes its workers along

        def follow() -> None:
            parent.join()
            os._exit(1)  # not sys.exit, which would end this thread alone

        threading.Thread(target=follow, daemon=True).start()
