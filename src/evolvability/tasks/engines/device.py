"""Episodes as one program of JAX's, on a GPU or any device: physics is one compiled function per control step."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import PyTree, Sample
from evolvability.tasks.engines.base import (
    TORQUE_LIMIT,
    Engine,
    Episodes,
    LocomotionOptions,
    remembered,
    start_positions,
)
from evolvability.tasks.engines.fused.stepper import State, Step, stepper
from evolvability.tasks.normalizer import LIMIT, Moments, include, pool, scaling
from evolvability.tasks.observations import displacement, has_fallen, is_plausible, observe, slowed
from evolvability.tasks.policies import Policy
from evolvability.tasks.robots import Robot
from evolvability.tasks.world import Situation, World, directions


class _Progress(NamedTuple):
    """All members in mid-episode; arrays have the axis (num_members,) in front."""

    physics: State  # the simulator's state
    contacts: Array  # (num_members, num_links) which links touch the floor
    running: Array  # whether the episode still goes on
    valid: Array  # whether the simulation has not broken down
    num_steps: Array  # control steps so far
    seen: Any  # statistics of each member's own observations, where they are kept


def device_engine(robot: Robot, policy: Policy, options: LocomotionOptions) -> Engine:
    """An engine inside of JAX's programs, which drives a robot with a network family."""
    step = _stepper(robot)

    def run(key: Array, sample: Sample, moments: Moments) -> Episodes:
        key_start, key_seen = jax.random.split(key)
        poses = start_positions(sample.member_keys(key_start), robot, options.start_noise)
        networks, (mean, std) = policy.build(sample), scaling(moments)

        def control_step(now: _Progress, _: None) -> tuple[_Progress, None]:
            observation = _observation(robot, now)
            torques = policy.act(networks, _scaled(observation, mean, std))
            after = _advance(robot, options, step, now, torques)
            return after._replace(seen=include(now.seen, observation, now.running)), None

        last = jax.lax.scan(control_step, _first(robot, poses), length=options.num_steps)[0]
        kept = remembered(sample.member_keys(key_seen), options.observation_share)
        return Episodes(
            displacement(robot, last.physics.qpos), last.valid, last.num_steps, pool(last.seen, kept & last.valid)
        )

    return Engine(f"fused, {jax.default_backend()}", run, on_host=False)


def device_world(robot: Robot, policy: Policy, options: LocomotionOptions) -> World:
    """A robot's episodes step by step; what is asked is a direction to go in, and a reward the distance traveled."""

    def situation(now: _Progress) -> Situation:
        position = displacement(robot, now.physics.qpos)
        return Situation(now, _observation(robot, now), position, now.running, now.valid)

    def begin(key: Array, num_episodes: int) -> Situation:
        keys = jax.random.split(key, num_episodes)
        poses = start_positions(keys, robot, options.start_noise)
        return situation(_first(robot, poses)._replace(seen=None))

    def advance(now: Situation, actions: Array) -> Situation:
        return situation(_advance(robot, options, _stepper(robot), now.state, actions))

    return World(
        policy,
        robot.num_observations,
        robot.num_joints,
        options.num_steps,
        begin,
        advance,
        directions(len(robot.behavior)),
        lambda moments, observation: _scaled(observation, *scaling(moments)),
    )


@functools.cache
def _stepper(robot: Robot) -> Step:
    return stepper(robot.model, robot.steps_per_control, robot.links)


def _scaled(observation: Array, mean: Array, std: Array) -> Array:
    """What a network sees of an observation."""
    return jnp.clip((observation - mean) / std, -LIMIT, LIMIT)


def _observation(robot: Robot, now: _Progress) -> Array:
    torso = robot.torso(now.physics.qpos, now.physics.qvel)
    return observe(robot, torso, now.physics.qpos, now.physics.qvel, now.contacts)


def _advance(robot: Robot, options: LocomotionOptions, step: Step, now: _Progress, torques: Array) -> _Progress:
    """One control step of all members, also of those whose episode has ended: a compiled step cannot leave some out."""
    physics, clearance = step(now.physics, jnp.clip(torques, -TORQUE_LIMIT, TORQUE_LIMIT))
    physics = physics._replace(qvel=slowed(robot, physics.qpos, physics.qvel))
    torso = robot.torso(physics.qpos, physics.qvel)
    good = now.running & is_plausible(torso, physics.qpos, physics.qvel)
    touching = (clearance < robot.contact_distance).astype(jnp.float32)

    physics, contacts = _where(good, (physics, touching), (now.physics, now.contacts))
    ended = has_fallen(robot, torso, contacts) & options.early_termination
    return _Progress(
        physics=physics,
        contacts=contacts,
        running=good & ~ended,
        valid=now.valid & (good | ~now.running),
        num_steps=now.num_steps + now.running,
        seen=now.seen,
    )


def _first(robot: Robot, poses: Array) -> _Progress:
    number = len(poses)
    still, blank = jnp.zeros((number, robot.model.nv)), jnp.zeros((number, robot.num_observations))
    return _Progress(
        physics=State(poses, still, still),
        contacts=jnp.zeros((number, robot.num_links)),
        running=jnp.ones(number, bool),
        valid=jnp.ones(number, bool),
        num_steps=jnp.zeros(number, jnp.int32),
        seen=Moments(jnp.zeros(number), blank, blank),
    )


def _where(condition: Array, new: PyTree, old: PyTree) -> PyTree:
    """Of two pytrees, the new one for the members that meet the condition."""
    return jax.tree.map(lambda new, old: jnp.where(condition[:, None], new, old), new, old)
