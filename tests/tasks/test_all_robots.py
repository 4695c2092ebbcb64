"""Every robot that comes with the package, and robots of one's own: compiled as native, seen as MuJoCo sees them."""

from typing import Any

import jax
import mujoco
import numpy as np
import pytest

from evolvability import RobotOptions, Sample, Task, make_task, robot_task
from evolvability.explorer.videos import draw_without_window, robot_colors, scenes
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.registry import TASKS
from evolvability.tasks.robots.mjcf import ASSETS
from evolvability.tasks.robots.robot import Robot
from tests.browsing import draws_here
from tests.conftest import in_tiers, mutations_for

draw_without_window()

KEY, NUM_STEPS, HIDDEN = jax.random.key(3), 12, 16
ROBOTS = [name for name, entry in TASKS.items() if issubclass(entry.options, EpisodeOptions) and name != "robot"]
MODELS = [name for name in ROBOTS if issubclass(TASKS[name].options, RobotOptions)]
"""Those that see what any robot does by default."""
OTHERS = ["inverted_double_pendulum.xml", "reacher.xml", "swimmer.xml", "pusher_v5.xml"]
"""Of Gymnasium's, as if they were somebody's own."""


def made(name: str, **options: Any) -> Task:
    settings: dict[str, Any] = {"num_steps": NUM_STEPS, "hidden": HIDDEN, "observation_share": 0.5, **options}
    return robot_task(ASSETS / name, **settings) if name in OTHERS else make_task(name, settings)


def robot_of(name: str) -> Robot:
    stage = made(name, engine="mujoco").stage
    assert stage
    return stage.robot


def draw(task: Task, num_members: int = 16) -> Sample:
    return mutations_for(task, num_members)


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


@pytest.mark.parametrize("name", in_tiers([*ROBOTS, *OTHERS[:2]], ["cheetah", "arm", "hopper", "reacher.xml"]))
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


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
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
        flags = [float(body in down) for body in robot.floors]
        seen = robot.look(robot.view(data.qpos, data.qvel))
        np.testing.assert_allclose(seen, [*expected, *flags], atol=1e-9)
        touched |= set(flags)
    assert not robot.floors or touched == {0.0, 1.0}


def test_averages_are_those_of_the_moments_of_an_episode() -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    settings: dict[str, Any] = {"behavior": "site:hand.xyz", "num_steps": NUM_STEPS}
    native, fused = (made("arm", engine=engine, average=True, **settings) for engine in ("mujoco", "fused"))
    sample = draw(native)
    means, _ = native.evaluate(KEY, sample, native.memory)
    compiled, _ = fused.evaluate(KEY, sample, native.memory)
    np.testing.assert_allclose(compiled.behavior, means.behavior, atol=1e-5)
    ends = [made("arm", engine="mujoco", **settings | {"num_steps": k + 1}) for k in range(NUM_STEPS)]
    by_hand = [task.evaluate(KEY, sample, native.memory)[0].behavior for task in ends]
    np.testing.assert_allclose(means.behavior, np.mean(by_hand, axis=0), atol=1e-5)


def test_episodes_end_by_heights_and_by_touch() -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    for options in ({"min_height": 0.275}, {"min_height": 0.0, "must_not_touch": ("FR_calf",)}):
        native, fused = (made("quadruped", engine=engine, num_steps=30, **options) for engine in ("mujoco", "fused"))
        sample = draw(native)
        first, second = (task.evaluate(KEY, sample, native.memory)[0].num_steps for task in (native, fused))
        np.testing.assert_array_equal(first, second)
        assert np.min(first) < 30


@pytest.mark.parametrize("name", in_tiers([*ROBOTS, *OTHERS], ["ant", "arm", "reacher.xml"]))
def test_every_robot_is_seen_in_its_video(name: str) -> None:
    if not draws_here():
        pytest.skip("MuJoCo cannot draw: install Debian's libegl1 and libgl1-mesa-dri, or libosmesa6")
    task = made(name, engine="mujoco")
    assert task.stage
    assert task.stage.replay
    motion = task.stage.replay(KEY, draw(task, 2), task.memory)
    (picture,) = scenes(task.stage.model, [motion], np.array([0]), (180, 320))
    # The robots' own colors, whatever the light: the same hue, and not gray.
    hues = (picture.astype(int) - picture.mean(axis=-1, keepdims=True)).reshape(-1, 3)
    colors = robot_colors(2)[:, :3] - robot_colors(2)[:, :3].mean(axis=1, keepdims=True)
    alike = hues @ colors.T / (np.linalg.norm(hues, axis=1)[:, None] * np.linalg.norm(colors, axis=1) + 1e-9)
    assert np.sum((alike > 0.9).any(axis=1) & (np.linalg.norm(hues, axis=1) > 40)) > 50
