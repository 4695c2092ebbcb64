"""What a worker does: evaluate a range of members, or sum the gradient of a range of draws.

A worker is told integers (which members, of which generation) and the center. Noise is rebuilt from its address, one
draw at a time by one compiled function, so a member's bits do not depend on which others it is evaluated with.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from threadpoolctl import ThreadpoolController

from evolvability.config.build import build_population
from evolvability.config.schema import Config
from evolvability.core.noise import Shapes
from evolvability.core.populations import Population
from evolvability.core.types import Cloud, PyTree
from evolvability.tasks.simulators import Address, Part, Simulator, joined, lost, part_of

SAME_VERSIONS = ("evolvability-es", "jax", "numpy")
"""Packages whose version decides over bits."""


class Recipe(NamedTuple):
    """What a worker needs to know of a run, once.

    Attributes:
        config: the run's configuration, for its population.
        shapes: of the task's parameters, likewise.
        num_behaviors: the length of a behavior.
        factory: builds the simulator.
        versions: the driver's packages.
    """

    config: Config
    shapes: Shapes
    num_behaviors: int
    factory: Callable[[], Simulator]
    versions: dict[str, str]


class Broadcast(NamedTuple):
    """What a worker needs to know of one seed's generation.

    Attributes:
        run: the words of the run's key.
        noise: the words of the key that noise is addressed by.
        generation: the generation.
        cloud: the center, and the scales where they are learned.
        memory: what the task remembers, e.g. statistics of observations.
    """

    run: tuple[int, ...]
    noise: np.ndarray[Any, Any]
    generation: int
    cloud: Cloud
    memory: PyTree


class Report(NamedTuple):
    """A worker's answer.

    Attributes:
        result: a `Part`, or a partial gradient as a `Cloud`; None if it failed.
        failure: what went wrong, apart from single members.
        worker: who answers.
        seconds: how long it took.
    """

    result: Any
    failure: str
    worker: str
    seconds: float


def packed(config: Config, shapes: Shapes, num_behaviors: int, factory: Callable[[], Simulator]) -> bytes:
    """A recipe on its way to other processes."""
    versions = {name: version(name) for name in SAME_VERSIONS}
    return cloudpickle.dumps(Recipe(config, shapes, num_behaviors, factory, versions))


def evaluate_members(recipe: bytes, broadcast: Broadcast, members: range) -> Report:
    """Run some members, wherever this is called."""
    return reported(lambda: _workbench(recipe).evaluate(broadcast, members))


def sum_gradient(recipe: bytes, broadcast: Broadcast, draws: range, weights: np.ndarray[Any, Any]) -> Report:
    """The part of some draws in the gradient, times the number of all members."""
    return reported(lambda: _workbench(recipe).gradient(broadcast, draws, weights))


def get_ready(recipe: bytes, broadcast: Broadcast) -> Report:
    """Build and compile what the other calls need."""
    return reported(lambda: _workbench(recipe).get_ready(broadcast))


class Workbench:
    """A simulator and the compiled functions that rebuild members; one a thread."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        population = build_population(recipe.config, recipe.shapes)
        self.num_signs = population.num_signs

        def add(total: Cloud, noise: Array, cloud: Cloud, generation: Array, draw: Array, weights: Array) -> Cloud:
            sample = population.sample(jax.random.wrap_key_data(noise), cloud, generation, draw[None])
            part = population.gradient(sample, weights)
            return jax.tree.map(lambda sum_, new: sum_ + sample.num_members * new, total, part)

        self._members, self._add = writer(population), jax.jit(add, donate_argnums=0)
        self._simulator: Simulator | None = None

    def get_ready(self, broadcast: Broadcast) -> None:
        """Without evaluating anybody."""
        self._members(*_on_cpu(broadcast), np.int32(0))
        self.gradient(broadcast, range(1), np.ones((1, self.num_signs), np.float32))
        self._simulator = self._simulator or self.recipe.factory()

    def evaluate(self, broadcast: Broadcast, members: range) -> Part:
        """Run members one after another; a pair's noise is drawn once."""
        address = _on_cpu(broadcast)
        parts, drawn, pair = [], -1, np.empty(0)
        for member in members:
            draw, sign = divmod(member, self.num_signs)
            if draw != drawn:
                drawn, pair = draw, np.asarray(self._members(*address, np.int32(draw)))
            parts.append(self._trial(pair[sign], Address(broadcast.run, broadcast.generation, member), broadcast))
        return joined(parts)

    def gradient(self, broadcast: Broadcast, draws: range, weights: np.ndarray[Any, Any]) -> Cloud:
        """The sum over draws, in their order; weights: (num_draws, num_signs)."""
        address = _on_cpu(broadcast)
        total: Cloud = jax.tree.map(jnp.zeros_like, address[1])
        for draw, own in zip(draws, weights, strict=True):
            if own.any():
                total = self._add(total, *address, np.int32(draw), own)
        return jax.tree.map(np.asarray, total)

    def _trial(self, parameters: np.ndarray[Any, Any], address: Address, broadcast: Broadcast) -> Part:
        """One member. If its simulator raises it gets a second chance with a new one, whose past cannot matter."""
        text = ""
        for _ in range(2):
            try:
                self._simulator = self._simulator or self.recipe.factory()
                trial = self._simulator(parameters, address, broadcast.memory)
                if len(trial.behavior) != self.recipe.num_behaviors:
                    raise ValueError(
                        f"the behavior has {len(trial.behavior)} entries, but {self.recipe.num_behaviors} are expected"
                    )
                return part_of(trial)
            except Exception as error:
                text, self._simulator = f"{type(error).__name__}: {error}", None
        return lost(self.recipe.num_behaviors, address.member, text)


