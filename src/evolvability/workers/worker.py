"""What a worker does: evaluate a range of members, or sum the gradient of a range of draws.

A worker gets integers (which members, of which generation) and the center. Noise is rebuilt from its address, one
draw at a time by one compiled function, so a member's bits do not depend on which others it is evaluated with.
"""

import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from uuid import uuid4

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from threadpoolctl import ThreadpoolController

from evolvability.config.build import build_population
from evolvability.config.schema import Config
from evolvability.core.errors import TaskError, described
from evolvability.core.noise import Shapes
from evolvability.core.populations import Population
from evolvability.core.types import Parameters, PyTree
from evolvability.tasks.base import Task
from evolvability.tasks.simulators import Address, Part, Simulator, joined, lost, of_member, part_of
from evolvability.workers.fingerprint import code_here


@dataclass(frozen=True, eq=False)  # compared by identity, so that a pool can remember which ones it has sent
class Recipe:
    """What a worker needs to know of a run, once."""

    name: str
    """A name that no other recipe has."""
    config: Config
    """The run's configuration, for its population."""
    shapes: Shapes
    """The shapes of the task's parameters, for its population."""
    num_behaviors: int
    """The length of a behavior."""
    factory: bytes
    """Builds the simulator; pickled, so that nothing of it is loaded before the worker is ready for it."""
    code: dict[str, str]
    """What the driver's modules are: checksums of files, and versions of installed packages."""
    driver: tuple[str, int]
    """The driver's machine and process."""


@dataclass(frozen=True, eq=False)
class Broadcast:
    """What a worker needs to know of one seed's generation."""

    run: tuple[int, ...]
    """The words of the run's key."""
    noise: np.ndarray[Any, Any]
    """The words of the key that noise is addressed by."""
    generation: int
    """The number of the generation."""
    parameters: Parameters
    """The center, and the scales where they are learned."""
    memory: PyTree
    """What the task remembers, e.g. statistics of observations."""


def recipe_of(config: Config, task: Task, population: Population | None = None) -> Recipe:
    """A run's recipe, ready to travel; with its population, where that was given as an object."""
    try:
        factory = cloudpickle.dumps((task.simulator, population))
    except Exception as error:  # whatever a simulator's own __reduce__ raises
        raise TaskError(
            f"Task '{task.name}': its simulator cannot be sent to workers ({described(error)}). "
            "Open files, locks and engines belong into what it builds, once per worker."
        ) from error
    return Recipe(uuid4().hex, config, task.shapes, len(task.behavior), factory, code_here(), _this_process())


def work(recipe: Recipe, method: Literal["get_ready", "evaluate", "gradient"], *arguments: Any) -> Any:
    """Call a method of this thread's workbench."""
    try:
        bench = _workbench(recipe)
        # One BLAS thread: workers are many already, and a product's bits must not depend on a machine's cores.
        with _libraries().limit(limits=1, user_api="blas"):
            result = getattr(bench, method)(*arguments)
        bench.check_code()  # afterwards: modules may be imported late
    except BaseException as error:  # not of a member but of the worker, and the next one would have it too
        check_own(recipe, error)
        worker = "{}:{}".format(*_this_process())
        raise TaskError(f"Worker {worker} cannot do its work: {described(error)}") from None
    return result


def get_ready(function: Callable[..., Any], *arguments: Any) -> None:
    """What a new worker does before its first call, so that deadlines are about work."""
    if function is work:
        recipe, _, broadcast, *_ = arguments
        work(recipe, "get_ready", broadcast)


def check_own(recipe: Recipe, error: BaseException) -> None:
    """Raise what is not a simulator's own: Ctrl-C, which reaches the driver alone."""
    if isinstance(error, KeyboardInterrupt) and recipe.driver == _this_process():
        raise error


