"""Two-dimensional navigation: a point that is to find its way to a goal it cannot see, only feel by its rewards.

The toy of meta-learning (Finn, Abbeel and Levine, 2017): the network sees where the point is, and says how to move.
"""

import jax.numpy as jnp
from jax import Array

from evolvability.tasks.base import Task
from evolvability.tasks.from_world import task_from_world
from evolvability.tasks.options import NavigationOptions
from evolvability.tasks.policies import MakePolicy, named_policy
from evolvability.tasks.world import Situation, World, goes_on, points

STRIDE = 0.1  # how far a step goes in each coordinate, at most: actions are in units of it
HALF_WIDTH = 0.5  # goals lie in the box of this half width around the start
TIME_STEP = 0.1  # seconds per step for those who watch; the problem itself has no unit of time


def navigation(options: NavigationOptions = NavigationOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008 (frozen)
    """A point that walks on a plane; behavior is its final (x, y), fitness its final x."""

    def begin(keys: Array) -> Situation:
        start = jnp.zeros((len(keys), 2))
        return goes_on(start, start)

    def advance(now: Situation, actions: Array) -> Situation:
        position = now.position + STRIDE * jnp.clip(actions, -1, 1)
        return now._replace(observation=position, position=position)

    world = World(policy or named_policy(options), 2, 2, options.num_steps, begin, advance, points(2, HALF_WIDTH))
    return task_from_world("navigation", ("x", "y"), world, lambda position: position[:, 0], TIME_STEP, varies=False)
