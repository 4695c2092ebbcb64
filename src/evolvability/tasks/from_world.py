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
    family = world.networks

    def episodes(key: Array, sample: Sample, memory: PyTree) -> tuple[Situation, Array, Array]:
        """The end of all episodes, their numbers of steps, and (num_steps + 1, num_members, ...) positions."""
        networks = family.build(sample)

        def step(now: tuple[Situation, PyTree, Array], _: None) -> tuple[tuple[Situation, PyTree, Array], Array]:
            situation, carry, num_steps = now
            actions, carry = family.act(networks, world.scale(memory, situation.observation), carry)
            after = world.advance(situation, actions)
            # By who was running before the step: the step that ends an episode counts.
            return (after, carry, num_steps + situation.running), after.position

        first = world.begin(sample.member_keys(key))
        start = (first, family.start(sample.num_members), jnp.zeros(sample.num_members, jnp.int32))
        (last, _, num_steps), path = jax.lax.scan(step, start, length=world.num_steps)
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
    more: Any = {
        "shapes": family.shapes,
        "network": family,
        "unflatten": family.unflatten,
        "actions": clipped(world.num_actions),
    }
    return Task(name, behavior, family.init, evaluate, stage=stage, world=lambda: world, varies=varies, **more)
