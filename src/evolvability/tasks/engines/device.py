"""Episodes as one program of JAX's, on a GPU or any device: networks, then physics, one compiled function each."""

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine, EpisodeResults, remembered
from evolvability.tasks.engines.control import Progress, controller, first_of
from evolvability.tasks.engines.drawing import draw
from evolvability.tasks.engines.networks import actor
from evolvability.tasks.normalizer import Moments, include, pool, scaled, scaling
from evolvability.tasks.observations import displacement
from evolvability.tasks.options import LocomotionOptions
from evolvability.tasks.policies import Policy
from evolvability.tasks.robots import Robot
from evolvability.tasks.world import Situation, World, directions


def device_engine(robot: Robot, policy: Policy, options: LocomotionOptions) -> Engine:
    """An engine inside of JAX's programs, which drives a robot with a network family."""
    step = controller(robot, options.early_termination, options.parameters)

    def run(key: Array, sample: Sample, moments: Moments) -> EpisodeResults:
        key_start, key_seen = jax.random.split(key)
        drawn = draw(sample.member_keys(key_start), robot, options)
        act, (mean, std) = actor(policy, sample), scaling(moments)

        def control_step(carry: tuple[Progress, Moments], _: None) -> tuple[tuple[Progress, Moments], None]:
            now, seen = carry
            after = step(now, act(scaled(now.observation, mean, std)), drawn.physics)
            return (after, include(seen, now.observation, now.running > 0)), None

        blank = jnp.zeros((sample.num_members, robot.num_observations))
        first = first_of(robot, drawn), Moments(jnp.zeros(sample.num_members), blank, blank)
        (last, seen), _ = jax.lax.scan(control_step, first, length=options.num_steps)
        kept, valid = remembered(sample.member_keys(key_seen), options.observation_share), last.valid > 0
        # A member sees once per control step.
        return EpisodeResults(
            displacement(robot, last.qpos), valid, seen.count.astype(jnp.int32), pool(seen, kept & valid)
        )

    return Engine(f"fused, {jax.default_backend()}", run, on_host=False)


def device_world(robot: Robot, policy: Policy, options: LocomotionOptions) -> World:
    """A robot's episodes step by step; what is asked is a direction to go in, and a reward the distance traveled."""
    step = controller(robot, options.early_termination, options.parameters)

    def situation(now: Progress, physics: dict[str, Array]) -> Situation:
        return Situation((now, physics), now.observation, displacement(robot, now.qpos), now.running > 0, now.valid > 0)

    def begin(keys: Array) -> Situation:
        drawn = draw(keys, robot, options)
        return situation(first_of(robot, drawn), drawn.physics)

    def advance(now: Situation, actions: Array) -> Situation:
        progress, physics = now.state
        return situation(step(progress, actions, physics), physics)

    return World(
        policy,
        robot.num_observations,
        robot.num_joints,
        options.num_steps,
        begin,
        advance,
        directions(len(robot.behavior)),
        lambda moments, observation: scaled(observation, *scaling(moments)),
    )
