"""One device, several devices and several processes: the same run."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest

from evolvability import ConfigError, Run
from evolvability.cli import main
from evolvability.training.processes import Processes, join
from evolvability.training.sharding import usable
from tests.patience import PATIENCE

QUICK = "--xla_backend_optimization_level=0"  # here compiling takes far longer than running
CHEETAH = (
    "train", "cheetah", "--engine", "fused", "--num-steps", "4", "--hidden", "8", "--observation-share", "0.5",
    "--start-noise", "0.05", "--population-size", "32", "--sigma", "0.2", "--generations", "2",
)  # fmt: skip
POINT = (
    "train",
    "point",
    "--num-steps",
    "5",
    "--hidden",
    "4",
    "--objective",
    "max_variance",
    "--population-size",
    "32",
    "--seeds",
    "2",
    "--population",
    "low_rank",
    "--rank",
    "1",
)

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def start() -> Start:
    """Starts `ees` as a process of its own."""

    def start(*arguments: object, devices: int = 1) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evolvability", *map(str, arguments)]
        flags = f"{os.environ.get('XLA_FLAGS', '')} {QUICK} --xla_force_host_platform_device_count={devices}"
        environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        return subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )

    return start


def finished(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """What a process printed, once it has ended as expected."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    return out, err


def in_two_processes(start: Start, *arguments: object, devices: int = 1) -> list[subprocess.Popen[str]]:
    options = ("--coordinator", free_address(), "--num-processes", 2, "--process-id")
    return [start(*arguments, *options, number, devices=devices) for number in range(2)]


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def assert_same_course(path: Path, other_path: Path) -> None:
    """The same run to float tolerance: where every member ended up, what was learned, what was seen."""
    run, other = Run(path), Run(other_path)
    assert run.recorded == other.recorded
    for generation in run.recorded:
        one, two = run.behaviors(generation), other.behaviors(generation)
        np.testing.assert_allclose(one["behavior"], two["behavior"], atol=1e-4)
        np.testing.assert_array_equal(one["valid"], two["valid"])
    assert np.abs(run.behaviors()["behavior"]).max() > 0.01
    for name, array in run.checkpoint().items():
        np.testing.assert_allclose(array, other.checkpoint()[name], atol=1e-4, err_msg=name)


@pytest.mark.full
def test_two_processes_of_four_devices_step_the_robots_of_one(start: Start, tmp_path: Path) -> None:
    finished(start(*CHEETAH, "--output", tmp_path / "alone"))
    both = in_two_processes(start, *CHEETAH, "--output", tmp_path / "two", devices=4)
    first, second = [finished(process) for process in both]
    assert "8 x cpu" in first[0]
    assert second == ("", "")
    assert_same_course(tmp_path / "two", tmp_path / "alone")


def test_eight_devices_in_chunks_give_the_run_of_one(start: Start, tmp_path: Path) -> None:
    one, eight = tmp_path / "one", tmp_path / "eight"
    main([*POINT, "--generations", "3", "--output", str(one), "--quiet"])
    finished(start(*POINT, "--generations", 3, "--output", eight, "--chunk-size", 16, devices=8))
    assert len(Run(eight).environment["devices"]) == 8
    assert_same_course(eight, one)


@pytest.mark.full
def test_two_processes_that_stop_and_go_on_give_the_run_of_one(start: Start, tmp_path: Path) -> None:
    """They find their run folder in use, too."""
    one, two = tmp_path / "one", tmp_path / "two"
    finished(start(*POINT, "--generations", 5, "--output", one))
    train = (*POINT, "--generations", 3, "--output", two)
    for process in in_two_processes(start, *train):
        finished(process)
    again, silent = [finished(process, code=2) for process in in_two_processes(start, *train)]
    assert "already holds a run" in again[1]
    assert silent == ("", "")
    for process in in_two_processes(start, "resume", two, "--generations", 5):
        finished(process)
    assert_same_course(two, one)


def test_draws_that_do_not_divide_use_as_many_devices_as_they_can() -> None:
    eight = jax.devices() * 8
    assert len(usable(eight, 16)) == 8
    with pytest.warns(UserWarning, match="10 draws .* cannot be spread evenly over 8 devices.* now 5 will be used"):
        assert len(usable(eight, 10)) == 5


@pytest.mark.full
def test_all_processes_end_when_one_is_killed(start: Start, tmp_path: Path) -> None:
    processes = in_two_processes(start, *POINT, "--generations", 10**6, "--output", tmp_path / "run")
    assert processes[0].stdout is not None
    while "1/1000000 " not in processes[0].stdout.readline():
        assert processes[0].poll() is None
    processes[1].kill()
    _, err = finished(processes[0], code=2)
    assert "another one did" in err
    assert len(Run(tmp_path / "run").rows) >= 1
    processes[1].communicate()


def test_processes_with_different_options_are_refused(start: Start, tmp_path: Path) -> None:
    options = (*POINT, "--coordinator", free_address(), "--num-processes", 2)
    processes = [start(*options, "--process-id", number, "--seed", number) for number in range(2)]
    for process in processes:
        assert "given different options" in finished(process, code=2)[1]


@pytest.mark.parametrize(
    ("processes", "message"),
    [
        (Processes(process_id=1), "need --coordinator HOST:PORT"),
        (Processes("somewhere", 2, 0), "must be HOST:PORT"),
        (Processes("localhost:1234", 2), "needs --num-processes N and --process-id I"),
        (Processes("localhost:1234", 2, 2), "--process-id must be from 0 to 1"),
    ],
)
def test_processes_that_make_no_sense_are_refused(processes: Processes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        join(processes)
