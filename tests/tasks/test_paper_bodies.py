"""The paper's bodies beside motions that were recorded of PyBullet."""

import numpy as np
import pytest

from benchmarks.bullet_motions import PATH, STRIDE, Motion, make_actions, simulate
from evolvability.tasks.robots.paper import ROBOTS


def off(name: str, kind: str, body: str = "paper", last: int = -1) -> np.ndarray:
    """(num_episodes, num_velocities) how far velocities are from PyBullet's, in units of how much those changed."""
    robot, recorded = ROBOTS[name](body), np.load(PATH)
    qpos, qvel = (recorded[f"{name}/{kind}/{part}"].astype(float) for part in ("qpos", "qvel"))
    num_steps = STRIDE[kind] * (last % qpos.shape[1])
    actions = make_actions(kind, robot.num_joints, seed=0)[:, :num_steps]
    motion = simulate(robot, Motion(qpos[:, 0], qvel[:, 0]), actions)
    return np.abs(motion.qvel[:, -1] - qvel[:, last]) / np.std(qvel[:, last] - qvel[:, 0], axis=0)


# Of the ant, ankles move its torso otherwise than in PyBullet, see `paper_bodies`.
@pytest.mark.parametrize(("name", "within", "beyond"), [("cheetah", 0.005, 1.0), ("ant", 0.12, 0.4)])
def test_single_motors_move_joints_as_in_pybullet(name: str, within: float, beyond: float) -> None:
    assert np.mean(off(name, "motor", last=2)) < within
    assert np.mean(off(name, "motor", "gymnasium", last=2)) > beyond


def test_limp_cheetahs_fall_as_in_pybullet() -> None:
    assert np.mean(off("cheetah", "falling", last=5)) < 0.2
    assert np.mean(off("cheetah", "falling", "gymnasium", last=5)) > 0.8
