"""MJX: whole episodes of all members as one compiled program, on any device JAX runs on."""

import copy
import importlib.util
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jax import Array
from mujoco import mjx

from evolvability.core.errors import ConfigError
from evolvability.core.types import PyTree, Sample
from evolvability.tasks.engines.base import (
    TORQUE_LIMIT,
    Engine,
    Episodes,
    LocomotionOptions,
    remembered,
    start_positions,
)
from evolvability.tasks.normalizer import LIMIT, Moments, include, pool, scaling
from evolvability.tasks.observations import displacement, has_fallen, is_plausible, observe, touching
from evolvability.tasks.policies import Policy
from evolvability.tasks.robots import STEPS_PER_CONTROL, Robot
from evolvability.tasks.world import Situation, World, directions

WARP_BATCHES = 8
"""How many seeds may share Warp's contact buffer, whose size must be fixed before their number is known."""


class Physics(NamedTuple):
    """What the simulator needs to go on: all else follows from it."""

    qpos: Array
    qvel: Array
    qacc_warmstart: Array


class _Progress(NamedTuple):
    """All members in mid-episode; arrays have the axis (num_members,) in front.

    Attributes:
        physics: the simulator's state.
        buffers: the simulator's memory, whatever is in it.
        contacts: (num_members, num_links) which links touch the floor.
        running: whether the episode still goes on.
        valid: whether the simulation has not broken down.
        num_steps: control steps so far.
        seen: statistics of each member's own observations, where they are kept.
    """

    physics: Physics
    buffers: PyTree
    contacts: Array
    running: Array
    valid: Array
    num_steps: Array
    seen: Any


def mjx_engine(robot: Robot, policy: Policy, options: LocomotionOptions) -> Engine:
    """An engine of MJX, which drives a robot with a network family."""
    implementation = implementation_of(options)
    try:
        _put(robot, implementation, num_members=1)  # once here, so that what cannot work says so before a run begins
    except RuntimeError as error:
        raise ConfigError(f"MJX's implementation '{implementation}' cannot be used here: {error}") from None

    def episodes(key: Array, sample: Sample, mean: Array, std: Array) -> _Progress:
        """Whole episodes of the given members."""
        poses = start_positions(sample.member_keys(key), robot.start, robot.num_joints, options.start_noise)
        begin, advance = simulator(robot, implementation, sample.num_members)
        networks = policy.build(sample)

        def control_step(now: _Progress, _: None) -> tuple[_Progress, None]:
            observation = _observation(robot, now)
            scaled = scaled_observation(observation, mean, std)
            after = _advance(robot, options, advance, now, policy.act(networks, scaled))
            # Of every member, though few are remembered: the shapes of a compiled program cannot depend on chance.
            return after._replace(seen=include(now.seen, observation, now.running)), None

        physics, buffers = jax.vmap(begin)(poses)
        first = _first(robot, physics, buffers, sample.num_members)
        return jax.lax.scan(control_step, first, length=options.num_steps)[0]._replace(buffers=None)

    def run(key: Array, sample: Sample, moments: Moments) -> Episodes:
        key_start, key_seen = jax.random.split(key)
        last = episodes(key_start, sample, *scaling(moments))
        kept = remembered(sample.member_keys(key_seen), options.observation_share)
        return Episodes(
            displacement=displacement(robot, last.physics.qpos),
            valid=last.valid,
            num_steps=last.num_steps,
            seen=pool(last.seen, kept & last.valid),
        )

    return Engine(f"mjx ({implementation})", run, on_host=False)


def mjx_world(robot: Robot, policy: Policy, options: LocomotionOptions) -> World:
    """A robot's episodes step by step; what is asked is a direction to go in, and a reward the distance traveled."""
    implementation = implementation_of(options)

    def situation(now: _Progress) -> Situation:
        position = displacement(robot, now.physics.qpos)
        return Situation(now, _observation(robot, now), position, now.running, now.valid)

    def begin(key: Array, num_episodes: int) -> Situation:
        poses = start_positions(jax.random.split(key, num_episodes), robot.start, robot.num_joints, options.start_noise)
        physics, buffers = jax.vmap(simulator(robot, implementation, num_episodes)[0])(poses)
        return situation(_first(robot, physics, buffers, num_episodes)._replace(seen=None))

    def advance(now: Situation, actions: Array) -> Situation:
        # Made here, as the size of Warp's buffers depends on the number of episodes.
        one_step = simulator(robot, implementation, len(actions))[1]
        return situation(_advance(robot, options, one_step, now.state, actions))

    return World(
        policy,
        robot.num_observations,
        robot.num_joints,
        options.num_steps,
        begin,
        advance,
        directions(len(robot.behavior)),
        lambda moments, observation: scaled_observation(observation, *scaling(moments)),
    )


def implementation_of(options: LocomotionOptions) -> str:
    """What MJX computes with: its own, ``jax``, or ``warp`` where that is installed."""
    if options.mjx_implementation != "auto":
        return options.mjx_implementation
    has_warp = importlib.util.find_spec("warp") is not None
    return "warp" if has_warp and jax.default_backend() == "gpu" else "jax"


