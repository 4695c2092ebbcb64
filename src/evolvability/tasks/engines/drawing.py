"""The circumstances of episodes, drawn per episode from the episode's own key alone: the same for every engine."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.tasks.circumstances import Circumstances


class Drawn(NamedTuple):
    """The circumstances of some episodes; arrays have the axis (num_episodes,) in front."""

    qpos: Array
    """The poses at the start."""
    qvel: Array | None
    """The velocities then; None where all robots start at rest."""
    physics: dict[str, Array]
    """One row per episode of each of `Circumstances.parameters`, in place of the model's own."""


def draw(keys: Array, robot: Any, circumstances: Circumstances) -> Drawn:
    """The circumstances of episodes; keys: (num_episodes,), one for each."""
    # By the episode's key itself: so start poses are those of runs from before there were other circumstances.
    poses = jax.vmap(lambda key: _pose(key, robot, circumstances.start_noise))(keys)
    if not (circumstances.push or circumstances.parameters):
        return Drawn(poses, None, {})
    shape = (len(LUCK), max(robot.num_joints, robot.num_motors, 2))
    numbers = jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, FOLD), shape))(keys)
    luck = {name: numbers[:, row] for row, name in enumerate(LUCK)}
    physics = {name: DRAWS[name](luck, robot, circumstances) for name in circumstances.parameters}
    return Drawn(poses, _velocity(luck, robot, circumstances.push) if circumstances.push else None, physics)


LUCK = ("push", "friction", "mass", "motor_strength", "failed_motors", "slope")
"""Each has random numbers of its own in every episode, so that it is the same whatever else varies."""
FOLD = 2**31  # beyond the numbers that `jax.random.uniform` makes of the same key
Luck = dict[str, Array]
"""(num_episodes, 2 or more) of each, uniform between 0 and 1."""


def _pose(key: Array, robot: Any, noise: float) -> Array:
    pose = jnp.asarray(robot.start, jnp.float32)
    if noise == 0 or not robot.joints:
        return pose
    offset = jax.random.uniform(key, (robot.num_joints,), minval=-noise, maxval=noise)
    # The root starts where it always does.
    pose = pose.at[np.array(robot.joints)].add(offset)
    return pose if robot.start_range is None else jnp.clip(pose, *jnp.asarray(robot.start_range, jnp.float32))


def _velocity(luck: Luck, robot: Any, push: float) -> Array:
    along = push * luck["push"][:, :1] * _directions(luck["push"], robot)
    return jnp.zeros((len(along), robot.model.nv)).at[:, np.array(robot.ground)].set(along)


def _whole(name: str, luck: Luck, robot: Any, circumstances: Circumstances) -> Array:
    """Friction of all geoms, as that of a contact is the larger one of two, or masses: all by one factor."""
    return _own(robot, name) * _factors(luck[name][:, :1], getattr(circumstances, name))


def _gear(luck: Luck, robot: Any, circumstances: Circumstances) -> Array:
    strengths, chances = (luck[name][:, : robot.num_motors] for name in ("motor_strength", "failed_motors"))
    works = jnp.argsort(jnp.argsort(chances)) >= circumstances.failed_motors
    factors, own = _factors(strengths, circumstances.motor_strength) * works, _own(robot, "gear")
    return own * factors.reshape(*factors.shape, *(1,) * (own.ndim - 1))


def _gravity(luck: Luck, robot: Any, circumstances: Circumstances) -> Array:
    angle = np.deg2rad(circumstances.slope) * luck["slope"][:, :1]
    level = jnp.sin(angle) * _directions(luck["slope"], robot)
    down = jnp.zeros((len(angle), 3)).at[:, 2:].set(-jnp.cos(angle)).at[:, np.array(robot.ground_axes)].set(level)
    return jnp.linalg.norm(_own(robot, "gravity")) * down


DRAWS: dict[str, Callable[[Luck, Any, Circumstances], Array]] = {
    "friction": partial(_whole, "friction"),
    "gear": _gear,
    "gravity": _gravity,
    "mass": partial(_whole, "mass"),
}
"""How the parameters of the physics come about."""


def _own(robot: Any, name: str) -> Array:
    return jnp.asarray(robot.parameters[name], jnp.float32)


def _factors(numbers: Array, share: float) -> Array:
    return 1 + share * (2 * numbers - 1)


def _directions(numbers: Array, robot: Any) -> Array:
    """(num_episodes, 1 or 2) directions that the robot can go in, by the second of each episode's numbers."""
    turn = numbers[:, 1:2]
    if len(robot.ground) == 1:
        return jnp.where(turn < 0.5, -1.0, 1.0)
    return jnp.concatenate([jnp.cos(2 * jnp.pi * turn), jnp.sin(2 * jnp.pi * turn)], axis=1)
