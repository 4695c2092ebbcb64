"""Episodes as one program of JAX's, on a GPU or any device: networks, then physics, one compiled function each."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.types import PyTree, Sample
from evolvability.tasks.engines.base import Engine, EpisodeResults, dealt, host_replay
from evolvability.tasks.engines.control import Progress, controller, first_of
from evolvability.tasks.engines.drawing import Drawn, draw
from evolvability.tasks.engines.networks import actor
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import Moments, include, pool, scaled, scaling
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.robot import Robot
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


def device_engine(robot: Robot, networks: NetworkFamily, options: EpisodeOptions) -> Engine:
    """An engine inside of JAX's programs, which drives a robot with a network family."""
    episodes = partial(_episodes, robot, networks, options)
    whole = jax.jit(episodes)

    def run(key: Array, sample: Sample, moments: Moments) -> EpisodeResults:
        drawn, kept = dealt(key, sample, robot, options)
        done, _ = episodes(sample, drawn, moments)
        return done._replace(seen=pool(done.seen, kept & done.valid))

    def watched(
        sample: Sample, drawn: Drawn, moments: Moments, kept: HostArray, is_watched: bool
    ) -> tuple[EpisodeResults, HostArray]:
        return jax.tree.map(np.asarray, whole(sample, drawn, moments))

    replay = host_replay(robot, options, watched)
    return Engine(f"fused, {jax.default_backend()}", run, replay, on_host=False)


def _episodes(
    robot: Robot, networks: NetworkFamily, options: EpisodeOptions, sample: Sample, drawn: Drawn, moments: Moments
) -> tuple[EpisodeResults, Array]:
    """What every member did and has seen, and (num_members, num_steps + 1, num_positions) poses."""
    step = controller(robot, options.early_termination, options.parameters)
    act, (mean, std) = actor(networks, sample), scaling(moments)

    def control_step(moment: tuple[Progress, PyTree, Moments, Done], _: None) -> tuple[Any, Array]:
        now, carry, seen, done = moment
        outputs, carry = act(scaled(now.observation, mean, std), carry)
        after = step(now, outputs, drawn.physics)
        seen = include(seen, now.observation, now.running > 0)
        return (after, carry, seen, done.after(robot, now, after)), after.qpos

    first, blank = first_of(robot, drawn), jnp.zeros((sample.num_members, robot.num_observations))
    seen = Moments(jnp.zeros(sample.num_members), blank, blank)
    start = first, networks.start(sample.num_members), seen, Done.at(robot, first)
    (last, _, seen, done), path = jax.lax.scan(control_step, start, length=options.num_steps)
    # A member sees once per control step. Whoever does not use the path does not pay for it.
    results = EpisodeResults(done.behavior(robot, last), last.valid > 0, seen.count.astype(jnp.int32), seen)
    return results, jnp.concatenate([first.qpos[None], path]).swapaxes(0, 1)


def device_world(robot: Robot, networks: NetworkFamily, options: EpisodeOptions) -> World:
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
        networks.make,
        robot.num_observations,
        robot.num_motors,
        options.num_steps,
        begin,
        advance,
        directions(len(robot.behavior)),
        lambda moments, observation: scaled(observation, *scaling(moments)),
    )
