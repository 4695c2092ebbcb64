"""A trained population as an object to use: pick a mutation of it, draw some, act with one."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError
from evolvability.core.keys import Purpose, key_for
from evolvability.core.populations import Population
from evolvability.core.types import PyTree
from evolvability.runs import picking
from evolvability.runs.picking import Parent, PickedMutation
from evolvability.runs.policy import TrainedPolicy, acting
from evolvability.runs.sealed import Arrays
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import Circumstances
from evolvability.tasks.goals import Goal
from evolvability.tasks.replay import HostArray


class TrainedPopulation:
    """What one can do with the population that a run ended with: `Run` and `TrainingResult` have its methods."""

    config: Config
    """The run's configuration."""
    by_name: bool
    """Whether the task is the one that the configuration names, not an object of the user's."""
    task: Task
    """The run's task."""

    population: Population | None
    """The population that members were drawn from, where it was given as an object."""

    def _ended_with(self) -> tuple[int, Arrays]:
        """The number of generations that were done, and the last State's arrays by name, as in a checkpoint."""
        raise NotImplementedError

    @property
    def centers(self) -> HostArray:
        """(num_seeds, num_components, num_params) the last centers."""
        # A slim export may have them in 16 bits.
        return self._ended_with()[1]["parameters/center"].astype(np.float32)

    @property
    def center(self) -> PyTree:
        """The last center of the first seed and component, in the form of the task's parameters, e.g. a dictionary."""
        return self.task.unflatten(jnp.asarray(self.centers[0, 0]))

    def parents(self) -> list[Parent]:
        """What the run ended with, one parent per seed."""
        generation, arrays = self._ended_with()
        where = str(getattr(self, "path", "The run"))
        return picking.parents_from(arrays, self.config, self.task, generation, where=where, population=self.population)

    @property
    def seeds(self) -> range:
        """The seeds of the run."""
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def pick(
        self,
        goal: str | Goal,
        *,
        mutations: int = 40,
        episodes: int = 1,
        repeats: int = 10,
        circumstances: Circumstances | None = None,
        of_seed: int | None = None,
        seed: int = 0,
    ) -> PickedMutation:
        """Draw some mutations, and pick the one that does best at a goal, as ``ees adapt`` does.

        Args:
            goal: ``left``, ``right``, an angle, ``point:X,Y``, ``fitness``, or any ``(outcome) -> (num_members,)``.
            mutations: how many mutations to draw.
            episodes: by the mean of how many each is judged. 10 mutations in 4 episodes are often a better pick than
                40 in one, at the same cost, where start states differ.
            repeats: how many further evaluations of each mutation decide on ``performance``.
            circumstances: of the further evaluations, of robots; default: those of training, with a start noise of 0.1
                where there was none.
            of_seed: which of the run's seeds to mutate; needed where it has several.
            seed: the random seed of mutations and evaluations; with 0 they are those of ``ees adapt``.
        """
        parent = self._parent(of_seed)
        again, _ = picking.with_circumstances(self.config, parent.task, self.by_name, circumstances)
        return picking.pick(parent, [goal], again, mutations, repeats, _key(parent, seed), episodes)[0]

    def mutations(self, number: int = 40, *, of_seed: int | None = None, seed: int = 0) -> PyTree:
        """Independent mutations, in the form of the task's parameters, with an axis of ``number`` in front.

        With the same arguments, `pick` chooses from the same mutations.

        Args:
            number: how many mutations to draw.
            of_seed: which of the run's seeds to mutate; needed where it has several.
            seed: the random seed of the mutations.
        """
        picking.check_number(number, "mutations")
        parent = self._parent(of_seed)
        key_noise, *_ = picking.pick_keys(_key(parent, seed))
        return jax.vmap(parent.task.unflatten)(parent.mutations(key_noise, number).members())

    def policy(self, parameters: PyTree, *, of_seed: int | None = None) -> TrainedPolicy:
        """A function from observations to actions: a network with the run's statistics of observations inside.

        Args:
            parameters: those of a mutation, or of a center.
            of_seed: which of the run's seeds they come from; needed where it has several: each has its own statistics.
        """
        policy = self._parent(of_seed).policy(parameters)
        acting(policy)  # or refused now, not at the first observation
        return policy

    def _parent(self, of_seed: int | None) -> Parent:
        if of_seed is None and len(self.seeds) > 1:
            seeds = f"{self.seeds[0]} to {self.seeds[-1]}"
            raise ConfigError(f"The seeds, {seeds}, have populations of their own: say which, of_seed={self.seeds[0]}.")
        seed = self.seeds[0] if of_seed is None else of_seed
        if seed not in self.seeds:
            raise ConfigError(f"of_seed: the run has the seeds {self.seeds[0]} to {self.seeds[-1]}, got {seed}.")
        return self.parents()[self.seeds.index(seed)]


def _key(parent: Parent, seed: int) -> Array:
    key = key_for(Purpose.ADAPTATION, parent.key)
    return jax.random.fold_in(key, seed) if seed else key
