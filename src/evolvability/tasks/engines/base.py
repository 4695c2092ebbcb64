"""The interface between the locomotion tasks and what steps their physics: options, and what comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.types import Sample
from evolvability.tasks.base import at_least, check_share
from evolvability.tasks.goals import heading
from evolvability.tasks.normalizer import Moments
from evolvability.tasks.replay import HostArray, Motion

TORQUE_LIMIT = 1.0
"""Of every motor, in units of its gear."""


@dataclass(frozen=True)
class LocomotionOptions:
    """Options of the locomotion tasks."""

    num_steps: int = 1000
    """Control steps per episode, 0.0165 s each."""
    body: Literal["paper", "gymnasium"] = "paper"
    """The robot's masses, joints and motors: PyBullet's, which the paper used, or those of Gymnasium's assets."""
    engine: Literal["auto", "fused", "mujoco"] = "auto"
    """What steps the physics: fused (MuJoCo's, compiled for this robot) or mujoco (its own library, on CPU cores);
    auto picks fused where warp-lang is installed."""
    direction: str = "right"
    """Where fitness points: right (+x), left (-x), or an angle from +x in degrees."""
    early_termination: bool = False
    """End an episode when the robot falls; its behavior is where that happened."""
    start_noise: float = 0.0
    """Joint angles at the start vary by up to this much, in radians; 0 makes episodes deterministic."""
    observation_share: float = 0.01
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: int = 256
    """Units in each of the network's two hidden layers."""
    solver_iterations: int = 8
    """Iterations of the physics' constraint solver, at most."""
    solver_line_search_iterations: int = 8
    """Line-search iterations in each of them, at most."""
    threads: int = 0
    """CPU threads that step robots; 0 for the GPU, or all cores where there is none."""

    def __post_init__(self) -> None:
        at_least(self, num_steps=1, hidden=1, threads=0, start_noise=0)
        at_least(self, solver_iterations=1, solver_line_search_iterations=1)
        check_share(self)
        heading(self.direction)


@dataclass(frozen=True)
class AntOptions(LocomotionOptions):
    """Options of the ant."""

    early_termination: bool = True
    """End an episode when the torso sinks below 0.26 m (or, of the body gymnasium, rises above 1 m)."""


class Episodes(NamedTuple):
    """What became of every member's episode.

    Attributes:
        displacement: (num_members, num_behaviors) from the start to where the episode ended.
        valid: (num_members,) False where the simulation broke down.
        num_steps: (num_members,) control steps until the episode ended.
        seen: the statistics of the observations to remember.
    """

    displacement: Array
    valid: Array
    num_steps: Array
    seen: Moments


@dataclass(frozen=True)
class Engine:
    """A way to step episodes.

    Attributes:
        name: what it is, and on what, for people.
        run: ``(key, sample, moments) -> Episodes``, one episode per member, observations scaled by the moments.
        on_host: whether ``run`` is ordinary Python, to be called outside of ``jit``.
    """

    name: str
    run: Callable[[Array, Sample, Moments], Episodes]
    on_host: bool


def start_positions(keys: Array, robot: Any, noise: float) -> Array:
    """(num_members, num_positions) the pose each member starts in; all the same unless there is noise.

    ``keys``: (num_members,), a key for each.
    """
    poses = jnp.tile(jnp.asarray(robot.start, jnp.float32), (len(keys), 1))
    if noise == 0:
        return poses
    shape = (robot.num_joints,)
    offsets = jax.vmap(lambda key: jax.random.uniform(key, shape, minval=-noise, maxval=noise))(keys)
    # The driven joints come last; the root starts where it always does.
    return poses.at[:, -robot.num_joints :].add(offsets)


def motion_of(robot: Any, episodes: Episodes, poses: HostArray) -> Motion:
    """Episodes to watch; poses: (num_members, num_frames, num_positions)."""
    return Motion(
        behavior=np.asarray(episodes.displacement),
        valid=np.asarray(episodes.valid),
        num_frames=np.asarray(episodes.num_steps) + 1,
        path=np.stack(robot.torso(poses, np.zeros_like(poses)).position[:2], axis=-1),
        poses=poses,
    )


def remembered(keys: Array, share: float) -> Array:
    """(num_members,) whether each member's observations enter the running statistics, with probability ``share``."""
    return jax.vmap(lambda key: jax.random.bernoulli(key, share))(keys)
