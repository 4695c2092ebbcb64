"""Native MuJoCo on all CPU cores.

A block of draws goes through its whole episode on one thread, policy and physics in turn: the block's noise stays in
the processor's cache, and threads never wait for each other.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from mujoco.batch import Batch, SimulationError
from threadpoolctl import threadpool_limits

from evolvability.core.cores import num_cores
from evolvability.core.types import Sample
from evolvability.tasks.engines.base import (
    TORQUE_LIMIT,
    Engine,
    Episodes,
    LocomotionOptions,
    motion_of,
    remembered,
    start_positions,
)
from evolvability.tasks.normalizer import LIMIT, Moments, include, pool, scaling
from evolvability.tasks.observations import displacement, has_fallen, is_plausible, observe, slowed, touching
from evolvability.tasks.policies import Policy
from evolvability.tasks.replay import HostArray, Motion, Replay
from evolvability.tasks.robots import Robot

BLOCK = 128
"""Draws per block, at most: many make Python's share of a control step small, few let their noise stay in cache."""


def mujoco_engine(robot: Robot, policy: Policy, options: LocomotionOptions) -> Engine:
    """An engine of native MuJoCo, which drives a robot with a network family."""
    num_threads = options.threads or num_cores()

    def run(key: Array, sample: Sample, moments: Moments) -> Episodes:
        key_start, key_seen = jax.random.split(key)
        poses = start_positions(sample.member_keys(key_start), robot, options.start_noise)
        kept = np.asarray(remembered(sample.member_keys(key_seen), options.observation_share))
        mean, std = (np.asarray(part) for part in scaling(moments))

        def episodes(block: tuple[Sample, HostArray, HostArray]) -> Episodes:
            members, poses, kept = block
            return _Block(robot, policy, options, members, poses).run(mean, std, kept)

        # Physics in float64, which is MuJoCo's only type; policies in float32.
        blocks = _blocks(sample, np.asarray(poses, np.float64), kept, num_threads)
        # One BLAS thread each: their own threads would fight over the cores with ours.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(num_threads) as pool_of_threads:
            parts = list(pool_of_threads.map(episodes, blocks))
        whole: Episodes = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        # Pooled by NumPy: the number of remembered members changes, and JAX would compile anew for each.
        whole = whole._replace(seen=pool(whole.seen, whole.valid[kept]))
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32 if leaf.dtype.kind == "f" else None), whole)

    return Engine(f"mujoco, {num_threads} CPU thread{'s' * (num_threads > 1)}", run, on_host=True)


def mujoco_replay(robot: Robot, policy: Policy, options: LocomotionOptions) -> Replay:
    """Episodes of a few members with every moment's pose; the same, to the bit, as this engine's."""

    def replay(key: Array, sample: Sample, moments: Moments) -> Motion:
        key_start, _ = jax.random.split(key)
        starts = start_positions(sample.member_keys(key_start), robot, options.start_noise)
        host = _on_host(sample)
        mean, std = (np.asarray(part) for part in scaling(moments))
        poses: list[HostArray] = []
        # As in the engine: more BLAS threads could add up in another order.
        with threadpool_limits(1, "blas"):
            block = _Block(robot, policy, options, host, np.asarray(starts, np.float64))
            episodes = block.run(mean, std, np.zeros(sample.num_members, bool), lambda qpos: poses.append(qpos.copy()))
        return motion_of(robot, episodes, np.stack(poses, axis=1).astype(np.float32))

    return replay


def _blocks(
    sample: Sample, poses: HostArray, kept: HostArray, num_threads: int
) -> Iterator[tuple[Sample, HostArray, HostArray]]:
    """A sample in blocks of draws, as many for every thread, in NumPy's arrays."""
    rounds = math.ceil(sample.num_draws / (BLOCK * num_threads))
    size = math.ceil(sample.num_draws / (rounds * num_threads))
    host: Any = jax.tree.map(np.asarray, sample)
    for first in range(0, sample.num_draws, size):
        draws = slice(first, first + size)
        block = _on_host(host.of_draws(draws))
        # A draw's members are neighbors, so a block of draws is a range of members.
        members = slice(first * len(host.sign), first * len(host.sign) + block.num_members)
        yield block, poses[members], kept[members]


