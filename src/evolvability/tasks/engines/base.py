"""The seam between the locomotion tasks and what steps their physics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import Sample
from evolvability.tasks.normalizer import Moments

TORQUE_LIMIT = 1.0
"""Of every motor, in units of its gear."""


@dataclass(frozen=True)
class EpisodeOptions:
    """How an episode goes, whatever the engine.

    Attributes:
        num_steps: control steps.
        early_termination: whether an episode ends when the robot falls.
        start_noise: joint angles at the start vary by up to this much, in radians.
        observation_share: probability that a member's observations enter the running statistics.
    """

    num_steps: int
    early_termination: bool
    start_noise: float
    observation_share: float


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
        run: ``(key, sample, moments) -> Episodes``, one episode a member, observations scaled by the moments.
        on_host: whether ``run`` is ordinary Python, to be called outside of ``jit``.
    """

    name: str
    run: Callable[[Array, Sample, Moments], Episodes]
    on_host: bool


def start_positions(keys: Array, start: Any, num_joints: int, noise: float) -> Array:
    """(num_members, num_positions) the pose each member starts in; all the same unless there is noise.

    ``keys``: (num_members,), a key for each.
    """
    poses = jnp.tile(jnp.asarray(start, jnp.float32), (len(keys), 1))
    if noise == 0:
        return poses
    offsets = jax.vmap(lambda key: jax.random.uniform(key, (num_joints,), minval=-noise, maxval=noise))(keys)
    return poses.at[:, -num_joints:].add(offsets)


def remembered(keys: Array, share: float) -> Array:
    """(num_members,) whether each member's observations enter the running statistics, with probability ``share``."""
    return jax.vmap(lambda key: jax.random.bernoulli(key, share))(keys)
