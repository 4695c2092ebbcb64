"""A deceptive toy world: a point in a trap of three walls, with a goal behind their bottom.

To get to the goal one has to turn one's back on it first: who only ever gets nearer to it ends at the bottom.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.types import Outcome, PyTree, Sample, outcome
from evolvability.tasks.base import Task
from evolvability.tasks.policies import mlp
from evolvability.tasks.replay import Motion, Stage

TIME_STEP = 0.25
GOAL = (2.0, 0.0)
REACHED = 0.5
"""Who ends this near to the goal has solved the maze."""
HALF_WIDTH = 2.5
UPRIGHT = ((1.0, -2.0, 2.0), (-HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH), (HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH))
"""Walls as (x, from y, to y): the bottom of the trap, then the arena's own."""
LEVEL = (
    (2.0, -1.0, 1.0),
    (-2.0, -1.0, 1.0),
    (HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH),
    (-HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH),
)
"""Walls as (y, from x, to x): the sides of the trap, then the arena's own."""


@dataclass(frozen=True)
class MazeOptions:
    """Options of the maze."""

    num_steps: int = 40
    """Time steps of an episode, 0.25 s each."""
    hidden: int = 8
    """Units in each of the network's two hidden layers."""

    def __post_init__(self) -> None:
        for name in ("num_steps", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be 1 or more, got {getattr(self, name)}.")


def maze(options: MazeOptions = MazeOptions()) -> Task:  # noqa: B008 (frozen)
    """A point in a maze; behavior is its final (x, y), fitness how near that is to the goal, as minus the distance.

    The network sees where the point is and how much of the episode has passed, and says where to go, at a speed of at
    most 1.
    """
    policy = mlp((3, options.hidden, options.hidden, 2))
    times = jnp.linspace(-1, 1, options.num_steps)

    def positions(sample: Sample) -> Array:
        """(num_steps, num_members, 2) after every time step."""
        networks = policy.build(sample)

        def move(position: Array, time: Array) -> tuple[Array, Array]:
            seen = jnp.concatenate([position / HALF_WIDTH, jnp.full((len(position), 1), time)], axis=1)
            wish = policy.act(networks, seen)
            wish = wish / jnp.maximum(1, jnp.linalg.norm(wish, axis=1, keepdims=True))
            position = moved(position, TIME_STEP * wish)
            return position, position

        return jax.lax.scan(move, jnp.zeros((sample.num_members, 2)), times)[1]

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        del key  # the world is deterministic
        last = positions(sample)[-1]
        fitness = -jnp.linalg.norm(last - jnp.array(GOAL), axis=1)
        return outcome(last, fitness, jnp.full(sample.num_members, options.num_steps)), memory

    def replay(key: Array, sample: Sample, memory: PyTree) -> Motion:
        del key, memory
        path = np.asarray(positions(sample)).swapaxes(0, 1)
        path = np.concatenate([np.zeros_like(path[:, :1]), path], axis=1)
        valid = np.isfinite(path[:, -1]).all(axis=1)
        return Motion(path[:, -1], valid, np.full(len(path), path.shape[1]), path)

    return Task("maze", ("x", "y"), policy.init, evaluate, stage=Stage(replay, TIME_STEP))


def moved(position: Array, step: Array) -> Array:
    """(num_members, 2) where steps lead to: along x, then along y, each only if no wall is in its way.

    So a point slides along a wall that it runs into aslant.
    """
    for axis, walls in ((0, UPRIGHT), (1, LEVEL)):
        along, across = position[:, axis], position[:, 1 - axis]
        wanted = along + step[:, axis]
        free = jnp.ones(len(position), bool)
        for place, start, end in walls:
            crosses = (along - place) * (wanted - place) <= 0
            free &= ~(crosses & (start <= across) & (across <= end))
        position = position.at[:, axis].set(jnp.where(free, wanted, along))
    return position