def _on_host(sample: Sample) -> Sample:
    """A sample in NumPy's arrays, with noise in the only type that it is fast in."""
    host: Sample = jax.tree.map(np.asarray, sample)
    return host._replace(noise=jax.tree.map(lambda leaf: leaf.astype(np.float32), host.noise))


class _Block:
    """The episodes of a few members, on the calling thread."""

    def __init__(
        self, robot: Robot, policy: Policy, options: LocomotionOptions, sample: Sample, poses: HostArray
    ) -> None:
        self.robot, self.policy, self.options = robot, policy, options
        self.networks = policy.build(sample)
        self.batch = Batch(robot.model, nsim=len(poses), nthread=1)
        # Views: what is written into them is the simulations' state.
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.sensordata = self.batch.bind("sensordata")
        self.qpos[:] = poses
        self.running = np.ones(len(poses), bool)
        self.valid: Any = np.ones(len(poses), bool)
        self.contacts = np.zeros((len(poses), robot.num_links))
        self.torso = robot.torso(self.qpos, self.qvel)

    def run(
        self,
        mean: HostArray,
        std: HostArray,
        kept: HostArray,
        watch: Callable[[HostArray], None] = lambda qpos: None,
    ) -> Episodes:
        """Whole episodes; of ``seen``, one entry per member that is kept. ``watch`` is shown every moment's poses."""
        blank = np.zeros((int(kept.sum()), self.robot.num_observations))
        seen = Moments(np.zeros(len(blank)), blank, blank)
        num_steps: Any = np.zeros(len(self.running), np.int32)
        for _ in range(self.options.num_steps):
            watch(self.qpos)
            # When all have ended early one frame is too many, and beyond every `num_frames`.
            if not self.running.any():
                break
            observation = observe(self.robot, self.torso, self.qpos, self.qvel, self.contacts)
            if len(blank):
                seen = include(seen, observation[kept], self.running[kept])
            num_steps += self.running
            scaled = np.clip((observation.astype(np.float32) - mean) / std, -LIMIT, LIMIT)
            self._advance(np.clip(self.policy.act(self.networks, scaled), -TORQUE_LIMIT, TORQUE_LIMIT))
        watch(self.qpos)
        return Episodes(displacement(self.robot, self.qpos).astype(np.float32), self.valid, num_steps, seen)

    def _advance(self, torques: Any) -> None:
        """One control step of the episodes that go on; those that end or break down stay where they are."""
        before = self.qpos.copy()
        finite = np.isfinite(torques)
        self.ctrl[:] = np.where(finite, torques, 0)  # MuJoCo would do the same, and write a log file about it
        try:
            running = None if self.running.all() else np.flatnonzero(self.running)
            self.batch.step(running, nstep=self.robot.steps_per_control)
        except SimulationError as error:
            self.qpos[error.ids] = np.nan  # so that it is found implausible below
        self.qvel[:] = np.where(self.running[:, None], slowed(self.robot, self.qpos, self.qvel), self.qvel)
        self.torso = self.robot.torso(self.qpos, self.qvel)
        good = is_plausible(self.torso, self.qpos, self.qvel) & finite.all(axis=1)
        if not good.all():
            broken = ~good
            # Back where it was, and at rest: observations stay finite, and a broken state is not stepped again.
            self.qpos[broken], self.qvel[broken] = before[broken], 0
            self.torso = self.robot.torso(self.qpos, self.qvel)
            self.valid &= good
            self.running &= good
        self.contacts = np.where(self.running[:, None], touching(self.robot, self.sensordata), self.contacts)
        if self.options.early_termination:
            self.running &= ~has_fallen(self.robot, self.torso, self.contacts)