def scaled_observation(observation: Array, mean: Array, std: Array) -> Array:
    """What a network sees of an observation."""
    return jnp.clip((observation - mean) / std, -LIMIT, LIMIT)


def _observation(robot: Robot, now: _Progress) -> Array:
    torso = robot.torso(now.physics.qpos, now.physics.qvel)
    return observe(robot, torso, now.physics.qpos, now.physics.qvel, now.contacts)


def _advance(robot: Robot, options: LocomotionOptions, advance: Any, now: _Progress, torques: Array) -> _Progress:
    """One control step of all members."""
    torques = jnp.clip(torques, -TORQUE_LIMIT, TORQUE_LIMIT)
    # All members, also those whose episode has ended: a compiled step cannot leave some out.
    physics, buffers, sensordata = jax.vmap(advance)(now.physics, now.buffers, torques)
    torso = robot.torso(physics.qpos, physics.qvel)
    good = now.running & is_plausible(torso, physics.qpos, physics.qvel)
    # Where an episode has ended or broken down, nothing changes any more: no NaN enters.
    physics, contacts = _where(good, (physics, touching(robot, sensordata)), (now.physics, now.contacts))
    ended = has_fallen(robot, torso, contacts) & options.early_termination
    return _Progress(
        physics=physics,
        buffers=buffers,
        contacts=contacts,
        running=good & ~ended,
        # An episode that has ended stays as valid as it was.
        valid=now.valid & (good | ~now.running),
        # With the step that ends the episode, as in native MuJoCo's engine.
        num_steps=now.num_steps + now.running,
        seen=now.seen,
    )


def simulator(robot: Robot, implementation: str, num_members: int) -> tuple[Any, Any]:
    """Two functions of one member, to be mapped over all of them.

    ``begin(pose) -> (physics, buffers)`` and ``advance(physics, buffers, torques) -> (physics, buffers, sensordata)``,
    one control step. Warp works in buffers that go from step to step, as filling new ones takes a fifth of its time;
    the data of MJX's own implementation are never written out, so there it has none.
    """
    model, blank = _put(robot, implementation, num_members)
    with_buffers = implementation == "warp"

    def begin(pose: Array) -> tuple[Physics, PyTree]:
        return Physics(pose, blank.qvel, blank.qacc_warmstart), blank if with_buffers else None

    def advance(physics: Physics, buffers: PyTree, torques: Array) -> tuple[Physics, PyTree, Array]:
        def step(_: Any, carry: tuple[Physics, PyTree, Array]) -> tuple[Physics, PyTree, Array]:
            physics, buffers, _ = carry
            data = mjx.step(model, (buffers or blank).replace(**physics._asdict(), ctrl=torques))
            physics = Physics(data.qpos, data.qvel, data.qacc_warmstart)
            return physics, data if with_buffers else None, data.sensordata

        # Physics in full precision: a GPU's default for matrix products, TF32, keeps 10 bits.
        with jax.default_matmul_precision("highest"):
            # A loop's carry keeps its shapes, so sensors are there before the first step.
            first = (physics, buffers, blank.sensordata)
            return jax.lax.fori_loop(0, STEPS_PER_CONTROL, step, first, unroll=with_buffers)

    return begin, advance


def _put(robot: Robot, implementation: str, num_members: int) -> tuple[mjx.Model, mjx.Data]:
    """The model and blank data on the device."""
    native = copy.copy(robot.model)
    native.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # MJX never does, and Warp refuses the flag
    sizes = {}
    if implementation == "warp":
        solid = native.geom_type[native.geom_contype > 0]
        # A capsule touches the floor in up to two points, a sphere in one.
        num_contacts = int(np.sum(np.where(solid == mujoco.mjtGeom.mjGEOM_CAPSULE, 2, 1))) - 1  # without the floor
        sizes = {
            "naconmax": WARP_BATCHES * num_members * num_contacts,
            "njmax": 4 * num_contacts + robot.num_joints,  # four faces of a friction pyramid, and the joints' limits
        }
    device = jax.local_devices()[0]  # MJX would take the first of all processes
    model = mjx.put_model(native, device, implementation)
    if implementation == "warp":
        # It would print a line for every member and step in which the solver uses all of its few iterations.
        model = model.tree_replace({"opt._impl.warn_overflow": 0})
    return model, mjx.make_data(native, device, implementation, **sizes)


def _first(robot: Robot, physics: Physics, buffers: PyTree, num_members: int) -> _Progress:
    blank = jnp.zeros((num_members, robot.num_observations))
    return _Progress(
        physics=physics,
        buffers=buffers,
        contacts=jnp.zeros((num_members, robot.num_links)),
        running=jnp.ones(num_members, bool),
        valid=jnp.ones(num_members, bool),
        num_steps=jnp.zeros(num_members, jnp.int32),
        seen=Moments(jnp.zeros(num_members), blank, blank),
    )


def _where(condition: Array, new: PyTree, old: PyTree) -> PyTree:
    """Of two pytrees, the new one for the members that meet the condition."""
    return jax.tree.map(lambda new, old: jnp.where(condition[:, None], new, old), new, old)
