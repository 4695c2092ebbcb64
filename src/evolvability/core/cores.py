"""How much of the machine is ours."""

import os
from contextlib import suppress
from pathlib import Path


def num_cores() -> int:
    """CPU cores that this process may use."""
    # macOS cannot bind a process to cores, and does not have the question.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def machine_memory() -> float:
    """Bytes of memory that this machine has, or this container may use."""
    total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # no container, or "max"
        return min(total, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total
