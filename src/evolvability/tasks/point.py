"""A toy world: a point with a small network for a brain, pushed about on a plane.

Small enough for tests and first steps, yet a true control task: the network sees where the point is and how fast it
moves, and it is evolvable only if its mutations push hard and steadily in different directions.
"""

import jax.numpy as jnp
from jax import Array

from evolvability.tasks.base import Task
from evolvability.tasks.from_world import task_from_world
from evolvability.tasks.options import PointOptions
from evolvability.tasks.policies import MakePolicy, named_policy
from evolvability.tasks.world import Situation, World, directions, goes_on

TIME_STEP = 0.1
DRAG = 1.0  # with a push of at most 1, the point's speed stays below 1


def point(options: PointOptions = PointOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008 (frozen)
    """A point on a plane; behavior is its final (x, y), fitness its final x."""

    def begin(keys: Array) -> Situation:
        return goes_on(jnp.zeros((len(keys), 4)), jnp.zeros((len(keys), 2)))

    def advance(now: Situation, push: Array) -> Situation:
        # By its length, not per coordinate: no direction is faster than another.
        push = push / jnp.maximum(1, jnp.linalg.norm(push, axis=1, keepdims=True))
        # The observation is the whole state: position, then velocity.
        velocity = now.observation[:, 2:]
        velocity = velocity + TIME_STEP * (push - DRAG * velocity)
        # By the new velocity: the semi-implicit Euler method.
        position = now.position + TIME_STEP * velocity
        return now._replace(observation=jnp.concatenate([position, velocity], axis=1), position=position)

    world = World(policy or named_policy(options), 4, 2, options.num_steps, begin, advance, directions(2))
    return task_from_world("point", ("x", "y"), world, lambda position: position[:, 0], TIME_STEP, varies=False)
