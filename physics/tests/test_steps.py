"""Whole time steps and short episodes of compiled models, as MuJoCo makes them."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import mujoco_fused as fused
import numpy as np
import pytest
from models import ASSETS, each_quickly, model, snake, states

pytest.importorskip("warp", reason="Warp is not installed")


def native_step(model: mujoco.MjModel, given: dict[str, Any], num_steps: int = 1) -> dict[str, Any]:
    after: dict[str, list[Any]] = {"q": [], "v": [], "w": []}
    for q, v, w, u in zip(*given.values(), strict=True):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:], data.ctrl[:] = q, v, w, u
        mujoco.mj_step(model, data, num_steps)
        for name, array in zip("qvw", (data.qpos, data.qvel, data.qacc), strict=True):
            after[name].append(array.copy())
    return {name: np.array(arrays) for name, arrays in after.items()}


def double_step(model: mujoco.MjModel, given: dict[str, Any]) -> dict[str, Any]:
    step = fused.compile(model, precision=fused.DOUBLE)
    after, _ = step(fused.State(given["q"], given["v"], given["w"]), given["u"])
    return dict(zip("qvw", after, strict=True))


def assert_close(ours: dict[str, Any], expected: dict[str, Any], tolerance: float) -> None:
    for key in "qvw":
        scale = 1 + np.abs(expected[key]).max(axis=1, keepdims=True)
        assert np.max(np.abs(ours[key] - expected[key]) / scale) < tolerance, key


@each_quickly
def test_one_step_in_double_is_mujocos(name: str) -> None:
    robot = model(name)
    given = states(robot, 40, seed=1)
    assert_close(double_step(robot, given), native_step(robot, given), 1e-11)


@pytest.mark.parametrize("name", ["mixed", *(pytest.param(one, marks=pytest.mark.full) for one in ("ant", "humanoid"))])
def test_loops_do_what_unrolled_statements_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = model(name)
    given = states(robot, 40, seed=1)
    texts = [fused.emit(robot)]
    monkeypatch.setattr("mujoco_fused.tree.LONG", 0)
    texts.append(fused.emit(robot))
    assert ["d_first" in text for text in texts] == [False, True]
    assert_close(double_step(robot, given), native_step(robot, given), 1e-11)


def test_the_program_of_a_snake_grows_with_its_length_and_not_with_the_cube() -> None:
    short, long = (len(fused.emit(mujoco.MjModel.from_xml_string(snake(number)))) for number in (20, 40))
    assert long < 2.1 * short


@pytest.mark.parametrize("touches_itself", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_long_snake_moves_as_mujoco_has_it(touches_itself: bool) -> None:
    robot = mujoco.MjModel.from_xml_string(snake(24, touches_itself))
    robot.opt.tolerance, robot.opt.ls_tolerance, robot.opt.iterations = 1e-15, 1e-12, 100
    given = states(robot, 20, seed=1)
    assert_close(double_step(robot, given), native_step(robot, given), 1e-9)


def test_a_step_does_not_depend_on_where_the_solver_begins() -> None:
    robot = model("ant")
    given = states(robot, 40, seed=1)
    elsewhere = np.random.default_rng(0).normal(0, 1e3, given["w"].shape)
    assert_close(double_step(robot, given | {"w": elsewhere}), double_step(robot, given), 1e-10)


@each_quickly
def test_twenty_steps_in_float_stay_with_mujoco(name: str) -> None:
    robot, num_worlds = model(name), 16
    given = states(robot, num_worlds, seed=2)
    step = fused.compile(robot)
    state = fused.State(*(given[key].astype(np.float32) for key in "qvw"))
    controls = np.random.default_rng(3).uniform(-1, 1, (20, num_worlds, robot.nu)).astype(np.float32)
    data = []
    for index in range(num_worlds):
        data.append(mujoco.MjData(robot))
        data[-1].qpos[:], data[-1].qvel[:], data[-1].qacc_warmstart[:] = (part[index] for part in state)
    for control in controls:
        state, _ = step(state, control)
        for one, own in zip(data, control, strict=True):
            one.ctrl[:] = own
            mujoco.mj_step(robot, one)
    off = np.abs(state.qpos - np.array([one.qpos for one in data])).max(axis=1)
    # A foot that touches a step earlier sends a world elsewhere: most agree closely, all of them roughly.
    assert np.median(off) < 1e-5
    assert off.max() < 5e-3


def test_jax_and_numpy_take_the_same_steps_also_in_batches() -> None:
    robot = model("cheetah")
    step, first = fused.compile(robot, num_steps=2), fused.start(robot, 6)
    controls = np.random.default_rng(0).uniform(-1, 1, (6, robot.nu)).astype(np.float32)
    on_cpu, nothing = step(first, controls)
    as_jax = jax.tree.map(jnp.asarray, first)
    compiled, nothing_either = jax.jit(step)(as_jax, jnp.asarray(controls))
    assert nothing.shape == nothing_either.shape == (6, 0)  # no geom is watched
    twice, _ = jax.vmap(step)(
        jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), as_jax), jnp.stack([controls, -controls])
    )
    for ours, theirs, both in zip(on_cpu, compiled, twice, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(both[0], theirs)
    assert isinstance(on_cpu.qpos, np.ndarray)
    assert not np.array_equal(twice.qpos[0], twice.qpos[1])


def test_heights_of_geoms_are_told_as_sensors_see_them() -> None:
    robot = model("cheetah")
    foot = robot.geom("ffoot").id
    state, _ = fused.compile(robot)(fused.start(robot, 1), np.zeros((1, robot.nu), np.float32))
    _, clearance = fused.compile(robot, watched=(foot,))(state, np.zeros((1, robot.nu), np.float32))
    data = mujoco.MjData(robot)
    data.qpos[:] = state.qpos[0]
    mujoco.mj_kinematics(robot, data)
    ends = data.geom_xpos[foot, 2] + np.array([1, -1]) * robot.geom_size[foot, 1] * data.geom_xmat[foot, 8]
    assert clearance[0, 0] == pytest.approx(ends.min() - robot.geom_size[foot, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"option": 'integrator="implicit"'}, "IMPLICIT"),
        ({"option": 'cone="elliptic"'}, "elliptic"),
        ({"option": 'density="1.2"'}, "density"),
        ({"geom": 'type="cylinder" size="0.1 0.2"'}, "not spheres, capsules or boxes"),
        ({"geom": 'type="sphere" size="0.1" condim="6"'}, "condim 6"),
        ({"joint": 'stiffness="1 2"'}, "not linear"),
        ({"joint": 'type="ball" stiffness="3"'}, "ball joints"),
        ({"more": '<equality><joint joint1="j" polycoef="0 1 0 0 0"/></equality>'}, "equality"),
        ({"more": '<actuator><general joint="j" dyntype="integrator" ctrlrange="0 1"/></actuator>'}, "actuators"),
        ({"body": '<body pos="0 0 1"><joint/><geom name="other" type="box" size="0.1 0.1 0.1"/></body>'}, "'other'"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(change: dict[str, str], named: str) -> None:
    parts = {"option": "", "geom": 'type="sphere" size="0.1"', "joint": "", "more": "", "body": ""} | change
    text = f"""<mujoco><option {parts["option"]}/><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 1"><joint name="j" {parts["joint"]}/><geom {parts["geom"]}/></body>{parts["body"]}</worldbody>
      {parts["more"]}</mujoco>"""
    with pytest.raises(fused.UnsupportedModelError, match=named):
        fused.compile(mujoco.MjModel.from_xml_string(text))


@pytest.mark.parametrize(
    "name", ["hopper", *(pytest.param(one, marks=pytest.mark.full) for one in ("ant", "humanoid"))]
)
def test_robots_move_as_mujoco_has_them_with_their_own_bodies_in_contact(name: str) -> None:
    robot = mujoco.MjModel.from_xml_path(str(ASSETS / f"{name}.xml"))
    robot.opt.tolerance, robot.opt.ls_tolerance, robot.opt.iterations = 1e-15, 1e-12, 100
    robot.opt.solver = int(mujoco.mjtSolver.mjSOL_NEWTON)
    verified = fused.verify(robot)
    assert verified.num_contacts > 0.3
    assert verified.worst < 1e-9


def test_more_limits_than_a_number_has_bits() -> None:
    pendulums = "".join(
        f'<body pos="0 {k} 0"><joint axis="0 1 0" range="-20 {10 + k}"/><geom size="0.1" pos="0 0 -1"/></body>'
        for k in range(70)
    )
    robot = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{pendulums}</worldbody></mujoco>")
    given = states(robot, 20, seed=1)
    given["q"] = np.random.default_rng(0).uniform(-0.6, 1.6, given["q"].shape)
    assert_close(double_step(robot, given), native_step(robot, given), 1e-11)
