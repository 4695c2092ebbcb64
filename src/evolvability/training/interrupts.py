"""Ctrl-C, and the wish of a cluster to have its machine back, at a moment that does no harm."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


class Terminated(KeyboardInterrupt):
    """A signal of this number came: all is saved, and the program ends as it does after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def noticed(*numbers: int) -> Iterator[Callable[[], int]]:
    """The number of a signal if one of these has come since, or 0; it ends nothing by itself, unless it comes twice."""
    came = 0

    def remember(number: int, frame: Any) -> None:
        nonlocal came
        if came:
            raise Terminated(number)
        came = number

    # Signals reach the main thread alone.
    is_main = threading.current_thread() is threading.main_thread()
    former = {number: signal.getsignal(number) for number in numbers if is_main}
    for number, handler in former.items():
        if handler is not signal.SIG_IGN:  # as after nohup
            signal.signal(number, remember)
    try:
        yield lambda: came
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Let a block finish before Ctrl-C raises `KeyboardInterrupt`; a second Ctrl-C raises it at once.

    Code that a device calls back, as Warp's, must not be left by an exception: the process would crash.
    """
    try:
        with noticed(signal.SIGINT) as has_come:
            yield
    finally:
        if has_come():  # now for the former handler
            signal.raise_signal(signal.SIGINT)


def terminations() -> AbstractContextManager[Callable[[], int]]:
    """Clusters send SIGTERM before they take a machine away; SIGHUP comes when a terminal or a connection is closed."""
    return noticed(signal.SIGTERM, signal.SIGHUP)
