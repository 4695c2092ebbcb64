"""PyBullet's robots under known actions, recorded once, and ours under the same: what bodies are fitted to.

- random: new actions, uniform in +-1, at every control step.
- bang-bang: full torque one way or the other, each motor switching with probability 0.1 per control step.
- gait: a sine per motor, of one frequency per episode (0.5 to 3 Hz) and of random phases and amplitudes.
- falling: limp, from random heights, tilts and poses.
- sliding: limp, at 1 to 6 m/s.
- motor: one motor at a time, high up in the air.

An action is a share of its motor's limit, in the order of joints. Episodes never end early.

    pip install -e '.[locomotion,bullet]'
    python benchmarks/bullet_motions.py      records anew: results/benchmarks/bullet-motions.npz
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mujoco.batch import Batch

from evolvability.tasks.robots.observations import slowed
from evolvability.tasks.robots.paper import ROBOTS
from evolvability.tasks.robots.robot import Robot

ENVIRONMENTS = {"cheetah": "HalfCheetahBulletEnv-v0", "ant": "AntBulletEnv-v0"}
PATH = Path(__file__).parents[1] / "results" / "benchmarks" / "bullet-motions.npz"
SEEDS, EPISODES = 6, 20
STEPS = {"random": 600, "bang-bang": 600, "gait": 600, "falling": 120, "sliding": 120, "motor": 20}
STRIDE = {"random": 10, "bang-bang": 10, "gait": 10, "falling": 5, "sliding": 5, "motor": 2}
"""Control steps from one state that is kept to the next, of the first seed."""
CONTROL_STEP = 0.0165  # seconds
FALLEN, LEANING = 0.26, 1.0
"""An ant has fallen with its torso below this height (m); a cheetah that leans farther (rad)."""

Array = np.ndarray[Any, Any]


class Motion(NamedTuple):
    """States in MuJoCo's coordinates: (num_episodes, num_steps + 1, num_positions) and (..., num_velocities)."""

    qpos: Array
    qvel: Array


def make_actions(kind: str, num_joints: int, seed: int) -> Array:
    """(num_episodes, num_steps, num_joints) in +-1."""
    random = np.random.default_rng([list(STEPS).index(kind), seed])
    shape = (EPISODES, STEPS[kind], num_joints)
    if kind == "random":
        return random.uniform(-1, 1, shape)
    if kind == "bang-bang":
        switched = np.cumsum(random.random(shape) < 0.1, axis=1)
        return (-1.0) ** (switched + random.integers(2, size=(EPISODES, 1, num_joints)))
    if kind == "gait":
        times = CONTROL_STEP * np.arange(STEPS[kind])[:, None]
        frequency = random.uniform(0.5, 3, (EPISODES, 1, 1))
        phase, amplitude = random.uniform(0, 1, (2, EPISODES, 1, num_joints))
        return amplitude * np.sin(2 * np.pi * (frequency * times + phase))
    actions = np.zeros(shape)
    if kind == "motor":
        for episode, size in enumerate(random.uniform(-1, 1, EPISODES)):
            actions[episode, :, episode % num_joints] = size
    return actions


def make_starts(kind: str, robot: Robot, seed: int) -> Motion | None:
    """Where limp episodes begin; None for those that begin where PyBullet has them begin."""
    random = np.random.default_rng([100 + list(STEPS).index(kind), seed])
    low, high = robot.joint_range.T
    qpos, qvel = np.tile(robot.model.qpos0, (EPISODES, 1)), np.zeros((EPISODES, robot.model.nv))
    up, joints = 1 if robot.name == "cheetah" else 2, slice(-robot.num_joints, None)
    share = random.uniform(size=(EPISODES, robot.num_joints))
    if kind == "falling":
        qpos[:, up] += random.uniform(0.2, 0.8, EPISODES)
        qpos[:, joints] = low + share * (high - low)
        tilt = random.uniform(-0.7, 0.7, EPISODES)
        if robot.name == "cheetah":
            qpos[:, 2] = tilt
        else:
            qpos[:, 3], qpos[:, 5] = np.cos(tilt / 2), np.sin(tilt / 2)
    elif kind == "sliding":
        qpos[:, joints] = low + (0.25 + 0.5 * share) * (high - low)
        qvel[:, 0] = random.uniform(1, 6, EPISODES) * random.choice([-1, 1], EPISODES)
    elif kind == "motor":
        qpos[:, up] += 4.0
        qpos[:, joints] = (low + high) / 2
    else:
        return None
    return Motion(qpos, qvel)


def simulate(robot: Robot, start: Motion, actions: Array) -> Motion:
    """Episodes of our robot from states (num_episodes, ...)."""
    batch = Batch(robot.model, len(actions))
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
    qpos[:], qvel[:] = start
    joint_of_motor = robot.model.actuator_trnid[:, 0] - (robot.model.njnt - robot.num_joints)
    states = [(qpos.copy(), qvel.copy())]
    for step in range(actions.shape[1]):
        ctrl[:] = actions[:, step][:, joint_of_motor]
        batch.step(None, nstep=robot.steps_per_control)
        qvel[:] = slowed(robot, qpos, qvel)
        states.append((qpos.copy(), qvel.copy()))
    return Motion(*(np.stack(leaves, axis=1) for leaves in zip(*states, strict=True)))


