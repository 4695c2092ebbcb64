"""Every robot that comes with the package, and robots of one's own: compiled as native, seen as MuJoCo sees them."""

from typing import Any

import jax
import mujoco
import numpy as np
import pytest
from jax import Array

from evolvability import Sample, Task, normal, robot_task
from evolvability.tasks.robots import Robot

KEY, NUM_STEPS, HIDDEN = jax.random.key(3), 12, 16
MODELS = ("hopper", "walker2d", "humanoid", "quadruped", "arm", "inverted_double_pendulum", "reacher")
robots = pytest.mark.parametrize("name", MODELS)


def made(name: str, **options: Any) -> Task:
    settings: dict[str, Any] = {"num_steps": NUM_STEPS, "hidden": HIDDEN, "observation_share": 0.5}
    return robot_task(name, **settings | options)


def robot_of(name: str) -> Robot:
    stage = made(name, engine="mujoco").stage
    assert stage
    return stage.robot


def draw(task: Task, num_members: int = 16) -> Sample:
    population = normal(0.1)

    def drawn(draws: Array) -> Sample:
        parameters = population.init(jax.random.key(2), task.init(jax.random.key(0))[None])
        return population.sample(jax.random.key(1), parameters, 0, draws)

    return jax.jit(drawn)(population.draws(num_members))


def random_states(robot: Robot, number: int = 20) -> Any:
    """States around the start, near the floor now and then."""
    random, model = np.random.default_rng(0), robot.model
    for _ in range(number):
        data = mujoco.MjData(model)
        data.qpos[:] = robot.start
        data.qvel[:] = random.normal(size=model.nv)
        mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.3)
        data.qvel[:] = random.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        yield data


@robots
def test_compiled_robots_move_as_native_ones(name: str) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    native, fused = made(name, engine="mujoco"), made(name, engine="fused")
    sample = draw(native)
    expected, seen_expected = native.evaluate(KEY, sample, native.memory)
    outcome, seen = fused.evaluate(KEY, sample, native.memory)
    assert np.std(expected.behavior) > 1e-6
    np.testing.assert_array_equal(outcome.valid, expected.valid)
    np.testing.assert_array_equal(outcome.num_steps, expected.num_steps)
    assert np.median(np.abs(outcome.behavior - expected.behavior)) < 1e-5
    np.testing.assert_allclose(seen.mean, seen_expected.mean, atol=1e-2)


@robots
def test_observations_are_what_mujoco_computes(name: str) -> None:
    robot = robot_of(name)
    model, touched = robot.model, set()
    for data in random_states(robot):
        expected: list[float] = []
        if robot.root:
            turn = data.xmat[robot.root].reshape(3, 3)
            speed = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, robot.root, speed, 1)
            expected += [data.xpos[robot.root, 2], *-turn[2], *speed[3:], *0.1 * speed[:3]]
        joints = [j for j in range(model.njnt) if model.jnt_qposadr[j] in robot.joints]
        expected += [data.qpos[model.jnt_qposadr[j]] - robot.start[model.jnt_qposadr[j]] for j in joints]
        expected += [0.1 * data.qvel[model.jnt_dofadr[j]] for j in joints]
        planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
        down = {int(model.geom_bodyid[g]) for pair in data.contact.geom if set(pair) & {*planes} for g in pair}
        flags = [float(body in down) for body in robot.touching]
        seen = robot.look(robot.view(data.qpos, data.qvel))
        np.testing.assert_allclose(seen, [*expected, *flags], atol=1e-9)
        touched |= set(flags)
    assert not robot.touching or touched == {0.0, 1.0}
