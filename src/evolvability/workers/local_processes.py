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
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import cloudpickle

from evolvability.core.cores import machine_memory, num_cores
from evolvability.core.errors import ConfigError, TaskError
from evolvability.workers.pools import DEADLINE, START_SECONDS, LostError, OverdueError, ThreadedPool
from evolvability.workers.worker import WorkerReport, get_ready

WATCH_SECONDS = 0.2  # between looks at the workers
MAX_WORDS = 400  # letters of a worker's last words
MAX_STDERR = 1 << 16  # letters kept of what a worker wrote
MEMORY_SHARE = 0.9  # of the machine's memory, for all workers together
# The driver's modules are found there too, but after Python's own and the installed ones.
START = "import sys; sys.path += {path!r}; from evolvability.workers.local_processes import serve; serve({pipe})"


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
        self._is_closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """End the processes."""
        self._is_closed.set()
        super().close()
        for worker in self._workers:  # all of them, before any is waited for
            worker.close()
        for worker in self._workers:
            worker.end()

    @property
    def process_ids(self) -> list[int]:
        """Of the workers there are now."""
        return [process.pid for worker in self._workers if (process := worker.process) is not None]

    def _watch(self) -> None:
        """Look after the workers from outside: one that hangs or fills the memory would not come to it."""
        while not self._is_closed.wait(WATCH_SECONDS):
            for worker in self._workers:
                worker.look_after(self.memory)

    def call(self, function: Callable[..., WorkerReport], *arguments: Any) -> WorkerReport:
        """By the first process that has nothing else to do."""
        worker = self._idle.get()
        try:
            report: WorkerReport = worker.call(self.deadline, function, *arguments)
            return report
        finally:
            self._idle.put(worker)


class _Worker:
    """One worker process after another: the next begins when the last has died or was killed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._listener, self._ending = threading.Thread(), threading.Lock()
        self._until = float("inf")  # when the call under way is overdue
        self._is_closed = self._is_overdue = False
        self._words = ""  # what it wrote last

    def call(self, deadline: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns there. If there is no answer, there is no process any more."""
        if self.process is None:
            self._begin()
            self.call(START_SECONDS, get_ready, function, *arguments)
        # Read once: another thread may close this worker at any moment.
        process, pipe = self.process, self._pipe
        if process is None or pipe is None:
            raise LostError("the workers were let go")
        self._is_overdue, self._until = False, time.monotonic() + deadline
        try:
            pipe.send_bytes(cloudpickle.dumps((function, arguments)))
            while not pipe.poll(1.0):
                if process.poll() is not None:  # a program that it started may hold its end of the pipe
                    raise EOFError
            is_answer, answer = pickle.loads(pipe.recv_bytes())
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
        if (process := self.process) is None:
            return
        if time.monotonic() > self._until:
            self._is_overdue = True
            process.kill()
        with contextlib.suppress(OSError, IndexError):  # it ends by itself, or this is not Linux
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            if (taken := pages * os.sysconf("SC_PAGE_SIZE")) > memory:
                process.kill()
                self._words = f"it took {taken / 1e9:.1f} GB of memory, of {memory / 1e9:.1f} GB at most"

    def close(self) -> None:
        """Want no more of it, for good; whoever waits for its answer hears that it has gone."""
        self._is_closed = True
        if (process := self.process) is not None:
            process.kill()

    def _begin(self) -> None:
        self._pipe, theirs = Pipe()
        start = START.format(path=[str(Path(path).absolute()) for path in sys.path], pipe=theirs.fileno())
        self._words = ""
        # -P: without the working folder, which may be somebody else's. A session of its own: Ctrl-C is the driver's.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        self._listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self._listener.start()
        if self._is_closed:  # meanwhile, by another thread, which may not have seen this process
            self.close()

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        """Pass on what the process writes to its standard error, and remember the last of it."""
        assert process.stderr is not None
        with process.stderr as stream:
            while data := os.read(stream.fileno(), MAX_STDERR):
                self._words = (self._words + (text := data.decode(errors="replace")))[-MAX_STDERR:]
                with contextlib.suppress(Exception):  # our own may be closed
                    sys.stderr.write(text)
                    sys.stderr.flush()

    def end(self) -> str:
        """Wait until it has gone, or end it by force. Returns how it ended."""
        with self._ending:
            process, pipe = self.process, self._pipe
            # Forgotten before it is ended, so that nobody calls it meanwhile.
            self.process = self._pipe = None
        if process is None or pipe is None:
            return ""
        try:
            code = process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        pipe.close()
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
        return cloudpickle.dumps((False, TaskError(f"A worker raised {type(error).__name__}: {error}")))
