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
    """SIGTERM came: all is saved, and the program ends as it does after Ctrl-C."""


@contextmanager
def terminations() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM has come since; it ends nothing by itself, unless it comes twice.

    It is what clusters send before they take a machine away.
    """
    came = False

    def remember(number: int, frame: Any) -> None:
        nonlocal came
        if came:
            raise Terminated
        came = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: came
        return
    former = signal.signal(signal.SIGTERM, remember)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGTERM, former)
