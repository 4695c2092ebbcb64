"""Episodes on the cores of a CPU: physics and networks in one compiled function, see `fused.episodes`."""

import functools
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import warp as wp
from mujoco_fused import FLOAT, Precision, load_kernel

from evolvability.core.types import Sample
from evolvability.tasks.engines.base import Engine, EpisodeResults, Episodes, on_threads
from evolvability.tasks.engines.drawing import Drawn
from evolvability.tasks.engines.episodes import Given, episode_kernel
from evolvability.tasks.engines.network_text import NetworkText, arranged, network_text
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import Moments, scaling
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.robot import Robot

BLOCK = 8
"""Draws per call of the compiled function: enough that Python's share is small, few enough that no core waits long."""


def cores_engine(robot: Robot, networks: NetworkFamily, options: EpisodeOptions) -> Engine:
    """An engine for the cores of a CPU, which drives a robot with a network family."""
    # Compiled beside whatever else there is to do, such as JAX's programs.
    _loaded(robot, network_text(networks, FLOAT), FLOAT, Given(options.push > 0, options.parameters))
    return on_threads("fused", robot, options, BLOCK, cores_episodes(robot, networks, options))


@functools.cache
def _loaded(robot: Robot, network: NetworkText, precision: Precision, given: Given) -> Future[wp.Kernel]:
    """A kernel that is compiled on a thread of its own."""
    thread = ThreadPoolExecutor(1)
    loading = thread.submit(load_kernel, episode_kernel(robot, network, precision, given), "cpu")
    thread.shutdown(wait=False)
    return loading


def cores_episodes(
    robot: Robot, networks: NetworkFamily, options: EpisodeOptions, precision: Precision = FLOAT
) -> Episodes:
    """Episodes by one call of the compiled function.

    In `DOUBLE` precision they are, to the bit, those of a page that simulates: see `explorer.playground`.
    """
    text = network_text(networks, precision)

    def episodes(
        sample: Sample, drawn: Drawn, moments: Moments, kept: HostArray, is_watched: bool
    ) -> tuple[EpisodeResults, HostArray]:
        number, size, dtype = sample.num_members, robot.num_observations, precision.dtype
        parameters = arranged(networks, np.asarray(sample.members(), np.float32), precision)
        # By NumPy wherever they come from: JAX rounds otherwise, and a member must act the same whenever it is watched.
        scales = [part.astype(np.float32).astype(dtype) for part in scaling(jax.tree.map(np.asarray, moments))]
        ended = np.zeros((number, len(robot.behavior)), dtype)
        status, seen = np.zeros((number, 2), np.int32), np.zeros((number, 1 + 2 * size), dtype)
        num_frames = options.num_steps + 1 if is_watched else 0
        path = np.zeros((number, num_frames, robot.model.nq), dtype)
        # Warp's arrays are views of NumPy's: the function writes into the latter.
        starts = np.concatenate(jax.tree.leaves(drawn), axis=1, dtype=dtype)  # in the order of `Given`
        inputs = [_view(array) for array in (parameters, starts, kept.astype(np.int32), *scales)]
        outputs = [_view(array) for array in (ended, status, seen, path)]
        numbers = options.num_steps, int(options.early_termination), num_frames
        given = Given(drawn.qvel is not None, tuple(drawn.physics))
        kernel = _loaded(robot, text, precision, given).result()
        wp.launch(kernel, dim=number, inputs=[*inputs, *numbers], outputs=outputs, device="cpu")
        seen_by_each = Moments(seen[kept, 0], seen[kept, 1 : 1 + size], seen[kept, 1 + size :])
        done: Any = (ended, status[:, 0] > 0, status[:, 1], seen_by_each)  # NumPy's arrays, for now
        return EpisodeResults(*done), path

    return episodes


def _view(array: Any) -> wp.array:
    return wp.array(array, device="cpu", copy=False)
