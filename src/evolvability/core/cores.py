"""How much of the machine is ours."""

import os


def num_cores() -> int:
    """CPU cores that this process may use."""
    # macOS cannot bind a process to cores, and does not have the question.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
