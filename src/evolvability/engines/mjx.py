"""MJX: whole episodes of all members as one compiled program, on any device JAX runs on."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from mujoco import mjx

from evolvability.engines.base import TORQUE_LIMIT, Engine, EpisodeOptions, Episodes, start_positions
from evolvability.errors import ConfigError
from evolvability.normalizer import LIMIT, Moments, include, pool, scaling
from evolvability.observations import displacement, has_fallen, is_plausible, observe, touching
from evolvability.policies import Policy
from evolvability.robots import STEPS_PER_CONTROL, Robot
from evolvability.types import PyTree, Sample


class _Progress(NamedTuple):
    """All members in mid-episode; arrays have the axis (num_members,) in front.

    Attributes:
        physics: what the simulator needs to go on.
        contacts: (num_members, num_links) which links touch the floor.
        running: whether the episode still goes on.
        valid: whether the simulation has not broken down.
        num_steps: control steps so far.
        seen: statistics of each member's own observations.
    """

    physics: PyTree
    contacts: Array
    running: Array
    valid: Array
    num_steps: Array
    seen: Moments


class _Physics(NamedTuple):
    """The state of MJX's own implementation: all else follows from it."""

    qpos: Array
    qvel: Array
    qacc_warmstart: Array


def mjx_engine(robot: Robot, policy: Policy, options: EpisodeOptions, implementation: str = "jax") -> Engine:
    """An engine of MJX.

    Args:
        robot: the robot.
        policy: the network family that drives it.
        options: how episodes go.
        implementation: MJX's own, ``jax``, or ``warp`` where that is installed.
    """
    begin, advance = simulator(robot, implementation)

    def run(key: Array, sample: Sample, moments: Moments) -> Episodes:
        key_start, key_seen = jax.random.split(key)
        networks = policy.build(sample)
        mean, std = scaling(moments)

        def control_step(now: _Progress, _: None) -> tuple[_Progress, None]:
            torso = robot.torso(now.physics.qpos, now.physics.qvel)
            observation = observe(robot, torso, now.physics.qpos, now.physics.qvel, now.contacts)
            scaled = jnp.clip((observation - mean) / std, -LIMIT, LIMIT)
            torques = jnp.clip(policy.act(networks, scaled), -TORQUE_LIMIT, TORQUE_LIMIT)
            physics, sensordata = jax.vmap(advance)(now.physics, torques)
            torso = robot.torso(physics.qpos, physics.qvel)
            good = now.running & is_plausible(torso, physics.qpos, physics.qvel)
            # Where an episode has ended or broken down, nothing changes any more: no NaN enters.
            physics, contacts = _where(good, (physics, touching(robot, sensordata)), (now.physics, now.contacts))
            ended = has_fallen(robot, torso, contacts) & options.early_termination
            return _Progress(
                physics=physics,
                contacts=contacts,
                running=good & ~ended,
                valid=now.valid & (good | ~now.running),
                num_steps=now.num_steps + now.running,
                seen=include(now.seen, observation, now.running),
            ), None

        poses = start_positions(key_start, sample.num_members, robot.start, robot.num_joints, options.start_noise)
        first = _first(robot, jax.vmap(begin)(poses), sample.num_members)
        last, _ = jax.lax.scan(control_step, first, length=options.num_steps)
        remembered = jax.random.bernoulli(key_seen, options.observation_share, (sample.num_members,))
        return Episodes(
            displacement=displacement(robot, last.physics.qpos),
            valid=last.valid,
            num_steps=last.num_steps,
            seen=pool(last.seen, remembered & last.valid),
        )

    return Engine(f"mjx ({implementation})", run, on_host=False)


def simulator(robot: Robot, implementation: str) -> tuple[Any, Any]:
    """Two functions of one member: ``(pose) -> physics`` and ``(physics, torques) -> (physics, sensordata)``."""
    try:
        model = mjx.put_model(robot.model, impl=implementation)
        blank = mjx.make_data(robot.model, impl=implementation)
    except RuntimeError as error:
        raise ConfigError(f"MJX's implementation '{implementation}' cannot be used here: {error}") from None
    # Warp writes into its whole data, so all of it has to be carried from step to step.
    keep, load = (
        (_kept, lambda physics: blank.replace(**physics._asdict())) if implementation == "jax" else (_same, _same)
    )

    def begin(pose: Array) -> PyTree:
        return keep(blank.replace(qpos=pose))

    def advance(physics: PyTree, torques: Array) -> tuple[PyTree, Array]:
        def step(_: Array, carry: tuple[PyTree, Array]) -> tuple[PyTree, Array]:
            data = mjx.step(model, load(carry[0]).replace(ctrl=torques))
            return keep(data), data.sensordata

        # Physics in full precision: the solver breaks down in TF32, the default for matrix products on GPUs.
        with jax.default_matmul_precision("highest"):
            return jax.lax.fori_loop(0, STEPS_PER_CONTROL, step, (physics, blank.sensordata))

    return begin, advance


def _kept(data: mjx.Data) -> _Physics:
    return _Physics(data.qpos, data.qvel, data.qacc_warmstart)


def _same(data: PyTree) -> PyTree:
    return data


def _first(robot: Robot, physics: PyTree, num_members: int) -> _Progress:
    blank = jnp.zeros((num_members, robot.num_observations))
    return _Progress(
        physics=physics,
        contacts=jnp.zeros((num_members, robot.num_links)),
        running=jnp.ones(num_members, bool),
        valid=jnp.ones(num_members, bool),
        num_steps=jnp.zeros(num_members, jnp.int32),
        seen=Moments(jnp.zeros(num_members), blank, blank),
    )


def _where(condition: Array, new: PyTree, old: PyTree) -> PyTree:
    """Of two pytrees, the new one for the members that meet the condition."""

    def choose(new: Array, old: Array) -> Array:
        if new.ndim == 0 or new.shape[0] != len(condition):
            return new
        return jnp.where(condition.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, new, old)
