import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from evolvability.tasks.robots.observations import (
    MAX_POSITION,
    MAX_SPEED,
    is_plausible,
    slowed,
    touching,
)
from evolvability.tasks.robots.paper import BODIES, ROBOTS, ant, cheetah
from evolvability.tasks.robots.robot import Robot

robots = pytest.mark.parametrize("robot", [cheetah(), ant()], ids=["cheetah", "ant"])
bodies = pytest.mark.parametrize("body", BODIES)


def look(robot: Robot, qpos: np.ndarray, qvel: np.ndarray, contacts: np.ndarray) -> np.ndarray:
    seen: np.ndarray = robot.look(robot.view(qpos, qvel, contacts))
    return seen


def has_fallen(robot: Robot, qpos: np.ndarray, qvel: np.ndarray, contacts: np.ndarray) -> bool:
    assert robot.ends
    return bool(robot.ends(robot.view(qpos, qvel, contacts)))


@bodies
@pytest.mark.parametrize(("name", "observations", "torques", "behaviors"), [("cheetah", 26, 6, 1), ("ant", 28, 8, 2)])
def test_robots_have_the_papers_sizes(name: str, observations: int, torques: int, behaviors: int, body: str) -> None:
    robot = ROBOTS[name](body)
    assert (robot.num_observations, robot.num_joints, len(robot.behavior)) == (observations, torques, behaviors)
    assert robot.num_motors == torques
    np.testing.assert_array_equal(robot.model.actuator_ctrlrange, [[-1, 1]] * torques)
    assert robot.control_step == pytest.approx(0.0165)


def test_the_papers_bodies_are_pybullets() -> None:
    # As PyBullet 3.2.7 reports them: kg, N m in the order of motors, and rad.
    for robot, mass, motors in ((cheetah(), 38.188, [108, 81, 54, 126, 54, 27]), (ant(), 182.176, [250, 179] * 4)):
        assert robot.model.body_mass.sum() == pytest.approx(mass, abs=1e-3)
        assert robot.model.actuator_gear[:, 0].tolist() == motors
        assert not robot.model.jnt_stiffness.any()
        assert robot.model.opt.timestep == 0.0165 / 4
    assert cheetah().joint_range[:, 0].tolist() == [-0.52, -0.785, -0.4, -1.5, -1.2, -3.1]
    assert cheetah().joint_range[:, 1].tolist() == [1.05, 0.785, 0.785, 0.8, 1.1, -0.3]
    np.testing.assert_allclose(np.degrees(ant().joint_range[:4]), [[-40, 40], [30, 100], [-40, 40], [-100, -30]])


def test_links_of_the_papers_cheetah_turn_about_their_centers_of_mass() -> None:
    model = cheetah().model
    assert not model.body_ipos[1:].any()
    assert model.body("ffoot").mass == model.body("bfoot").mass == 10


def test_a_joint_beyond_its_limit_is_stopped_and_not_pushed_back() -> None:
    robot = ant()
    data = mujoco.MjData(robot.model)
    data.qpos[:] = robot.start
    data.qpos[2] = 50.0  # in free fall
    for _ in range(100):
        mujoco.mj_step(robot.model, data)
    # The ankles started 30 degrees beyond their limits.
    assert np.abs(np.degrees(data.qpos[8::2])).max() < 5
    data.ctrl[:] = -np.sign(robot.joint_range.sum(axis=1)[[6, 7, 0, 1, 2, 3, 4, 5]])
    for _ in range(100):
        mujoco.mj_step(robot.model, data)
    assert np.abs(np.degrees(data.qpos[8::2])).max() < 5


def test_the_air_slows_as_in_pybullet() -> None:
    # It slows by 0.04 (1 + speed) per second; recorded in PyBullet: 15 m/s become 13.3 within twelve control steps.
    for robot in (cheetah(), ant()):
        data = mujoco.MjData(robot.model)
        data.qpos[:] = robot.start
        data.qpos[1 if robot.name == "cheetah" else 2] += 100
        data.qvel[0] = 15.0
        for _ in range(12):
            mujoco.mj_step(robot.model, data, robot.steps_per_control)
            data.qvel[:] = slowed(robot, data.qpos, data.qvel)
        assert data.qvel[0] == pytest.approx(0.8866 * 15, rel=1e-3)


def test_ant_observation_matches_hand_computed_values() -> None:
    robot = ant("gymnasium")
    qpos, qvel = robot.start.copy(), np.zeros(14)
    yaw, roll = 0.5, 0.2
    qpos[:3] = [2.0, 3.0, 0.75]
    qpos[3:7] = [
        np.cos(yaw / 2) * np.cos(roll / 2),
        np.cos(yaw / 2) * np.sin(roll / 2),
        np.sin(yaw / 2) * np.sin(roll / 2),
        np.sin(yaw / 2) * np.cos(roll / 2),
    ]
    qpos[7:9] = [0.0, np.radians(70)]  # the middle of a hip's range, the end of a knee's
    qvel[:3] = [1.0, 2.0, -3.0]
    qvel[6:8] = [4.0, 80.0]
    seen = look(robot, qpos, qvel, np.array([1.0, 0.0, 0.0, 1.0]))
    angle = np.arctan2(-3.0, 998.0) - yaw
    forward = 0.3 * (np.cos(yaw) * 1 + np.sin(yaw) * 2)
    sideways = 0.3 * (np.cos(yaw) * 2 - np.sin(yaw) * 1)
    expected = [0.75 - 0.55, np.sin(angle), np.cos(angle), forward, sideways, -0.9, roll, 0.0]
    np.testing.assert_allclose(seen[:8], expected, atol=1e-12)
    np.testing.assert_allclose(seen[8:12], [0.0, 0.4, 1.0, 5.0])  # the last one clipped from 8
    np.testing.assert_array_equal(seen[-4:], [1, 0, 0, 1])


