"""Parameters that differ between worlds: each world moves as a native model that was edited in the same way."""

import itertools
from typing import Any

import mujoco
import mujoco_fused
import numpy as np
import pytest
from models import model
from mujoco_fused.verification import native_steps, random_states

pytest.importorskip("warp", reason="Warp is not installed")


def drawn(robot: mujoco.MjModel, names: tuple[str, ...], number: int) -> dict[str, Any]:
    """Rows of parameters that are far from the model's own, some of them zero."""
    generator = np.random.default_rng(5)
    own = mujoco_fused.own_parameters(robot)
    rows = {name: own[name] * generator.uniform(0.3, 2, (number, *own[name].shape)) for name in names}
    if "gear" in rows:
        rows["gear"][generator.random(rows["gear"].shape) < 0.2] = 0.0
    if "damping" in rows:
        rows["damping"] += generator.uniform(0, 0.2, rows["damping"].shape)
    if "gravity" in rows:
        rows["gravity"] += generator.normal(0, 3, (number, 3))
    if "force" in rows:
        rows["force"] = generator.normal(0, 5, rows["force"].shape)
    return rows


@pytest.mark.parametrize(
    ("robot", "names"),
    [
        ("mixed", tuple(mujoco_fused.PARAMETERS)),
        pytest.param("cheetah", tuple(mujoco_fused.PARAMETERS), marks=pytest.mark.full),
        pytest.param("ant", tuple(mujoco_fused.PARAMETERS), marks=pytest.mark.full),
        *(pytest.param("mixed", (name,), marks=pytest.mark.full) for name in mujoco_fused.PARAMETERS),
    ],
)
def test_worlds_move_as_native_models_that_were_edited(robot: str, names: tuple[str, ...]) -> None:
    one = tight(model(robot))
    rows = drawn(one, names, 60)
    verified = mujoco_fused.verify(one, num_worlds=60, parameters=rows)
    assert verified.num_contacts > 0.5
    assert verified.worst < 1e-10
    without, _ = native_steps(one, verified.states, verified.controls)
    given, _ = native_steps(one, verified.states, verified.controls, 1, rows)
    # The parameters matter: without them worlds are elsewhere.
    assert np.max(np.abs(without.qvel - given.qvel)) > 1e-3


def tight(robot: mujoco.MjModel) -> mujoco.MjModel:
    """With a native solver that ends as near to the solution as the compiled one."""
    robot = mujoco.MjModel.__copy__(robot)
    robot.opt.tolerance, robot.opt.ls_tolerance, robot.opt.iterations = 1e-15, 1e-12, 100
    return robot


def test_a_models_own_parameters_change_nothing() -> None:
    robot = model("mixed")
    state, controls = random_states(robot, 20)
    own = {
        name: np.broadcast_to(array, (20, *array.shape)) for name, array in mujoco_fused.own_parameters(robot).items()
    }
    steps = [mujoco_fused.compile(robot, precision=mujoco_fused.DOUBLE, parameters=tuple(names)) for names in ((), own)]
    (plain, _), (given, _) = steps[0](state, controls), steps[1](state, controls, **own)
    for ours, theirs in zip(plain, given, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_negative_damping_alone_is_not_looked_ahead_at() -> None:
    robot = model("mixed")
    rows = np.random.default_rng(0).uniform(-0.3, 0.1, (40, robot.nv))
    rows[:20] = -np.abs(rows[:20])
    robot = tight(robot)
    robot.dof_dampingpoly[:] = 0
    assert mujoco_fused.verify(robot, num_worlds=40, parameters={"damping": rows}).worst < 1e-10


def test_what_is_not_a_parameter_costs_nothing() -> None:
    robot = model("cheetah")
    plain = mujoco_fused.emit(robot)
    assert "p_" not in plain
    assert len(mujoco_fused.emit(robot, parameters=("gear",)).splitlines()) <= len(plain.splitlines()) + 2 * robot.nu


def test_parameters_are_asked_for_by_name_and_shape() -> None:
    robot = model("mixed")
    with pytest.raises(mujoco_fused.FusedError, match=r"gears.*Available, once each: gear"):
        mujoco_fused.compile(robot, parameters=("gears",))
    with pytest.raises(mujoco_fused.FusedError, match=r"repeated parameters \['gear', 'gear'\]"):
        mujoco_fused.compile(robot, parameters=("gear", "mass", "gear"))
    with pytest.raises(mujoco_fused.FusedError, match="'parameters' is the text 'gear', expected several names"):
        mujoco_fused.compile(robot, parameters="gear")
    step, state = mujoco_fused.compile(robot, parameters=("gravity",)), mujoco_fused.start(robot, 2)
    controls = np.zeros((2, robot.nu))
    for given in ({}, {"friction": np.ones((2, robot.ngeom))}):
        with pytest.raises(mujoco_fused.FusedError, match="compiled with the parameters: gravity"):
            step(state, controls, **given)
    with pytest.raises(mujoco_fused.ShapeError, match=r"'gravity' has the shape \(3,\), expected \(num_worlds, 3\)"):
        step(state, controls, gravity=np.zeros(3))


def test_every_parameter_is_explained() -> None:
    assert set(mujoco_fused.PARAMETERS) == set(mujoco_fused.own_parameters(model("mixed")))
    for one, other in itertools.pairwise(mujoco_fused.PARAMETERS.values()):
        assert one.startswith("(")
        assert one != other
