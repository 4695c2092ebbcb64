"""The paper's robots on PyBullet."""

from typing import Any

import jax
import numpy as np
import pytest

from evolvability import ConfigError, evolve, make_task
from evolvability.tasks.bullet import BulletMade
from evolvability.tasks.simulators import Address
from tests.optional import PYBULLET

pytestmark = PYBULLET


@pytest.mark.parametrize(
    ("name", "num_params", "behavior"),
    [("cheetah-bullet", 74_246, ("x (m)",)), ("ant-bullet", 75_272, ("x (m)", "y (m)"))],
)
def test_networks_have_the_paper_s_sizes(name: str, num_params: int, behavior: tuple[str, ...]) -> None:
    task = make_task(name)
    assert jax.eval_shape(task.init, jax.random.key(0)).shape == (num_params,)
    assert task.behavior == behavior


@pytest.mark.parametrize("name", ["cheetah-bullet", "ant-bullet"])
def test_robot_runs_and_what_ran_before_does_not_matter(name: str) -> None:
    task = make_task(name, {"num_steps": 40, "hidden": 8, "observation_share": 1.0})
    assert task.simulator is not None
    memory = jax.device_get(task.memory)
    generator = np.random.default_rng(0)
    members = [generator.normal(size=task.init(jax.random.key(0)).shape).astype(np.float32) for _ in range(2)]
    used = task.simulator()
    trials = [used(member, Address((0,), 0, k), memory) for k, member in enumerate(members)]
    alone = task.simulator()(members[1], Address((0,), 0, 1), memory)
    assert alone.behavior.tobytes() == trials[1].behavior.tobytes()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(alone.seen, trials[1].seen, strict=True))
    assert trials[0].num_steps == 40
    assert trials[0].fitness == pytest.approx(trials[0].behavior[0])


@pytest.mark.parametrize(
    ("env", "num_parts", "num_links"), [("HalfCheetahBulletEnv-v0", 17, 16), ("AntBulletEnv-v0", 22, 21)]
)
def test_body_xyz_averages_over_links_and_the_floor(env: str, num_parts: int, num_links: int) -> None:
    """So it moves by less than the robot, and the torso's own position is the one to use."""
    world: Any = BulletMade(env, {})()
    world.reset(seed=0)
    world.step(np.zeros(world.action_space.shape))
    robot = world.robot
    xyz = np.array([part.pose().xyz() for part in robot.parts.values()])
    assert len(robot.parts) == num_parts
    assert xyz[list(robot.parts).index("floor")].tolist() == [0, 0, 0]
    np.testing.assert_allclose(robot.body_xyz[:2], xyz[:, :2].mean(axis=0))
    np.testing.assert_allclose(robot.body_real_xyz, robot.parts["torso"].pose().xyz())
    moving = [name for name in robot.parts if name != "floor"]
    assert len(moving) == num_links


def test_first_generations_end_to_end() -> None:
    options = {"num_steps": 10, "hidden": 4, "observation_share": 0.5, "direction": "left"}
    result = evolve("cheetah-bullet", generations=2, population_size=8, task_options=options)
    assert (result.metrics["num_steps"] == 80).all()
    assert (result.metrics["num_invalid"] == 0).all()
    assert (result.metrics["variance"] > 0).all()


def test_cheetah_does_not_run_sideways() -> None:
    with pytest.raises(ConfigError, match="runs right"):
        make_task("cheetah-bullet", {"direction": "90"})
