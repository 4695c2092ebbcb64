"""Episodes as one program of JAX's, on a GPU or any device: networks, then physics, one compiled function each."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine, EpisodeResults, remembered
from evolvability.tasks.engines.control import Progress, controller, first_of
from evolvability.tasks.engines.drawing import draw
from evolvability.tasks.engines.networks import actor
from evolvability.tasks.normalizer import Moments, include, pool, scaled, scaling
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.policies import Policy
from evolvability.tasks.robots import Robot
from evolvability.tasks.world import Situation, World, directions


class Done(NamedTuple):
    """What robots have done so far, where their behavior is a mean; empty arrays elsewhere."""

    total: Array
    """(num_robots, num_behaviors) the sum over control steps."""
    steps: Array
    """(num_robots,) their number."""

    @classmethod
    def at(cls, robot: Robot, now: Progress) -> "Done":
        """Nothing yet."""
        shape = len(now.qpos), len(robot.behavior) * robot.is_averaged
        return cls(jnp.zeros(shape), jnp.zeros(shape[0]))

    def after(self, robot: Robot, before: Progress, now: Progress) -> "Done":
        """One control step later, of those who were under way."""
        if not robot.is_averaged:
            return self
        moved = (before.running > 0).astype(jnp.float32)
        return Done(self.total + moved[:, None] * _measured(robot, now), self.steps + moved)

    def behavior(self, robot: Robot, now: Progress) -> Array:
        """What is measured of them."""
        return self.total / self.steps.clip(1)[:, None] if robot.is_averaged else _measured(robot, now)


def _measured(robot: Robot, now: Progress) -> Array:
    return robot.measure(robot.view(now.qpos, now.qvel))


Carry = tuple[Progress, Moments, Done]


def device_engine(robot: Robot, policy: Policy, options: EpisodeOptions) -> Engine:
    """An engine inside of JAX's programs, which drives a robot with a network family."""
    step = controller(robot, options.early_termination, options.parameters)

    def run(key: Array, sample: Sample, moments: Moments) -> EpisodeResults:
        key_start, key_seen = jax.random.split(key)
        drawn = draw(sample.member_keys(key_start), robot, options)
        act, (mean, std) = actor(policy, sample), scaling(moments)

        def control_step(carry: Carry, _: None) -> tuple[Carry, None]:
            now, seen, done = carry
            after = step(now, act(scaled(now.observation, mean, std)), drawn.physics)
            return (after, include(seen, now.observation, now.running > 0), done.after(robot, now, after)), None

        blank = jnp.zeros((sample.num_members, robot.num_observations))
        begun = first_of(robot, drawn)
        first = begun, Moments(jnp.zeros(sample.num_members), blank, blank), Done.at(robot, begun)
        (last, seen, done), _ = jax.lax.scan(control_step, first, length=options.num_steps)
        kept, valid = remembered(sample.member_keys(key_seen), options.observation_share), last.valid > 0
        # A member sees once per control step.
        behavior = done.behavior(robot, last)
        return EpisodeResults(behavior, valid, seen.count.astype(jnp.int32), pool(seen, kept & valid))

    return Engine(f"fused, {jax.default_backend()}", run, on_host=False)


def device_world(robot: Robot, policy: Policy, options: EpisodeOptions) -> World:
    """A robot's episodes step by step; what is asked is a direction to go in, and a reward the distance traveled."""
    step = controller(robot, options.early_termination, options.parameters)

    def situation(now: Progress, physics: dict[str, Array], done: Done) -> Situation:
        behavior = done.behavior(robot, now)
        return Situation((now, physics, done), now.observation, behavior, now.running > 0, now.valid > 0)

    def begin(keys: Array) -> Situation:
        drawn = draw(keys, robot, options)
        first = first_of(robot, drawn)
        return situation(first, drawn.physics, Done.at(robot, first))

    def advance(now: Situation, actions: Array) -> Situation:
        progress, physics, done = now.state
        after = step(progress, actions, physics)
        return situation(after, physics, done.after(robot, progress, after))

    return World(
        policy,
        robot.num_observations,
        robot.num_motors,
        options.num_steps,
        begin,
        advance,
        directions(len(robot.behavior)),
        lambda moments, observation: scaled(observation, *scaling(moments)),
    )
