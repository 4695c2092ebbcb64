"""Worlds, stepped one action at a time on the device: the interface for methods that need every step of an episode.

Strategies never look inside of an episode; gradients of policies do. A `World` is a pair of pure functions over many
episodes at once, and `Goals` say what is asked in them, with a reward at every step. A task can be made of a world
alone, see `from_world`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import PyTree
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.policies import MakePolicy


class Situation(NamedTuple):
    """Many episodes at one moment; arrays have the axis (num_episodes,) in front."""

    state: PyTree
    """Whatever the world needs to go on."""
    observation: Array
    """(num_episodes, num_observations) what is seen."""
    position: Array
    """(num_episodes, num_behaviors) how far from the start; at the end, the behavior."""
    running: Array
    """(num_episodes,) whether the episode goes on; where it does not, nothing changes any more."""
    valid: Array
    """(num_episodes,) False where the simulation broke down."""


def goes_on(observation: Array, position: Array, state: PyTree = ()) -> Situation:
    """A moment of episodes that neither end early nor break down."""
    always = jnp.ones(len(position), bool)
    return Situation(state, observation, position, always, always)


@dataclass(frozen=True)
class Goals:
    """What may be asked in a world. A goal is a vector in the space of behaviors."""

    kind: str
    """What the vector means: a `direction` to go in or a `point` to be at."""
    draw: Callable[[Array, int], Array]
    """`(key, number) -> (number, num_behaviors)`, independent draws of the distribution trained on."""
    reward: Callable[[Array, Array, Array], Array]
    """`(goal, before, after) -> reward` of one step, from the positions; any leading axes."""
    score: Callable[[Array, Array], Array]
    """`(goal, behavior) -> score` of a whole episode, from where it ended; any leading axes."""


@dataclass(frozen=True)
class World:
    """A task's episodes, step by step."""

    policy: MakePolicy
    """Makes the network that acts in it, such as `mlp((16, 16))`."""
    num_observations: int
    """Numbers seen per step."""
    num_actions: int
    """Numbers done per step."""
    num_steps: int
    """Steps per episode, at most."""
    begin: Callable[[Array], Situation]
    """`(keys) -> Situation`, the starts of as many episodes as there are keys, each by its own key alone."""
    advance: Callable[[Situation, Array], Situation]
    """`(situation, actions) -> Situation`, one step; actions: (num_episodes, num_actions), clipped inside."""
    goals: Goals
    """What may be asked."""
    scale: Callable[[PyTree, Array], Array] = lambda memory, observation: observation
    """`(memory, observation) -> inputs` of the network, by the task's memory."""

    @cached_property
    def networks(self) -> NetworkFamily:
        """The networks that act in it, those of the task's own parameters."""
        return family_of(self.policy, self.num_observations, self.num_actions)


def directions(num_behaviors: int) -> Goals:
    """Go in a direction: left or right with equal probability, or on a plane any; rewards are distances traveled.

    Examples:
        >>> goals = directions(1)
        >>> goals.reward(jnp.array([-1.0]), jnp.array([[0.0]]), jnp.array([[-0.25]])).tolist()
        [0.25]
    """

    def draw(key: Array, number: int) -> Array:
        if num_behaviors == 1:  # there are but two directions on a line
            return jax.random.rademacher(key, (number, 1), jnp.float32)
        angle = jax.random.uniform(key, (number,), maxval=2 * jnp.pi)
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)

    def reward(goal: Array, before: Array, after: Array) -> Array:
        # Over an episode these add up to its score, since positions are counted from the start.
        return jnp.sum((after - before) * goal, axis=-1)

    return Goals("direction", draw, reward, lambda goal, behavior: jnp.sum(behavior * goal, axis=-1))


def points(num_behaviors: int, half_width: float) -> Goals:
    """Be at a point, drawn from a box around the start; rewards are minus the squared distance to it."""

    def draw(key: Array, number: int) -> Array:
        return jax.random.uniform(key, (number, num_behaviors), minval=-half_width, maxval=half_width)

    def reward(goal: Array, before: Array, after: Array) -> Array:
        del before
        return -jnp.sum((after - goal) ** 2, axis=-1)

    # The score is a distance, not squared, as that of the goal point:X,Y (`tasks.goals`).
    return Goals("point", draw, reward, lambda goal, behavior: -jnp.linalg.norm(behavior - goal, axis=-1))