def test_cheetah_observation_matches_hand_computed_values() -> None:
    robot = cheetah()
    qpos, qvel = np.zeros(9), np.zeros(9)
    qpos[:4] = [10.0, 0.1, 2 * np.pi - 0.3, 1.05]
    qvel[:4] = [2.0, -1.0, 7.0, -3.0]
    seen = look(robot, qpos, qvel, np.zeros(6))
    np.testing.assert_allclose(seen[:8], [0.1, 0, 1, 0.6, 0, -0.3, 0, -0.3], atol=1e-12)
    np.testing.assert_allclose(seen[8:10], [1.0, -0.3])
    assert len(seen) == 26


@robots
def test_observation_is_the_same_in_both_array_libraries(robot: Robot) -> None:
    random = np.random.default_rng(0)
    qpos = robot.start + 0.1 * random.normal(size=(5, robot.model.nq))
    qvel = random.normal(size=(5, robot.model.nv))
    contacts = random.integers(0, 2, (5, robot.num_links)).astype(float)
    by_jax = robot.look(robot.view(jnp.asarray(qpos), jnp.asarray(qvel), jnp.asarray(contacts)))
    np.testing.assert_allclose(by_jax, look(robot, qpos, qvel, contacts), atol=1e-5)


@robots
def test_contact_flags_agree_with_the_simulators_contacts(robot: Robot) -> None:
    robot = ROBOTS[robot.name]("gymnasium")  # the paper's calls a floor touched that is near
    data = mujoco.MjData(robot.model)
    links = [robot.model.sensor_objid[2 * k] for k in range(robot.num_links)]
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        data.qpos[:] = robot.start
        data.qpos[:7] += 0.2 * random.normal(size=7)
        data.qpos[-robot.num_joints :] = random.uniform(*robot.joint_range.T)
        mujoco.mj_forward(robot.model, data)
        touched = {geom for pair in data.contact.geom for geom in pair}
        flags = touching(robot, data.sensordata)
        assert [float(link in touched) for link in links] == flags.tolist()
        seen |= set(flags)
    assert seen == {0.0, 1.0}


def test_ant_thighs_never_touch_the_floor_first() -> None:
    # Why their contacts are left out: wherever a thigh would touch, the torso or a shin does too.
    robot = ant()
    data, random = mujoco.MjData(robot.model), np.random.default_rng(0)
    kept = [k for k in range(1, robot.model.ngeom) if robot.model.geom_contype[k]]
    left_out = [k for k in range(1, robot.model.ngeom) if not robot.model.geom_contype[k]]
    assert (len(kept), len(left_out)) == (5, 8)
    for _ in range(300):
        data.qpos[3:7] = random.normal(size=4)
        data.qpos[7:] = random.uniform(*robot.joint_range.T)
        mujoco.mj_forward(robot.model, data)
        lowest = [
            data.geom_xpos[k, 2] - size[1] * abs(data.geom_xmat[k, 8]) - size[0]
            for k, size in enumerate(robot.model.geom_size)
        ]
        assert min(lowest[k] for k in kept) <= min(lowest[k] for k in left_out) + 1e-9


@bodies
def test_ant_falls_when_its_torso_leaves_the_height_range(body: str) -> None:
    robot, qvel = ant(body), np.zeros(14)
    for height, fallen in ((0.25, True), (0.27, False), (0.99, False), (1.01, body == "gymnasium")):
        qpos = robot.start.copy()
        qpos[2] = height
        assert has_fallen(robot, qpos, qvel, np.zeros(4)) == fallen


def test_cheetah_falls_when_it_leans_too_far_or_off_its_feet() -> None:
    robot, qpos, qvel = cheetah(), np.zeros(9), np.zeros(9)
    on_feet, on_shin = np.array([1.0, 0, 0, 1, 0, 0]), np.array([1.0, 1, 0, 1, 0, 0])
    assert not has_fallen(robot, qpos, qvel, on_feet)
    assert has_fallen(robot, qpos, qvel, on_shin)
    qpos[2] = 1.1
    assert has_fallen(robot, qpos, qvel, on_feet)


@robots
def test_broken_states_are_implausible(robot: Robot) -> None:
    qpos, qvel = np.tile(robot.start, (5, 1)), np.zeros((5, robot.model.nv))
    qpos[1, -1], qvel[2, -1] = np.nan, np.inf
    qpos[3, 0], qvel[4, 0] = MAX_POSITION + 1, -MAX_SPEED - 1
    plausible = is_plausible(robot.torso(qpos, qvel), qpos, qvel)
    assert plausible.tolist() == [True, False, False, False, False]


@robots
def test_displacement_is_measured_from_the_start(robot: Robot) -> None:
    qpos = robot.start.copy()
    qpos[:2] += [3.0, 4.0]
    np.testing.assert_allclose(
        robot.measure(robot.view(qpos, np.zeros(robot.model.nv))), [3.0, 4.0][: len(robot.behavior)]
    )
