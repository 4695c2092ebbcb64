"""The small interface: what is imported when, what is checked, NumPy and JAX."""

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import mujoco_fused
import numpy as np
import pytest
from models import model

pytest.importorskip("warp", reason="Warp is not installed")
PENDULUM = '<mujoco><worldbody><body><joint/><geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>'
WITHOUT = f"""
import sys
sys.modules["warp"] = sys.modules["jax"] = None
import mujoco, mujoco_fused
model = mujoco.MjModel.from_xml_string('''{PENDULUM}''')
assert mujoco_fused.unsupported(model) == []
assert "p_" not in mujoco_fused.emit(model)
mujoco_fused.start(model, 2)
try:
    mujoco_fused.compile(model)
except mujoco_fused.MissingPackageError as error:
    print(error)
"""


def python(text: str) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_warp_models_are_judged_and_compiling_says_what_to_install() -> None:
    assert "pip install 'mujoco-fused[warp]'" in python(WITHOUT)


def test_warp_and_jax_are_imported_when_they_are_used() -> None:
    text = "import sys, mujoco_fused; print([name for name in ('warp', 'jax') if name in sys.modules])"
    assert python(text).strip() == "[]"


def test_every_name_is_documented_and_no_module_has_the_name_of_a_function() -> None:
    for name in mujoco_fused.__all__:
        thing = getattr(mujoco_fused, name)
        assert not isinstance(thing, types.ModuleType), name
        assert f"mujoco_fused.{name}" not in sys.modules, name
        if callable(thing):
            assert thing.__doc__, name
    shown = {name for name, thing in vars(mujoco_fused).items() if not isinstance(thing, types.ModuleType)}
    assert {name for name in shown if not name.startswith("_")} == set(mujoco_fused.__all__)


@pytest.fixture(scope="module")
def cheetah() -> Any:
    robot = model("cheetah")
    return robot, mujoco_fused.compile(robot), mujoco_fused.start(robot, 3)


@pytest.mark.parametrize("library", [np, jnp])
def test_arrays_of_other_shapes_are_refused(cheetah: Any, library: Any) -> None:
    robot, step, state = cheetah
    state = mujoco_fused.State(*map(library.asarray, state))
    controls = library.zeros((3, robot.nu))
    cases = [
        (state, controls[:2], r"'controls' has the shape \(2, 6\)"),
        (state, controls[:, :5], r"'controls' has the shape \(3, 5\), expected \(num_worlds, 6\)"),
        (state, controls[0], "'controls'"),
        (state._replace(qvel=state.qvel[:, :-1]), controls, "'qvel'"),
        (state._replace(qpos=state.qpos[:2]), controls, "as many worlds as qpos has: 2"),
    ]
    for given, commands, named in cases:
        with pytest.raises(mujoco_fused.ShapeError, match=named):
            step(given, commands)


def test_rollouts_are_calls_one_after_another_in_numpy_and_in_jax(cheetah: Any) -> None:
    robot, step, state = cheetah
    controls = np.random.default_rng(0).uniform(-1, 1, (4, 3, robot.nu)).astype(np.float32)
    states, heights = step.rollout(state, controls)
    compiled, _ = jax.jit(step.rollout)(state, jnp.asarray(controls))
    assert heights.shape == (4, 3, 0)
    for number, own in enumerate(controls):
        state, _ = step(state, own)
        for ours, theirs, in_jax in zip(state, states, compiled, strict=True):
            np.testing.assert_array_equal(ours, theirs[number])
            np.testing.assert_array_equal(ours, in_jax[number])
    assert isinstance(states.qpos, np.ndarray)
    assert isinstance(compiled.qpos, jax.Array)


def test_parameters_work_under_jit_scan_and_vmap() -> None:
    robot = mujoco.MjModel.from_xml_string(PENDULUM)
    step = mujoco_fused.compile(robot, parameters=("gravity",))
    state = mujoco_fused.start(robot, 5, np.linspace(0.5, 1, 5)[:, None])
    controls = jnp.zeros((2, 5, 0))
    gravity = jnp.asarray(np.random.default_rng(0).normal(size=(3, 5, 3)), jnp.float32)
    many = jax.jit(jax.vmap(lambda own: step.rollout(state, controls, gravity=own)[0].qpos))(gravity)
    for own, found in zip(np.asarray(gravity), many, strict=True):
        np.testing.assert_array_equal(step.rollout(state, np.asarray(controls), gravity=own)[0].qpos, found)


