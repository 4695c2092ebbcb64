"""How long tests wait for what must happen at some time."""

import time
from collections.abc import Iterator

PATIENCE = 600.0
"""Seconds. A machine that is busy with something else may stand still for minutes, which is not a failure."""


def attempts() -> Iterator[None]:
    """To look whether it has happened, for as long."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield
