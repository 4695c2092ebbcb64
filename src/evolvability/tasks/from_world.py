"""Tasks that follow from a `World`: what members do, what they look like doing it, and the shapes of their networks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.types import Outcome, PyTree, Sample, is_usable, make_outcome
from evolvability.tasks.actions import clipped
from evolvability.tasks.base import Task
from evolvability.tasks.replay import Recording, Stage
from evolvability.tasks.world import Situation, World


def task_from_world(
    name: str,
    behavior: tuple[str, ...],
    world: World,
    fitness: Callable[[Array], Array],
    time_step: float,
    *,
    varies: bool = True,
) -> Task:
    """A task whose members are networks that act in a world, one episode each.

    Args:
        name: the task's name.
        behavior: a name for each dimension of the world's positions; behavior is the last position.
        world: where; every member begins by a key of its own.
        fitness: ``(behavior) -> (num_members,)``.
        time_step: seconds per step, for those who watch.
        varies: whether starts differ from key to key.
    """
    policy = world.policy

    def episodes(key: Array, sample: Sample, memory: PyTree) -> tuple[Situation, Array, Array]:
        """The end of all episodes, their numbers of steps, and (num_steps + 1, num_members, ...) positions."""
        networks = policy.build(sample)

        def step(carry: tuple[Situation, Array], _: None) -> tuple[tuple[Situation, Array], Array]:
            now, num_steps = carry
            after = world.advance(now, policy.act(networks, world.scale(memory, now.observation)))
            # By who was running before the step: the step that ends an episode counts.
            return (after, num_steps + now.running), after.position

        first = world.begin(sample.member_keys(key))
        start = (first, jnp.zeros(sample.num_members, jnp.int32))
        (last, num_steps), path = jax.lax.scan(step, start, length=world.num_steps)
        # Whoever does not use the path does not pay for it: the compiler leaves it out.
        return last, num_steps, jnp.concatenate([first.position[None], path])

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        last, num_steps, _ = episodes(key, sample, memory)
        done = make_outcome(last.position, fitness(last.position), num_steps)
        return done._replace(valid=done.valid & last.valid), memory

    def replay(key: Array, sample: Sample, memory: PyTree) -> Recording:
        last, num_steps, path = episodes(key, sample, memory)
        valid = np.asarray(last.valid & is_usable(last.position).all(axis=1))
        # A scan stacks time in front of members, and a Recording has members in front. The start is a frame, too.
        return Recording(np.asarray(last.position), valid, np.asarray(num_steps) + 1, np.asarray(path).swapaxes(0, 1))

    stage = Stage(replay, time_step)
    # Without a limit: a world clips actions itself.
    more: Any = {"shapes": policy.shapes, "actions": clipped(world.num_actions)}
    return Task(name, behavior, policy.init, evaluate, stage=stage, world=lambda: world, varies=varies, **more)