def test_double_precision_keeps_its_digits() -> None:
    robot = mujoco.MjModel.from_xml_string(PENDULUM)
    state = mujoco_fused.start(robot, 2, [[0.1], [0.2]], precision=mujoco_fused.DOUBLE)
    step = mujoco_fused.compile(robot, num_steps=10, precision=mujoco_fused.DOUBLE)
    after, _ = step(state, np.zeros((2, 0)))
    data = mujoco.MjData(robot)
    data.qpos[:] = 0.1
    mujoco.mj_step(robot, data, 10)
    assert after.qpos.dtype == np.float64
    assert after.qpos[0] == pytest.approx(data.qpos, rel=1e-14)
    with pytest.raises(mujoco_fused.FusedError, match="jax_enable_x64"):
        step(mujoco_fused.State(*map(jnp.asarray, state)), jnp.zeros((2, 0)))


def test_no_world_is_no_error(cheetah: Any) -> None:
    robot, step, _ = cheetah
    after, heights = step(mujoco_fused.start(robot, 0), np.zeros((0, robot.nu)))
    assert after.qpos.shape == (0, robot.nq)
    assert heights.shape == (0, 0)


def test_batches_may_be_empty() -> None:
    robot = mujoco.MjModel.from_xml_string(PENDULUM)
    step = mujoco_fused.compile(robot, parameters=("gravity",))
    none, gravity = mujoco_fused.start(robot, 0), np.zeros((0, 3))
    for library in (np, jnp):
        state = mujoco_fused.State(*map(library.asarray, none))
        after, _ = step(state, library.zeros((0, 0)), gravity=library.asarray(gravity))
        assert after.qpos.shape == (0, 1)
        states, heights = step.rollout(mujoco_fused.start(robot, 2), library.zeros((0, 2, 0)), gravity=np.zeros((2, 3)))
        assert states.qvel.shape == (0, 2, 1)
        assert heights.shape == (0, 2, 0)


ANY: Any = mujoco_fused
"""What is called with arguments of wrong types."""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda robot: ANY.compile(robot, num_steps=0),
            "'num_steps' is 0, expected a whole number of 1 or more",
        ),
        (lambda robot: ANY.compile(robot, num_steps=-1), "'num_steps' is -1"),
        (lambda robot: ANY.compile(robot, num_steps=1.5), "'num_steps' is 1.5"),
        (lambda robot: ANY.verify(robot, num_worlds=0), "'num_worlds' is 0"),
        (lambda robot: ANY.compile(robot, precision="double"), "precision is 'double', expected .*FLOAT or"),
        (lambda robot: ANY.start(robot, 2, precision="double"), "precision is 'double'"),
        (lambda robot: ANY.compile(robot, watched="gyro"), "'watched' is the text 'gyro', expected several"),
        (lambda robot: ANY.start(robot, 3, np.zeros((2, 1))), r"\(2, 1\), expected .* \(3, 1\)"),
        (lambda robot: ANY.unsupported("robot.xml"), "Expected a mujoco.MjModel, got a str"),
        (lambda robot: ANY.compile("robot.xml"), "Expected a mujoco.MjModel, got a str"),
        (lambda robot: ANY.verify("robot.xml"), "Expected a mujoco.MjModel, got a str"),
        (lambda robot: ANY.start("robot.xml", 1), "Expected a mujoco.MjModel, got a str"),
    ],
)
def test_what_is_given_is_checked(call: Any, said: str) -> None:
    with pytest.raises(mujoco_fused.FusedError, match=said):
        call(mujoco.MjModel.from_xml_string(PENDULUM))


def test_where_no_state_survives_there_is_nothing_to_compare() -> None:
    none = mujoco_fused.start(mujoco.MjModel.from_xml_string(PENDULUM), 0)
    verified = mujoco_fused.Verified(np.zeros(0), none, np.zeros((0, 0)), 0.0)
    assert str(verified) == "nothing to compare: native MuJoCo breaks down from all states"
    assert np.isnan([verified.median, verified.worst]).all()


def test_a_cache_that_cannot_be_written_is_replaced_and_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = "from mujoco_fused.kernel import warp; print(warp().config.kernel_cache_dir)"
    environment = os.environ | {"WARP_CACHE_PATH": str(tmp_path / "file" / "cache"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    used = done.stdout.strip().splitlines()[-1]
    assert used.startswith(str(tmp_path / "mujoco-fused-"))
    assert f"Warp cannot keep compiled programs in {tmp_path}/file/cache" in done.stderr
    assert used in done.stderr
    assert "WARP_CACHE_PATH" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["file"]  # it is gone with the program
