"""A toy world: a point with a small network for a brain, pushed about on a plane.

Small enough for tests and first steps, yet a true control task: the network sees where the point is and how fast it
moves, and it is evolvable only if its mutations push hard and steadily in different directions.
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
from evolvability.tasks.world import Situation, World, directions

TIME_STEP = 0.1
DRAG = 1.0  # with a push of at most 1, the point's speed stays below 1


@dataclass(frozen=True)
class PointOptions:
    """Options of the toy world."""

    num_steps: int = 100
    """Time steps of an episode, 0.1 s each."""
    hidden: int = 16
    """Units in each of the network's two hidden layers."""

    def __post_init__(self) -> None:
        for name in ("num_steps", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be 1 or more, got {getattr(self, name)}.")


def point(options: PointOptions = PointOptions()) -> Task:  # noqa: B008 (frozen)
    """A point on a plane; behavior is its final (x, y), fitness its final x."""
    policy = mlp((4, options.hidden, options.hidden, 2))

    def positions(sample: Sample) -> Array:
        """(num_steps, num_members, 2) after every time step."""
        networks = policy.build(sample)

        def move(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
            state = _pushed(*state, policy.act(networks, jnp.concatenate(state, axis=1)))
            return state, state[0]

        rest = jnp.zeros((sample.num_members, 2))
        return jax.lax.scan(move, (rest, rest), length=options.num_steps)[1]

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        del key  # the world is deterministic
        position = positions(sample)[-1]
        num_steps = jnp.full(sample.num_members, options.num_steps)
        return outcome(position, position[:, 0], num_steps), memory

    def replay(key: Array, sample: Sample, memory: PyTree) -> Motion:
        del key, memory
        path = np.asarray(positions(sample)).swapaxes(0, 1)
        path = np.concatenate([np.zeros_like(path[:, :1]), path], axis=1)
        valid = np.isfinite(path[:, -1]).all(axis=1)
        return Motion(path[:, -1], valid, np.full(len(path), path.shape[1]), path)

    def world() -> World:
        def begin(key: Array, num_episodes: int) -> Situation:
            del key
            always = jnp.ones(num_episodes, bool)
            return Situation((), jnp.zeros((num_episodes, 4)), jnp.zeros((num_episodes, 2)), always, always)

        def advance(now: Situation, actions: Array) -> Situation:
            position, velocity = _pushed(now.position, now.observation[:, 2:], actions)
            observation = jnp.concatenate([position, velocity], axis=1)
            return now._replace(observation=observation, position=position)

        return World(policy, 4, 2, options.num_steps, begin, advance, directions(2))

    stage = Stage(replay, TIME_STEP)
    return Task("point", ("x", "y"), policy.init, evaluate, stage=stage, world=world, shapes=policy.shapes)


def _pushed(position: Array, velocity: Array, push: Array) -> tuple[Array, Array]:
    """Where points are and how fast they move, one time step on."""
    push = push / jnp.maximum(1, jnp.linalg.norm(push, axis=1, keepdims=True))
    velocity = velocity + TIME_STEP * (push - DRAG * velocity)
    return position + TIME_STEP * velocity, velocity
