"""Ctrl-C, and the wish of a cluster to have its machine back, at a moment that does no harm."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Let a block finish before Ctrl-C raises `KeyboardInterrupt`; a second Ctrl-C raises it at once.

    Code that a device calls back, as Warp's, must not be left by an exception: the process would crash.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return
    came = False
    former = signal.getsignal(signal.SIGINT)

    def remember(number: int, frame: Any) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        # First, so that the one raised below meets the former handler.
        signal.signal(signal.SIGINT, former)
        if came:
            signal.raise_signal(signal.SIGINT)


class Terminated(KeyboardInterrupt):
    """A signal of this number came: all is saved, and the program ends as it does after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def terminations() -> Iterator[Callable[[], int]]:
    """The number of SIGTERM or SIGHUP if one has come since, or 0; it ends nothing by itself, unless it comes twice.

    Clusters send the one before they take a machine away; the other comes when a terminal or a connection is closed.
    """
    came = 0

    def remember(number: int, frame: Any) -> None:
        nonlocal came
        if came:
            raise Terminated(number)
        came = number

    if threading.current_thread() is not threading.main_thread():
        yield lambda: came
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in former.items():
        if handler is not signal.SIG_IGN:  # as after nohup
            signal.signal(number, remember)
    try:
        yield lambda: came
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
