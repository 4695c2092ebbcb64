"""One device or several: the same run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest

from evolvability import Run
from evolvability.cli import main
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
def test_eight_devices_step_the_robots_of_one(start: Start, tmp_path: Path) -> None:
    finished(start(*CHEETAH, "--output", tmp_path / "alone"))
    out, _ = finished(start(*CHEETAH, "--output", tmp_path / "eight", devices=8))
    assert "8 x cpu" in out
    assert_same_course(tmp_path / "eight", tmp_path / "alone")


def test_eight_devices_in_chunks_give_the_run_of_one(start: Start, tmp_path: Path) -> None:
    one, eight = tmp_path / "one", tmp_path / "eight"
    main([*POINT, "--generations", "3", "--output", str(one), "--quiet"])
    finished(start(*POINT, "--generations", 3, "--output", eight, "--chunk-size", 16, devices=8))
    assert len(Run(eight).environment["devices"]) == 8
    assert_same_course(eight, one)


def test_draws_that_do_not_divide_use_as_many_devices_as_they_can() -> None:
    eight = jax.devices() * 8
    assert len(usable(eight, 16)) == 8
    with pytest.warns(UserWarning, match="10 draws .* cannot be spread evenly over 8 devices.* now 5 will be used"):
        assert len(usable(eight, 10)) == 5
