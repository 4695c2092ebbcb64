"""How much of the machine is ours."""

import os

import pytest

from evolvability.core.cores import num_cores


def test_cores_are_counted_where_processes_cannot_be_bound_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert num_cores() == os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot bind a process to cores")
def test_only_cores_that_this_process_is_bound_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6})
    assert num_cores() == 3
