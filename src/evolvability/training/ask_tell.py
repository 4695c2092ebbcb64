"""Ask and tell: Evolvability ES inside a loop of your own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from evolvability.config.build import objective_named
from evolvability.config.objective_text import needs_fitness
from evolvability.core.errors import ConfigError, TaskError
from evolvability.core.objectives import Objective
from evolvability.core.populations import Population, normal
from evolvability.core.stateful_objectives import StatefulObjective
from evolvability.core.strategy import Info, State, evolvability_es
from evolvability.core.types import LARGEST, Outcome, PyTree, make_outcome
from evolvability.tasks.base import flattened
from evolvability.training.generation import step, with_outcome


class AskTell:
    """A strategy that hands out mutations and takes back what they did.

    Args:
        start: the parameters evolution starts from, any pytree of floats.
        population_size: mutations per generation.
        sigma: the mutations' standard deviation, default: 0.02; not beside a ``population``, which has its own.
        learning_rate: Adam's step size, default: 0.01; not beside an ``optimizer``, which has its own.
        population: the distribution of mutations; default: `normal`.
        objective: what to maximize: an objective, or a name as on the command line.
        optimizer: any optax optimizer; default: Adam.
        l2: weight decay of the center.
        seed: of the mutations.

    Examples:
        >>> loop = AskTell({"angle": 0.0, "speed": jnp.ones(2)}, population_size=8)
        >>> mutations = loop.ask()                          # the same pytree, with an axis of 8 in front
        >>> mutations["speed"].shape
        (8, 2)
        >>> info = loop.tell(behavior=mutations["speed"])   # (8, num_behaviors), from a simulator of your own
        >>> loop.generation, loop.center["speed"].shape
        (1, (2,))
    """

    def __init__(
        self,
        start: PyTree,
        *,
        population_size: int = 256,
        sigma: float | None = None,
        learning_rate: float | None = None,
        population: Population | None = None,
        objective: Objective | StatefulObjective | str = "max_entropy",
        optimizer: optax.GradientTransformation | None = None,
        l2: float = 0.0,
        seed: int = 0,
    ) -> None:
        flat, self._unflatten = flattened(start)
        if (sigma is not None and population is not None) or (learning_rate is not None and optimizer is not None):
            raise ConfigError("AskTell: a population has its own sigma, an optimizer its own learning_rate: give one.")
        population = normal(0.02 if sigma is None else sigma) if population is None else population
        algorithm = evolvability_es(
            population,
            objective_named(objective) if isinstance(objective, str) else objective,
            optax.adam(0.01 if learning_rate is None else learning_rate) if optimizer is None else optimizer,
            population_size=population_size,
            l2=l2,
        )
        # All components at one point: a mixture's `init` moves them apart.
        centers = jnp.tile(flat, (population.num_components, 1))
        self._population_size = population_size
        self._needs_fitness = isinstance(objective, str) and needs_fitness(objective)
        self._ask: Callable[..., Any] = jax.jit(algorithm.ask)
        self._step: Callable[..., tuple[State, Info, Outcome]] = jax.jit(
            lambda state, outcome: step(algorithm, with_outcome(algorithm, population, outcome), state)
        )
        self.state = algorithm.init(jax.random.key(seed), centers)
        """What the next generation needs: save it to go on later."""
        self._num_behaviors = 0  # not known before anything was told
        self._unasked: State | None = None  # the state that a tell led to, until its mutations are asked for

    @property
    def generation(self) -> int:
        """How many generations were told."""
        return int(self.state.generation)

    @property
    def center(self) -> PyTree:
        """The center (of the first component) in the form ``start`` had."""
        return self._unflatten(self.state.parameters.center[0])

    def ask(self) -> PyTree:
        """This generation's mutations, as ``start`` with an axis of ``population_size`` in front."""
        self._unasked = None
        return jax.vmap(self._unflatten)(self._ask(self.state).members())

    def tell(self, behavior: Any, fitness: Any = None) -> Info:
        """Take back what the mutations did, in the order they were asked, and move the center.

        Args:
            behavior: (population_size, num_behaviors), or (population_size,) for one dimension.
            fitness: (population_size,), if the objective uses it. A member with nan counts for nothing.
        """
        # A state that was assigned may have been asked in another process, and so may a loop that has told nothing yet.
        if self.state is self._unasked:
            raise TaskError(f"tell: the mutations of generation {self.generation} were not asked for yet. Call ask.")
        # A number per member becomes a behavior of one dimension.
        behavior = self._checked("behavior", behavior, (1, 2)).reshape(self._population_size, -1)
        number = self._num_behaviors or behavior.shape[1]
        if behavior.shape[1] != number:
            raise TaskError(
                f"tell: behaviors of {number} dimension(s) are expected, as before, got {behavior.shape[1]}."
            )
        if fitness is None and self._needs_fitness:
            raise TaskError("tell: the objective is about fitness, so it is needed beside the behavior.")
        fitness = None if fitness is None else self._checked("fitness", fitness, (1,))
        outcome = make_outcome(behavior, fitness)
        if not outcome.valid.any():
            what = "behavior" if fitness is None else "behavior and fitness"
            none = f"tell: none of the {self._population_size} mutations has a finite {what}, of {LARGEST:g} at most"
            raise TaskError(f"{none}. Look for NaN and extremes in what evaluates them.")
        self.state, info, _ = self._step(self.state, outcome)
        self._unasked, self._num_behaviors = self.state, number
        return info

    def _checked(self, name: str, values: Any, ndims: tuple[int, ...]) -> Array:
        array = np.asarray(values, np.float32)
        if array.ndim not in ndims or len(array) != self._population_size:
            rows = f"one row for each of the {self._population_size} mutations"
            raise TaskError(f"tell: {name} must have {rows}, got shape {array.shape}.")
        return jnp.asarray(array)
