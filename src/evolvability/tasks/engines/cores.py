"""Episodes on the cores of a CPU: physics and networks in one compiled function, see `fused.episodes`."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from jax import Array

from evolvability.core.cores import num_cores
from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine, Episodes, LocomotionOptions, motion_of, remembered, start_positions
from evolvability.tasks.engines.fused.emission import FLOAT, Precision
from evolvability.tasks.engines.fused.episodes import episode_kernel
from evolvability.tasks.engines.fused.kernel import loaded
from evolvability.tasks.normalizer import Moments, pool, scaling
from evolvability.tasks.policies import Policy
from evolvability.tasks.replay import HostArray, Motion, Replay
from evolvability.tasks.robots import Robot

DTYPES = {"float": np.float32, "double": np.float64}
BLOCK = 8
"""Draws per call of the compiled function: enough that Python's share is small, few enough that no core waits long."""


def cores_engine(robot: Robot, policy: Policy, options: LocomotionOptions) -> Engine:
    """An engine for the cores of a CPU, which drives a robot with a network family."""
    num_threads = options.threads or num_cores()
    kernel = loaded(episode_kernel(robot, policy.shapes), "cpu")

    def run(key: Array, sample: Sample, moments: Moments) -> Episodes:
        _, key_seen = jax.random.split(key)
        poses = _starts(robot, options, key, sample)
        kept = np.asarray(remembered(sample.member_keys(key_seen), options.observation_share))
        host: Any = jax.tree.map(np.asarray, sample)
        num_signs = len(host.sign)

        def episodes(first: int) -> Episodes:
            block = host.of_draws(slice(first, first + BLOCK))
            # A draw's members are neighbors, so a block of draws is a range of members.
            members = slice(first * num_signs, first * num_signs + block.num_members)
            return _run(robot, options, kernel, block, poses[members], kept[members], moments)[0]

        with ThreadPoolExecutor(num_threads) as threads:
            parts = list(threads.map(episodes, range(0, sample.num_draws, BLOCK)))
        whole: Episodes = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        whole = whole._replace(seen=pool(whole.seen, whole.valid & kept))
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32 if leaf.dtype.kind == "f" else None), whole)

    return Engine(f"fused, {num_threads} CPU thread{'s' * (num_threads > 1)}", run, on_host=True)


def cores_replay(robot: Robot, policy: Policy, options: LocomotionOptions, precision: Precision = FLOAT) -> Replay:
    """Episodes of a few members with every moment's pose; the same, to the bit, as this engine's.

    With `DOUBLE` precision they are, to the bit, those of a page that simulates: see `fused.webassembly`.
    """

    def replay(key: Array, sample: Sample, moments: Moments) -> Motion:
        host, poses = jax.tree.map(np.asarray, sample), _starts(robot, options, key, sample)
        none_kept, frames = np.zeros(sample.num_members, bool), options.num_steps + 1
        kernel = episode_kernel(robot, policy.shapes, precision)
        episodes, path = _run(robot, options, kernel, host, poses, none_kept, moments, frames, precision)
        return motion_of(robot, episodes, path.astype(np.float32))

    return replay


def _starts(robot: Robot, options: LocomotionOptions, key: Array, sample: Sample) -> HostArray:
    key_start, _ = jax.random.split(key)
    return np.asarray(start_positions(sample.member_keys(key_start), robot, options.start_noise))


def _run(
    robot: Robot,
    options: LocomotionOptions,
    kernel: wp.Kernel,
    sample: Sample,
    poses: HostArray,
    kept: HostArray,
    moments: Moments,
    num_frames: int = 0,
    precision: Precision = FLOAT,
) -> tuple[Episodes, HostArray]:
    """Episodes of a sample on the calling thread, and of each member so many poses."""
    number, size, dtype = sample.num_members, robot.num_observations, DTYPES[precision.name]
    float32 = sample._replace(noise=jax.tree.map(lambda leaf: leaf.astype(np.float32), sample.noise))
    parameters = np.ascontiguousarray(float32.members().astype(np.float32), dtype)
    # By NumPy wherever they come from: JAX rounds otherwise, and a member must act the same whenever it is watched.
    scales = [part.astype(np.float32).astype(dtype) for part in scaling(jax.tree.map(np.asarray, moments))]
    ended = np.zeros((number, len(robot.behavior)), dtype)
    status, seen = np.zeros((number, 2), np.int32), np.zeros((number, 1 + 2 * size), dtype)
    path = np.zeros((number, num_frames, robot.model.nq), dtype)
    # Warp's arrays are views of NumPy's: the function writes into the latter.
    inputs = [_view(array) for array in (parameters, poses.astype(dtype), kept.astype(np.int32), *scales)]
    outputs = [_view(array) for array in (ended, status, seen, path)]
    numbers = options.num_steps, int(options.early_termination), num_frames
    wp.launch(kernel, dim=number, inputs=[*inputs, *numbers], outputs=outputs, device="cpu")
    seen_by_each = Moments(seen[:, 0], seen[:, 1 : 1 + size], seen[:, 1 + size :])
    done: Any = (ended, status[:, 0] > 0, status[:, 1], seen_by_each)  # NumPy's arrays, for now
    return Episodes(*done), path


def _view(array: Any) -> wp.array:
    return wp.array(array, device="cpu", copy=False)
