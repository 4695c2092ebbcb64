"""Random models over all supported features against native MuJoCo; what fails is made small and kept."""

import functools
import hashlib
import os
import platform
import secrets
import sys
import time
from pathlib import Path

import mujoco
import mujoco_fused
import numpy as np
import pytest
from fuzz import loaded, random_model, shrunk, smaller, to_xml
from models import model

pytest.importorskip("warp", reason="Warp is not installed")
HERE = Path(__file__).parent
FOUND = HERE / "found"
"""Models that failed once, small: every run tries them again."""
BUDGET = float(os.environ.get("FUZZ_SECONDS", "1200"))
MOST = int(os.environ.get("FUZZ_MODELS", "1000000"))
FIRST = int(os.environ.get("FUZZ_SEED", secrets.randbelow(10**6)))
"""Of the random models: new ones every time, or those that are asked for."""
GOLDEN = {
    "cheetah": {"aarch64": "c33600825dd8f00d", "x86_64": "de5f4de9ae3d036f"},
    "ant": {"aarch64": "e3350ceff906dd83", "x86_64": "4247612f1f9b0093"},
}
"""Of the C++ that is generated: a change of the generator changes it, and whoever makes one writes down the new.

By the kind of processor, on Linux: constants that MuJoCo and NumPy compute differ in last digits."""


def errors(own: mujoco.MjModel, seed: int) -> tuple[float, float]:
    """The largest error in double, and the share of worlds that are far off in float; none where it is refused."""
    if mujoco_fused.unsupported(own):
        return 0.0, 0.0
    double = mujoco_fused.verify(own, num_worlds=60, seed=seed)
    single = mujoco_fused.verify(own, num_worlds=60, seed=seed, precision=mujoco_fused.FLOAT)
    off = ~(single.errors < 1e-2)
    return (double.worst if len(double.errors) else 0.0), float(np.mean(off)) if len(off) else 0.0


def fails(own: mujoco.MjModel, seed: int) -> bool:
    double, single = errors(own, seed)
    return not double < 1e-8 or single > 0.1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_models_move_as_mujoco_has_them(seed: int) -> None:
    own = loaded(random_model(seed))
    assert own is not None
    assert mujoco_fused.unsupported(own) == []
    assert mujoco_fused.verify(own, num_worlds=60, seed=seed).worst < 1e-9


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.xml")), ids=lambda path: path.stem)
def test_models_that_failed_once_do_so_no_more(path: Path) -> None:
    assert not fails(mujoco.MjModel.from_xml_path(str(path)), int(path.stem.split("-")[-1]))


@pytest.mark.full
def test_new_random_models_move_as_mujoco_has_them() -> None:
    began, number = time.monotonic(), 0
    print(f"Seeds from {FIRST} on.")
    while time.monotonic() - began < BUDGET and number < MOST:
        seed, number = FIRST + number, number + 1
        drawn = random_model(seed)
        own = loaded(drawn)
        assert own is not None
        if fails(own, seed):
            small = shrunk(drawn, functools.partial(fails, seed=seed))
            FOUND.mkdir(exist_ok=True)
            kept = FOUND / f"found-{seed}.xml"
            kept.write_text(to_xml(small))
            pytest.fail(f"Seed {seed}, after {number} models: see {kept}.\n{to_xml(small)}")
    assert number
    print(f"{number} models.")


def test_shrinking_ends_at_what_makes_a_model_fail() -> None:
    drawn = random_model(4)
    own = loaded(drawn)
    assert own is not None
    size = len(to_xml(drawn))
    small = shrunk(drawn, lambda less: bool((less.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE).any()))
    text = to_xml(small)
    assert "capsule" in text
    assert len(text) < size / 4
    assert not any(
        (less := loaded(one)) is not None and (less.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE).any()
        for one in smaller(small)
    )


PENDULUM = """<mujoco><option timestep="0.01"/><worldbody><body><joint axis="0 1 0" damping="0.1"/>
  <geom size="0.1" mass="2" pos="0 0 -1"/></body></worldbody></mujoco>"""


def test_a_pendulums_program_is_the_text_that_was_read() -> None:
    text = mujoco_fused.emit(mujoco.MjModel.from_xml_string(PENDULUM))
    golden = HERE / "pendulum.txt"
    assert text == golden.read_text(), "The generator has changed: read the difference, then write the new text."


@pytest.mark.parametrize("name", GOLDEN)
def test_programs_of_robots_are_those_that_were_measured(name: str) -> None:
    if sys.platform != "linux" or platform.machine() not in GOLDEN[name]:
        pytest.skip("no program was written down for this kind of processor")
    text = mujoco_fused.emit(model(name), 4)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[name][platform.machine()]
