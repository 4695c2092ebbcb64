"""A deceptive toy world: a point in a trap of three walls, with a goal behind their bottom.

To get to the goal one has to turn one's back on it first: who only ever gets nearer to it ends at the bottom.
"""

import jax.numpy as jnp
from jax import Array

from evolvability.tasks.base import Task
from evolvability.tasks.from_world import task_from_world
from evolvability.tasks.options import MazeOptions
from evolvability.tasks.policies import MakePolicy, named_policy
from evolvability.tasks.world import Situation, World, goes_on, points

TIME_STEP = 0.25
GOAL = (2.0, 0.0)
REACHED = 0.5  # who ends this near to the goal has solved the maze
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


def maze(options: MazeOptions = MazeOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008 (frozen)
    """A point in a maze; behavior is its final (x, y), fitness how near that is to the goal, as minus the distance.

    The network sees where the point is and how much of the episode has passed, and says where to go, at a speed of at
    most 1.
    """
    times = jnp.linspace(-1, 1, options.num_steps)

    def situation(position: Array, step: Array) -> Situation:
        """Step: (num_episodes,) how many were taken; after the last one, time stands still."""
        # After the last step the index is one too large, and JAX takes the last entry.
        return goes_on(jnp.concatenate([position / HALF_WIDTH, times[step][:, None]], axis=1), position, step)

    def begin(keys: Array) -> Situation:
        return situation(jnp.zeros((len(keys), 2)), jnp.zeros(len(keys), jnp.int32))

    def advance(now: Situation, wish: Array) -> Situation:
        wish = wish / jnp.maximum(1, jnp.linalg.norm(wish, axis=1, keepdims=True))
        return situation(moved(now.position, TIME_STEP * wish), now.state + 1)

    def fitness(position: Array) -> Array:
        return -jnp.linalg.norm(position - jnp.array(GOAL), axis=1)

    world = World(policy or named_policy(options), 3, 2, options.num_steps, begin, advance, points(2, HALF_WIDTH))
    return task_from_world("maze", ("x", "y"), world, fitness, TIME_STEP, varies=False)


def moved(position: Array, step: Array) -> Array:
    """(num_members, 2) where steps lead to: along x, then along y, each only if no wall is in its way.

    So a point slides along a wall that it runs into aslant.
    """
    for axis, walls in ((0, UPRIGHT), (1, LEVEL)):
        # For the second axis, position is where the first has led.
        along, across = position[:, axis], position[:, 1 - axis]
        wanted = along + step[:, axis]
        free = jnp.ones(len(position), bool)
        for place, start, end in walls:
            # Not `<`: who would stand on a wall would be on its other side a step later.
            crosses = (along - place) * (wanted - place) <= 0
            free &= ~(crosses & (start <= across) & (across <= end))
        position = position.at[:, axis].set(jnp.where(free, wanted, along))
    return position