class Workbench:
    """A simulator and the compiled functions that rebuild members; one per thread."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        build, own = cloudpickle.loads(recipe.factory)
        self._build: Callable[[], Simulator] = build
        population = own or build_population(recipe.config, recipe.shapes)
        self.num_signs = population.num_signs

        def add(
            total: Parameters, noise: Array, parameters: Parameters, generation: Array, draw: Array, weights: Array
        ) -> Parameters:
            sample = population.sample(jax.random.wrap_key_data(noise), parameters, generation, draw[None])
            # The mean over the draw's members, so times their number it is a sum.
            part = population.gradient(sample, weights)
            return jax.tree.map(lambda sum_, new: sum_ + sample.num_members * new, total, part)

        # Donated: the total is added to where it lies.
        self._members, self._add = writer(population), jax.jit(add, donate_argnums=0)
        self._simulator: Simulator | None = None
        self._checked: set[str] = set()  # modules

    def get_ready(self, broadcast: Broadcast) -> None:
        """Compile and build, without evaluating anybody."""
        # np.int32, as in `evaluate`: for a Python int JAX would compile once more.
        self._members(*_on_cpu(broadcast), np.int32(0))
        self.gradient(broadcast, range(1), np.ones((1, self.num_signs), np.float32))
        try:
            self._simulator = self._simulator or self._build()
        except BaseException as error:  # which is told of the members that need it
            check_own(self.recipe, error)

    def check_code(self) -> None:
        """Refuse other code than the driver's, of whatever both have loaded."""
        if self.recipe.driver == _this_process():
            return
        for name, mark in code_here(self._checked).items():
            if (wanted := self.recipe.code.get(name, mark)) != mark:
                raise RuntimeError(f"this worker has another version of {name}, {mark}, than the driver, {wanted}")
        self._checked.update(sys.modules)

    def evaluate(self, broadcast: Broadcast, members: range) -> Part:
        """Run members one after another; a pair's noise is drawn once."""
        address = _on_cpu(broadcast)
        parts, drawn, pair = [], -1, np.empty(0)
        for member in members:
            draw, sign = divmod(member, self.num_signs)
            if draw != drawn:
                drawn, pair = draw, np.asarray(self._members(*address, np.int32(draw)))
            parts.append(self._member(pair[sign], Address(broadcast.run, broadcast.generation, member), broadcast))
        return joined(parts)

    def _member(self, parameters: np.ndarray[Any, Any], address: Address, broadcast: Broadcast) -> Part:
        """All episodes of one member."""
        episodes = range(self.recipe.config.episodes)
        return of_member(self._trial(parameters, address._replace(episode=k), broadcast) for k in episodes)

    def gradient(self, broadcast: Broadcast, draws: range, weights: np.ndarray[Any, Any]) -> Parameters:
        """The sum over draws, in their order; weights: (num_draws, num_signs)."""
        address = _on_cpu(broadcast)
        total: Parameters = jax.tree.map(jnp.zeros_like, address[1])
        for draw, own in zip(draws, weights, strict=True):
            # A draw whose members are invalid weighs nothing, and its noise need not be drawn.
            if own.any():
                total = self._add(total, *address, np.int32(draw), own)
        return jax.tree.map(np.asarray, total)

    def _trial(self, parameters: np.ndarray[Any, Any], address: Address, broadcast: Broadcast) -> Part:
        """One episode. If its simulator raises it gets a second chance with a new one, whose past cannot matter."""
        text = ""
        for _ in range(2):
            try:
                self._simulator = self._simulator or self._build()
                trial = self._simulator(parameters, address, broadcast.memory)
                if len(trial.behavior) != self.recipe.num_behaviors:
                    raise ValueError(f"the behavior has {len(trial.behavior)} entries, not {self.recipe.num_behaviors}")
                return part_of(trial)
            except BaseException as error:
                check_own(self.recipe, error)
                # The simulator may be in any state by now: the next member, too, gets a new one.
                text, self._simulator = described(error), None
        return lost(self.recipe.num_behaviors, address.member, text)


def writer(population: Population) -> Callable[..., Array]:
    """``(noise, parameters, generation, draw) -> (num_signs, num_params)``, the members of one draw, compiled."""

    def members(noise: Array, parameters: Parameters, generation: Array, draw: Array) -> Array:
        return population.sample(jax.random.wrap_key_data(noise), parameters, generation, draw[None]).members()

    return jax.jit(members)


# A Dask worker may have several threads, and a simulator is used by one at a time.
_own = threading.local()
_libraries = cache(ThreadpoolController)


def _workbench(recipe: Recipe) -> Workbench:
    """This thread's workbench for a run; the one before is given up."""
    bench: Workbench | None = getattr(_own, "bench", None)
    if bench is None or bench.recipe.name != recipe.name:
        if recipe.driver != _this_process():  # where the driver works too, its threads and devices are its own affair
            _pin()
        bench = _own.bench = Workbench(recipe)
    return bench


def _this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _on_cpu(broadcast: Broadcast) -> tuple[Any, ...]:
    cpu = jax.local_devices(backend="cpu")[0]
    return jax.device_put((broadcast.noise, broadcast.parameters, np.int32(broadcast.generation)), cpu)


@cache
def _pin() -> None:
    """Make this process a worker: one thread, and JAX on its CPU, whatever else the machine has."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # of libraries that a simulator has yet to load
    # Both are heeded only where JAX has computed nothing in this process yet.
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    jax.config.update("jax_platforms", "cpu")
