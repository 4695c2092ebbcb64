"""Worker processes on this machine: replaced when they die or hang, watched from outside, their last words reported.

A worker is a Python process, a pipe to it, and a thread here that waits for its answers. `concurrent.futures` and loky
would leave most of this to be written: in both of them a process that dies breaks all calls under way and names none, a
call has no deadline that ends its process, and nothing is known of what a process wrote last.
"""

import contextlib
import faulthandler
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import cloudpickle

from evolvability.core.cores import machine_memory
from evolvability.core.errors import ConfigError, TaskError, described
from evolvability.workers.pools import DEADLINE, START_SECONDS, LostError, OverdueError, Pool
from evolvability.workers.worker import get_ready

WATCH_SECONDS = 0.2  # between looks at the workers
MEMORY_SHARE = 0.9  # of the machine's memory, for all workers together
MAX_WORDS = 400  # letters of a worker's last words
MAX_STDERR = 1 << 16  # letters kept of what a worker wrote
# The driver's modules are found there too, but after Python's own and the installed ones.
START = "import sys; sys.path += {path!r}; from evolvability.workers.local_processes import serve; serve({pipe})"


class LocalProcesses(Pool):
    """Worker processes on this machine; one that dies or hangs is replaced.

    One that takes more than its share of the machine's memory is ended.
    A thread per worker makes a call and waits for it: so it is known whose it is, and when it began.
    """

    def __init__(self, num_workers: int, deadline: float = DEADLINE) -> None:
        if num_workers < 1:
            raise ConfigError(f"workers must be 1 or more, got {num_workers}.")
        super().__init__(f"{num_workers} local worker process{'es' * (num_workers != 1)}", deadline)
        self.num_workers, self._threads = num_workers, ThreadPoolExecutor(num_workers)
        self._workers: set[_Worker] = set()
        self._own = threading.local()  # the worker of a thread
        self.memory = MEMORY_SHARE * machine_memory() / num_workers
        self._is_closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call it as soon as a thread has nothing else to do."""
        return self._threads.submit(self.call, function, *arguments)

    def slots(self) -> int:
        """One per worker."""
        return self.num_workers

    def close(self) -> None:
        """End the processes."""
        self._is_closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in [*self._workers]:
            worker.process.kill()
        with contextlib.suppress(RuntimeError):  # of a thread of ours, which cannot wait for itself
            self._threads.shutdown()  # whoever waits for an answer hears that its worker has gone
        for worker in [*self._workers]:
            worker.end()

    @property
    def process_ids(self) -> list[int]:
        """Of the workers there are now."""
        return [worker.process.pid for worker in [*self._workers]]

    def _watch(self) -> None:
        """Look after the workers from outside: one that hangs or fills the memory would not come to it."""
        while not self._is_closed.wait(WATCH_SECONDS):
            for worker in [*self._workers]:
                worker.look_after(self.memory)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """By the process of this thread; a new one begins where there is none, or not any more."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        try:
            if worker is None:
                worker = self._own.worker = _Worker()
                self._workers.add(worker)
                if self._is_closed.is_set():  # meanwhile, by another thread, which may not have seen this process
                    worker.process.kill()
                worker.call(START_SECONDS, get_ready, function, *arguments)
            return worker.call(self.deadline, function, *arguments)
        except LostError:
            self._workers -= {worker}
            self._own.worker = None
            raise


class _Worker:
    """A worker process, and a pipe to it."""

    def __init__(self) -> None:
        self._words = ""  # what it wrote last
        self._until = float("inf")  # when the call under way is overdue
        self._is_overdue = False
        self._pipe, theirs = Pipe()
        start = START.format(path=[str(Path(path).absolute()) for path in sys.path], pipe=theirs.fileno())
        # -P: without the working folder, which may be somebody else's. A session of its own: Ctrl-C is the driver's.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def call(self, deadline: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns there. If there is no answer, there is no process any more."""
        self._until = time.monotonic() + deadline
        try:
            self._pipe.send_bytes(cloudpickle.dumps((function, arguments)))
            while not self._pipe.poll(1.0):
                if self.process.poll() is not None:  # a program that it started may hold its end of the pipe
                    raise EOFError
            is_answer, answer = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            words = self.end()
            raise (OverdueError(deadline) if self._is_overdue else LostError(f"its worker was lost{words}")) from None
        finally:
            self._until = float("inf")
        if is_answer:
            return answer
        raise answer

    def look_after(self, memory: float) -> None:
        """End it once its call is overdue, or it takes so many bytes of memory that it could take the driver along."""
        if time.monotonic() > self._until:
            self._is_overdue = True
            self.process.kill()
        with contextlib.suppress(OSError, IndexError):  # it ends by itself, or this is not Linux
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
            if (taken := pages * os.sysconf("SC_PAGE_SIZE")) > memory:
                self.process.kill()
                self._words = f"it took {taken / 1e9:.1f} GB of memory, of {memory / 1e9:.1f} GB at most"

    def _listen(self) -> None:
        """Pass on what the process writes to its standard error, and remember the last of it."""
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            while data := os.read(stream.fileno(), MAX_STDERR):
                self._words = (self._words + (text := data.decode(errors="replace")))[-MAX_STDERR:]
                with contextlib.suppress(Exception):  # our own may be closed
                    sys.stderr.write(text)
                    sys.stderr.flush()

    def end(self) -> str:
        """Wait until it has gone, or end it by force. Returns how it ended."""
        try:
            code = self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._pipe.close()
        self._listener.join(1.0)
        crash = self._words.rfind("Fatal Python error")  # of a crash, the call that it happened in comes first
        words = " ".join((self._words[crash:][:MAX_WORDS] if crash >= 0 else self._words[-MAX_WORDS:]).split())
        how = f" ({signal.Signals(-code).name})" if code < 0 else f" (exit code {code})" if code else ""
        return f"{how}, whose last words were: {words}" if words else f"{how}, without a word"


def serve(descriptor: int) -> None:
    """What a worker process does: answer calls until the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver's to handle
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # and this, which clusters send to all processes of a run
    faulthandler.enable(all_threads=False)  # of a crash, the call that it happened in
    with contextlib.suppress(OSError):  # if memory ends all the same, Linux takes workers first
        Path("/proc/self/oom_score_adj").write_text("500")
    os.set_inheritable(descriptor, False)  # for programs that a simulator starts
    pipe, calls = Connection(descriptor), queue.SimpleQueue[bytes]()
    threading.Thread(target=_receive, args=(pipe, calls), daemon=True).start()
    while True:
        pipe.send_bytes(_answer(calls.get()))


def _receive(pipe: Connection, calls: "queue.SimpleQueue[bytes]") -> None:
    """Hand on calls; a driver that is gone takes its workers along, even if they are busy."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            calls.put(pipe.recv_bytes())
    os._exit(1)  # not sys.exit, which would end this thread alone


def _answer(call: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(call)
        return cloudpickle.dumps((True, function(*arguments)))
    except BaseException as error:  # of any kind: an answer is owed
        with contextlib.suppress(Exception):
            pickle.loads(answer := cloudpickle.dumps((False, error)))
            return answer
        return cloudpickle.dumps((False, TaskError(f"A worker raised {described(error)}")))