class Bullet:
    """One of PyBullet's environments, whose states are read and written in MuJoCo's coordinates."""

    def __init__(self, name: str) -> None:
        import gymnasium
        import pybullet_envs_gymnasium  # noqa: F401 (registers the environments)

        environment: Any = gymnasium.make(ENVIRONMENTS[name]).unwrapped
        environment.reset(seed=0)
        self.name, self.environment = name, environment
        joints = self.environment.robot.ordered_joints
        self.client, self.body = self.environment._p, joints[0].bodies[joints[0].bodyIndex]
        self.joints = [joint.jointIndex for joint in joints]

    def place(self, qpos: Array, qvel: Array) -> None:
        """Set a state whose joints are at rest and whose root does not turn."""
        joints = list(zip(self.joints, qpos[-len(self.joints) :], strict=True))
        if self.name == "cheetah":
            for index in range(3):
                self.client.resetJointState(self.body, index, qpos[index], qvel[index])
        else:
            self.client.resetBasePositionAndOrientation(self.body, qpos[:3], [*qpos[4:7], qpos[3]])
            self.client.resetBaseVelocity(self.body, qvel[:3], [0, 0, 0])
        for index, angle in joints:
            self.client.resetJointState(self.body, index, angle, 0.0)

    def state(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        indices = [0, 1, 2, *self.joints] if self.name == "cheetah" else self.joints
        angles, speeds = np.array([joint[:2] for joint in self.client.getJointStates(self.body, indices)]).T
        if self.name == "cheetah":
            return angles, speeds
        place, turn = self.client.getBasePositionAndOrientation(self.body)
        velocity, spin = self.client.getBaseVelocity(self.body)
        rotation = np.reshape(self.client.getMatrixFromQuaternion(turn), (3, 3))
        qpos = np.concatenate([place, turn[3:], turn[:3], angles])
        return qpos, np.concatenate([velocity, rotation.T @ spin, speeds])

    def motion(self, actions: Array, start: Motion | None, seed: int) -> Motion:
        """Episodes, one after the other."""
        episodes = []
        for episode, own in enumerate(actions):
            self.environment.reset(seed=1000 * seed + episode)
            if start:
                self.place(start.qpos[episode], start.qvel[episode])
            states = [self.state()]
            for action in own:
                self.environment.robot.apply_action(action)
                self.environment.scene.global_step()
                states.append(self.state())
            episodes.append([np.stack(leaves) for leaves in zip(*states, strict=True)])
        return Motion(*(np.stack(leaves) for leaves in zip(*episodes, strict=True)))

    def facts(self) -> dict[str, Any]:
        """Its motors (N m, in the order of joints) and mass (kg)."""
        joints, links = self.environment.robot.ordered_joints, range(-1, self.client.getNumJoints(self.body))
        return {
            "motors": [self.environment.robot.power * joint.power_coef for joint in joints],
            "mass": sum(self.client.getDynamicsInfo(self.body, link)[0] for link in links),
        }


def rows(robot: Robot, motion: Motion) -> dict[str, float]:
    """A few numbers about episodes: medians over them, and the share that fell."""
    torso = robot.torso(motion.qpos, motion.qvel)
    place = np.stack(torso.position, axis=-1)
    distance = np.linalg.norm((place[:, -1] - place[:, 0])[:, :2], axis=1)
    velocity, speeds = np.diff(place, axis=1) / CONTROL_STEP, motion.qvel[:, 1:, -robot.num_joints :]
    fallen = abs(torso.pitch) > LEANING if robot.name == "cheetah" else torso.position[2] < FALLEN
    return {
        "distance_median": float(np.median(distance)),
        "distance_mean": float(np.mean(distance)),
        "height_median": float(np.median(place[..., 2])),
        "height_1_percent": float(np.quantile(place[..., 2], 0.01)),
        "height_99_percent": float(np.quantile(place[..., 2], 0.99)),
        "torso_speed_rms": float(np.sqrt(np.mean(np.sum(velocity**2, axis=-1)))),
        "joint_speed_rms": float(np.sqrt(np.mean(speeds**2))),
        "joint_speed_99_percent": float(np.quantile(np.abs(speeds), 0.99)),
        "share_fallen": float(np.mean(fallen.any(axis=1))),
    }


def record(name: str, seed: int) -> dict[str, Array]:
    """Of every kind: starts and rows; of the first seed, also states."""
    robot, bullet = ROBOTS[name](), Bullet(name)
    kept: dict[str, Array] = {}
    for kind in STEPS:
        motion = bullet.motion(make_actions(kind, robot.num_joints, seed), make_starts(kind, robot, seed), seed)
        place = f"{name}/{kind}/"
        if seed == 0:
            kept[place + "qpos"] = motion.qpos[:, :: STRIDE[kind]].astype(np.float32)
            kept[place + "qvel"] = motion.qvel[:, :: STRIDE[kind]].astype(np.float16)
        kept[f"{place}start/{seed}"] = motion.qpos[:, 0].astype(np.float32)
        kept[f"{place}rows/{seed}"] = np.array(list(rows(robot, motion).values()), np.float32)
    if seed == 0:
        facts = bullet.facts()
        kept[f"{name}/motors"], kept[f"{name}/mass"] = np.array(facts["motors"]), np.array(facts["mass"])
    return kept


def main() -> None:
    jobs = [(name, seed) for name in ENVIRONMENTS for seed in range(SEEDS)]
    with ProcessPoolExecutor(2, get_context("spawn")) as workers:
        parts = workers.map(record, *zip(*jobs, strict=True))
        arrays: dict[str, Any] = {key: array for part in parts for key, array in part.items()}
        np.savez_compressed(PATH, **arrays)
    print(PATH, f"{PATH.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
