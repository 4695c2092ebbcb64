import signal
import threading
from collections.abc import Iterator

import pytest

from evolvability.training.interrupts import delayed_interrupts


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
