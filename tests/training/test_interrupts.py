import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evolvability import Run, evolve
from evolvability.training.interrupts import Terminated, delayed_interrupts, terminations


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """Python's own, also where the tests run in the background and Ctrl-C is ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.parametrize(("interrupts", "finished"), [(1, True), (2, False)])
def test_a_block_outlives_one_interrupt_and_not_two(interrupts: int, finished: bool) -> None:
    ends = []

    def block() -> None:
        with delayed_interrupts():
            for _ in range(interrupts):
                signal.raise_signal(signal.SIGINT)
            ends.append(True)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert bool(ends) == finished


def test_the_former_handler_comes_back() -> None:
    former = signal.getsignal(signal.SIGINT)
    with delayed_interrupts():
        assert signal.getsignal(signal.SIGINT) is not former
    assert signal.getsignal(signal.SIGINT) is former


def test_other_threads_are_left_alone() -> None:
    problems: list[BaseException] = []

    def work() -> None:
        try:
            with delayed_interrupts():
                pass
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not problems


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_done_when_a_cluster_or_a_terminal_went_is_saved(number: signal.Signals, tmp_path: Path) -> None:
    def terminate(rows: list[dict[str, Any]]) -> None:
        if rows[0]["generation"] == 1:
            signal.raise_signal(number)

    any_run: dict[str, Any] = {"generations": 5, "population_size": 8, "objective": "max_variance"}
    former = signal.signal(number, signal.SIG_DFL)  # these tests themselves may be run by nohup
    try:
        with pytest.raises(Terminated) as stopped:
            evolve("point", output=tmp_path / "run", on_generation=terminate, **any_run)
    finally:
        signal.signal(number, former)
    assert stopped.value.number == number
    assert len(Run(tmp_path / "run").rows) == 2
    assert Run(tmp_path / "run").checkpoint(2)["generation"] == 2


def test_the_second_sigterm_is_not_waited_for() -> None:
    former = signal.getsignal(signal.SIGTERM)
    with terminations() as has_come:
        assert not has_come()
        signal.raise_signal(signal.SIGTERM)
        assert has_come()
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is former


def test_who_is_to_outlive_the_terminal_does() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with terminations() as has_come:
            signal.raise_signal(signal.SIGHUP)
            assert not has_come()
    finally:
        signal.signal(signal.SIGHUP, former)
