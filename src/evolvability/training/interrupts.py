"""Ctrl-C at a moment that does no harm."""

import signal
import threading
from collections.abc import Iterator
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
