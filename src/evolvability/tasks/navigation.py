"""Two-dimensional navigation: a point that is to find its way to a goal it cannot see, only feel by its rewards.

The toy of meta-learning (Finn, Abbeel and Levine, 2017): the network sees where the point is, and says how to move.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.types import Outcome, PyTree, Sample, outcome
from evolvability.tasks.base import Task
from evolvability.tasks.policies import mlp
from evolvability.tasks.world import Situation, World, points

STRIDE = 0.1
"""How far a step goes in each coordinate, at most: actions are in units of it."""
HALF_WIDTH = 0.5
"""Goals lie in the box of this half width around the start."""


@dataclass(frozen=True)
class NavigationOptions:
    """Options of the navigation problem."""

    num_steps: int = 20
    """Steps of an episode."""
    hidden: int = 32
    """Units in each of the network's two hidden layers."""

    def __post_init__(self) -> None:
        for name in ("num_steps", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be 1 or more, got {getattr(self, name)}.")


def navigation(options: NavigationOptions = NavigationOptions()) -> Task:  # noqa: B008 (frozen)
    """A point that walks on a plane; behavior is its final (x, y), fitness its final x."""
    policy = mlp((2, options.hidden, options.hidden, 2))

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        del key  # the world is deterministic
        networks = policy.build(sample)

        def move(position: Array, _: None) -> tuple[Array, None]:
            return _moved(position, policy.act(networks, position)), None

        last, _ = jax.lax.scan(move, jnp.zeros((sample.num_members, 2)), length=options.num_steps)
        return outcome(last, last[:, 0], jnp.full(sample.num_members, options.num_steps)), memory

    def world() -> World:
        def begin(key: Array, num_episodes: int) -> Situation:
            del key
            start = jnp.zeros((num_episodes, 2))
            always = jnp.ones(num_episodes, bool)
            return Situation((), start, start, always, always)

        def advance(now: Situation, actions: Array) -> Situation:
            position = _moved(now.position, actions)
            return now._replace(observation=position, position=position)

        return World(policy, 2, 2, options.num_steps, begin, advance, points(2, HALF_WIDTH))

    return Task("navigation", ("x", "y"), policy.init, evaluate, world=world, shapes=policy.shapes)


def _moved(position: Array, actions: Array) -> Array:
    return position + STRIDE * jnp.clip(actions, -1, 1)