def writer(population: Population) -> Callable[..., Array]:
    """``(noise, cloud, generation, draw) -> (num_signs, num_params)``, the members of one draw, compiled."""

    def members(noise: Array, cloud: Cloud, generation: Array, draw: Array) -> Array:
        return population.sample(jax.random.wrap_key_data(noise), cloud, generation, draw[None]).members()

    return jax.jit(members)


_own = threading.local()


def _workbench(recipe: bytes) -> Workbench:
    """This thread's workbench for a run; the one before is given up."""
    if getattr(_own, "recipe", None) != recipe:
        unpacked: Recipe = cloudpickle.loads(recipe)
        for name, wanted in unpacked.versions.items():
            if version(name) != wanted:
                raise RuntimeError(f"this worker has {name} {version(name)}, but the driver has {wanted}")
        _own.bench, _own.recipe = Workbench(unpacked), recipe
    return _own.bench


def _on_cpu(broadcast: Broadcast) -> tuple[Any, ...]:
    cpu = jax.local_devices(backend="cpu")[0]
    return jax.device_put((broadcast.noise, broadcast.cloud, np.int32(broadcast.generation)), cpu)


def reported(work: Callable[[], Any]) -> Report:
    """Do some work, and tell how it went."""
    began = time.perf_counter()
    result, failure = None, ""
    try:
        # One BLAS thread: workers are many already, and a product's bits must not depend on a machine's cores.
        with _libraries().limit(limits=1, user_api="blas"):
            result = work()
    except Exception as error:  # reported, not raised: what is raised on the way back is the cluster's trouble
        failure = f"{type(error).__name__}: {error}"
    return Report(result, failure, worker_name(), time.perf_counter() - began)


def worker_name() -> str:
    """This worker, for people: a Dask worker's address, or a process."""
    if "distributed" in sys.modules:
        with suppress(ValueError):
            return str(sys.modules["distributed"].get_worker().address)
    return f"{socket.gethostname()}:{os.getpid()}"


def pin() -> None:
    """Make this process a worker: one thread, and JAX on its CPU, whatever else the machine has."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # of libraries that a simulator has yet to load
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    jax.config.update("jax_platforms", "cpu")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
