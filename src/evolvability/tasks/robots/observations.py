"""What the paper's robots see and when they have fallen, and what is asked of every robot: pure functions of arrays.

The paper's observation is that of PyBullet's locomotion tasks: height above the start, sine and cosine of the angle to
a target far along +x, 0.3 times the velocity in a frame turned by yaw, roll, pitch; each joint's position scaled to its
limits and 0.1 times its speed; one contact flag per link. Its values are clipped to +-5.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.views import Arrays, View

TARGET_DISTANCE = 1000.0  # meters, as in PyBullet
OBSERVATION_LIMIT = 5.0
MAX_POSITION = 500.0
"""Meters from the origin beyond which a simulation has broken down: what the highest speed gives in an episode."""
MAX_SPEED = 30.0
"""Meters a second beyond which a simulation has broken down: in sound physics the worst torques give a torso 10."""


def pybullet_observation(start_height: float, joint_range: HostArray) -> Callable[[View], Arrays]:
    """What the paper's robots see; joint_range: (num_joints, 2) of the joints that come last."""
    number = len(joint_range)

    def look(view: View) -> Arrays:
        xp, torso, qpos, qvel = view.xp, view.torso, view.qpos, view.qvel
        x, y, z = torso.position
        angle = xp.arctan2(-y, TARGET_DISTANCE - x) - torso.yaw
        # Velocities are turned by minus yaw: from the world's axes to those that the robot faces.
        cos, sin = xp.cos(torso.yaw), xp.sin(torso.yaw)
        vx, vy, vz = (0.3 * part for part in torso.velocity)
        body = [
            z - start_height,
            xp.sin(angle),
            xp.cos(angle),
            cos * vx + sin * vy,
            cos * vy - sin * vx,
            vz,
            torso.roll,
            torso.pitch,
        ]
        # The robot's own numbers are float64; an engine's may be float32.
        low, high = joint_range.T.astype(qpos.dtype)
        angles = (2 * qpos[..., -number:] - (low + high)) / (high - low)
        speeds = 0.1 * qvel[..., -number:]
        # Position and speed of one joint side by side, as PyBullet orders them.
        joints = xp.stack([angles, speeds], axis=-1).reshape(*qpos.shape[:-1], -1)
        observation = xp.concatenate([xp.stack(body, axis=-1), joints, view.contacts], axis=-1)
        return xp.clip(observation, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)

    return look


def displacement(start: HostArray) -> Callable[[View], Arrays]:
    """How far from its start a robot is, whose positions begin with the coordinates of its behavior."""

    def measure(view: View) -> Arrays:
        return view.qpos[..., : len(start)] - start.astype(view.qpos.dtype)

    return measure


def fallen_beyond(
    low: float = -np.inf, high: float = np.inf, pitch_limit: float = np.inf, knees: tuple[int, ...] = ()
) -> Callable[[View], Arrays]:
    """Whether a torso is too low or too high, leans too far, or stands on links that it must not stand on."""

    def has_fallen(view: View) -> Arrays:
        height = view.torso.position[2]
        fallen = (height < low) | (height > high) | (abs(view.torso.pitch) > pitch_limit)
        for link in knees:
            fallen = fallen | (view.contacts[..., link] > 0)
        return fallen

    return has_fallen


def slowed(robot: Any, qpos: Arrays, qvel: Arrays) -> Arrays:
    """(..., num_velocities) velocities after a control step in air, which slows all links alike.

    Not a force of MuJoCo's: its damping of the root would slow the torso, and joints would have to pull the rest.
    """
    if not robot.drag:
        return qvel
    vx, vy, vz = robot.torso(qpos, qvel).velocity
    speed = qpos.__array_namespace__().sqrt(vx * vx + vy * vy + vz * vz)
    return qvel * (1 - robot.drag * robot.control_step * (1 + speed))[..., None]


def touching(robot: Any, sensordata: Arrays) -> Arrays:
    """(..., num_links) 1.0 where a link touches the floor, from the sensors of its place and direction."""
    # Of each link its center (x, y, z) and the direction of its axis (x, y, z). MuJoCo computes sensors before it
    # integrates: after a step they are one time step old, in every engine.
    sensors = sensordata.reshape(*sensordata.shape[:-1], robot.num_links, 6)
    radius, half_length, _ = robot.model.geom_size[list(robot.links)].T.astype(sensors.dtype)
    # The lowest point of a capsule: its lower end, less the radius.
    lowest = sensors[..., 2] - half_length * abs(sensors[..., 5]) - radius
    return (lowest < robot.contact_distance).astype(sensors.dtype)


def is_plausible(torso: Any, qpos: Arrays, qvel: Arrays) -> Arrays:
    """(...) whether a state is finite and within what a robot can reach; otherwise its simulation has broken down."""
    xp = qpos.__array_namespace__()
    plausible = xp.isfinite(qpos.sum(axis=-1) + qvel.sum(axis=-1))  # a sum is finite only if its terms are
    for position, velocity in zip(torso.position, torso.velocity, strict=True):
        plausible = plausible & (abs(position) < MAX_POSITION) & (abs(velocity) < MAX_SPEED)
    return plausible
