"""Episodes on the cores of a CPU: physics and networks in one compiled function, see `fused.episodes`."""

import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import warp as wp
from mujoco_fused import FLOAT, Precision, load_kernel

from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine, EpisodeResults, host_replay, on_threads
from evolvability.tasks.engines.drawing import Drawn
from evolvability.tasks.engines.episodes import Given, episode_kernel
from evolvability.tasks.engines.network_text import arranged, network_text
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import Moments, scaling
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.replay import HostArray, Replay
from evolvability.tasks.robots.robot import Robot

BLOCK = 8
"""Draws per call of the compiled function: enough that Python's share is small, few enough that no core waits long."""


def cores_engine(robot: Robot, networks: NetworkFamily, options: EpisodeOptions) -> Engine:
    """An engine for the cores of a CPU, which drives a robot with a network family."""
    loading = _loading(robot, networks, FLOAT, _given(options))

    def blocks(moments: Moments) -> Callable[[Sample, Drawn, HostArray], EpisodeResults]:
        kernel = loading.result()
        return lambda sample, drawn, kept: _run(robot, networks, options, kernel, sample, drawn, kept, moments)[0]

    return on_threads("fused", robot, options, BLOCK, blocks)


def cores_replay(
    robot: Robot,
    networks: NetworkFamily,
    options: EpisodeOptions,
    precision: Precision = FLOAT,
    fixed: tuple[HostArray, dict[str, HostArray]] | None = None,
) -> Replay:
    """Episodes of a few members with every moment's pose; the same, to the bit, as this engine's.

    ``fixed`` has velocities at the start and parameters of the physics for every episode, in place of drawn ones. With
    these and `DOUBLE` precision episodes are, to the bit, those of a page that simulates: see `explorer.playground`.
    """
    given = Given(velocities=True, parameters=tuple(sorted(fixed[1]))) if fixed else _given(options)

    def watched(sample: Sample, drawn: Drawn, moments: Moments) -> tuple[EpisodeResults, HostArray]:
        kernel = _loading(robot, networks, precision, given).result()
        if fixed:
            rows: Any = jax.tree.map(lambda row: np.tile(row, (sample.num_members, 1)), fixed)
            drawn = Drawn(drawn.qpos, *rows)
        none_kept, frames = np.zeros(sample.num_members, bool), options.num_steps + 1
        return _run(robot, networks, options, kernel, sample, drawn, none_kept, moments, frames, precision)

    return host_replay(robot, options, watched)


def _loading(robot: Robot, networks: NetworkFamily, precision: Precision, given: Given) -> Future[wp.Kernel]:
    return _loaded(episode_kernel(robot, network_text(networks, precision), precision, given))


@functools.cache
def _loaded(kernel: wp.Kernel) -> Future[wp.Kernel]:
    """A kernel that is compiled beside whatever else there is to do, such as JAX's programs."""
    thread = ThreadPoolExecutor(1)
    loading = thread.submit(load_kernel, kernel, "cpu")
    thread.shutdown(wait=False)
    return loading


def _given(options: EpisodeOptions) -> Given:
    return Given(velocities=options.push > 0, parameters=options.parameters)


def _run(
    robot: Robot,
    networks: NetworkFamily,
    options: EpisodeOptions,
    kernel: wp.Kernel,
    sample: Sample,
    drawn: Drawn,
    kept: HostArray,
    moments: Moments,
    num_frames: int = 0,
    precision: Precision = FLOAT,
) -> tuple[EpisodeResults, HostArray]:
    """Episodes of a sample on the calling thread, and of each member so many poses."""
    number, size, dtype = sample.num_members, robot.num_observations, precision.dtype
    parameters = arranged(networks, np.asarray(sample.members(), np.float32), precision)
    # By NumPy wherever they come from: JAX rounds otherwise, and a member must act the same whenever it is watched.
    scales = [part.astype(np.float32).astype(dtype) for part in scaling(jax.tree.map(np.asarray, moments))]
    ended = np.zeros((number, len(robot.behavior)), dtype)
    status, seen = np.zeros((number, 2), np.int32), np.zeros((number, 1 + 2 * size), dtype)
    path = np.zeros((number, num_frames, robot.model.nq), dtype)
    # Warp's arrays are views of NumPy's: the function writes into the latter.
    starts = np.concatenate(jax.tree.leaves(drawn), axis=1, dtype=dtype)  # in the order of `Given`
    inputs = [_view(array) for array in (parameters, starts, kept.astype(np.int32), *scales)]
    outputs = [_view(array) for array in (ended, status, seen, path)]
    numbers = options.num_steps, int(options.early_termination), num_frames
    wp.launch(kernel, dim=number, inputs=[*inputs, *numbers], outputs=outputs, device="cpu")
    seen_by_each = Moments(seen[kept, 0], seen[kept, 1 : 1 + size], seen[kept, 1 + size :])
    done: Any = (ended, status[:, 0] > 0, status[:, 1], seen_by_each)  # NumPy's arrays, for now
    return EpisodeResults(*done), path


def _view(array: Any) -> wp.array:
    return wp.array(array, device="cpu", copy=False)
