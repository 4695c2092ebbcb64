"""The interface between the locomotion tasks and what steps their physics: options, what comes back, and threads."""

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from threadpoolctl import ThreadpoolController

from evolvability.core.cores import num_cores
from evolvability.core.types import Sample
from evolvability.tasks.circumstances import Circumstances, circumstances_in
from evolvability.tasks.engines.drawing import Drawn, draw
from evolvability.tasks.normalizer import Moments, pool
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.replay import HostArray, Recording, Replay


class EpisodeResults(NamedTuple):
    """What became of every member's episode."""

    behavior: Array
    """(num_members, num_behaviors) what each had done when its episode ended, or did on average."""
    valid: Array
    """(num_members,) False where the simulation broke down."""
    num_steps: Array
    """(num_members,) control steps until the episode ended."""
    seen: Moments
    """The statistics of the observations to remember."""


@dataclass(frozen=True)
class Engine:
    """A way to step episodes."""

    name: str
    """What it is and on which device it runs, as a text for people."""
    run: Callable[[Array, Sample, Moments], EpisodeResults]
    """One episode per member, observations scaled by the moments."""
    replay: Replay
    """The same to watch, of a few members on the CPU."""
    on_host: bool
    """Whether ``run`` is ordinary Python, to be called outside of ``jit``."""


def dealt(key: Array, sample: Sample, robot: Any, options: EpisodeOptions) -> tuple[Drawn, Array]:
    """The circumstances of every member's episode, and whether its observations enter the running statistics."""
    # By what counts alone: tasks whose options differ otherwise share a program.
    return _dealt(key, sample, robot, Circumstances(**circumstances_in(options)), options.observation_share)


@functools.partial(jax.jit, static_argnums=(2, 3, 4))  # one program instead of forty
def _dealt(key: Array, sample: Sample, robot: Any, circumstances: Circumstances, share: float) -> tuple[Drawn, Array]:
    key_start, key_seen = jax.random.split(key)
    drawn = draw(sample.member_keys(key_start), robot, circumstances)
    remember = jax.vmap(lambda own: jax.random.bernoulli(own, share))
    return drawn, remember(sample.member_keys(key_seen))


Episodes = Callable[[Sample, Drawn, Moments, HostArray, bool], tuple[EpisodeResults, HostArray]]
"""``(sample, drawn, moments, kept, is_watched) -> (results, poses)`` in NumPy's arrays, on the calling thread.

Of the results, ``seen`` is of members that are kept; poses: (num_members, num_frames, num_positions), if watched.
"""


def on_threads(name: str, robot: Any, options: EpisodeOptions, most: int, episodes: Episodes) -> Engine:
    """An engine on the cores of a CPU: a block of draws, ``most`` of them, goes through its episodes on one thread."""
    num_threads = options.threads or num_cores()

    def run(key: Array, sample: Sample, moments: Moments) -> EpisodeResults:
        drawn, kept, host = jax.tree.map(np.asarray, (*dealt(key, sample, robot, options), sample))
        rounds = math.ceil(sample.num_draws / (most * num_threads))
        size = math.ceil(sample.num_draws / (rounds * num_threads))  # as many blocks for every thread

        def block(first: int) -> EpisodeResults:
            draws = _in_float32(host.of_draws(slice(first, first + size)))
            # A draw's members are neighbors, so a block of draws is a range of members.
            members = slice(first * len(host.sign), first * len(host.sign) + draws.num_members)
            own = jax.tree.map(lambda leaf: leaf[members], drawn)
            return episodes(draws, own, moments, kept[members], False)[0]

        # One BLAS thread each: their own threads would fight over the cores with ours.
        with one_blas_thread(), ThreadPoolExecutor(num_threads) as threads:
            parts = list(threads.map(block, range(0, sample.num_draws, size)))
        whole: EpisodeResults = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        # Pooled by NumPy: the number of remembered members changes, and JAX would compile anew for each.
        whole = whole._replace(seen=pool(whole.seen, np.asarray(whole.valid)[kept]))
        in_float32 = jax.tree.map(lambda leaf: leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf, whole)
        return jax.device_put(in_float32)

    text = f"{name}, {num_threads} CPU thread{'s' * (num_threads > 1)}"
    return Engine(text, run, host_replay(robot, options, episodes), on_host=True)


def one_blas_thread() -> Any:
    """A context in which NumPy's products take one thread each."""
    return _libraries().limit(limits=1, user_api="blas")


_libraries = functools.cache(ThreadpoolController)  # which looks through all libraries of the process


def host_replay(robot: Any, options: EpisodeOptions, episodes: Episodes) -> Replay:
    """Episodes to watch."""

    def replay(key: Array, sample: Sample, moments: Moments) -> Recording:
        drawn = jax.tree.map(np.asarray, dealt(key, sample, robot, options)[0])
        host, none_kept = _in_float32(jax.tree.map(np.asarray, sample)), np.zeros(sample.num_members, bool)
        # As in the engine: more BLAS threads could add up in another order.
        with one_blas_thread():
            done, frames = episodes(host, drawn, moments, none_kept, True)
        poses = frames.astype(np.float32)
        return Recording(
            behavior=np.asarray(done.behavior),
            valid=np.asarray(done.valid),
            num_frames=np.asarray(done.num_steps) + 1,
            path=np.stack(np.broadcast_arrays(*robot.torso(poses, np.zeros_like(poses)).position[:2]), axis=-1),
            poses=poses,
        )

    return replay


def _in_float32(sample: Sample) -> Sample:
    """A sample with noise in the only type that NumPy is fast in."""
    return sample._replace(noise=jax.tree.map(lambda leaf: leaf.astype(np.float32), sample.noise))
