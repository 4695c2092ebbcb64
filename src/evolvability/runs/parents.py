"""Parents: what mutations are drawn around, with all that it takes to evaluate them as in training."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.config.build import build_population
from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.populations import Population
from evolvability.core.types import Parameters, PyTree, Sample
from evolvability.runs.policy import TrainedPolicy
from evolvability.runs.sealed import Arrays
from evolvability.runs.trees import restore
from evolvability.tasks.base import Task


@dataclass(frozen=True)
class Parent:
    """What mutations are drawn around."""

    task: Task
    """The task of its parameters."""
    config: Config
    """How mutations are drawn: population and standard deviation."""
    parameters: Parameters
    """The population's learned parameters, of one seed."""
    memory: PyTree
    """What the task remembers, e.g. statistics of observations."""
    key: Array
    """The random key that noise and episodes follow from."""
    generation: int = 0
    """The generation drawn around it, on which a decaying sigma depends."""
    population: Population | None = None
    """The population that draws mutations, where it was given as an object."""

    def drawn_by(self) -> Population:
        """The population that draws mutations."""
        return self.population or build_population(self.config, self.task.shapes)

    @property
    def sigma(self) -> float:
        """The mutations' standard deviation in this generation; the mean where there are several."""
        return float(jnp.mean(self.drawn_by().scale(self.parameters, self.generation)))

    def mutations(self, key: Array, number: int) -> Sample:
        """Independent mutations, drawn as the population draws its members."""
        sample = self.drawn_by().sample(key, self.parameters, self.generation, jnp.arange(number))
        # One of each mirrored pair: the two are not independent.
        return sample._replace(sign=sample.sign[:1])

    def policy(self, parameters: PyTree) -> TrainedPolicy:
        """Parameters, flat or as the task's author wrote them, with the statistics that they were trained with."""
        flat = np.asarray(ravel_pytree(parameters)[0], np.float32)
        check_size(len(flat), self.task, "What was given")
        memory = jax.device_get(self.memory)
        return TrainedPolicy(self.task.name, flat, self.task.network, memory, self.task.actions)


def parents_from(
    arrays: Arrays, config: Config, task: Task, generation: int, *, where: str, population: Population | None = None
) -> list[Parent]:
    """The parents in arrays named as in a checkpoint, one per seed; ``where``: what the arrays are of, for people."""
    # Not by `restore`, which is strict: a slim export may have it in 16 bits.
    center = jnp.asarray(arrays["parameters/center"], jnp.float32)
    if len(center) != config.seeds:
        raise RunFolderError(f"{where} has centers of {len(center)} seeds, but its configuration says {config.seeds}.")
    check_size(center.shape[2], task, where)
    log_scale = arrays.get("parameters/log_scale")
    parameters = Parameters(center, None if log_scale is None else jnp.asarray(log_scale))
    # A checkpoint has a seed axis in front; the task's own memory has none.
    template = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (len(center), *np.shape(leaf))), task.memory)
    memory = restore({"memory": template}, arrays)["memory"]
    parents = []
    for index in range(len(center)):
        own, seen = jax.tree.map(lambda leaf, index=index: leaf[index], (parameters, memory))
        parents.append(Parent(task, config, own, seen, jax.random.key(config.seed + index), generation, population))
    return parents


def num_params(task: Task) -> int:
    """How many parameters members have."""
    return int(jax.eval_shape(task.init, jax.random.key(0)).shape[0])  # traced only: nothing is computed


def check_size(size: int, task: Task, what: str) -> None:
    """Refuse parameters of another network than the task's."""
    if size != (number := num_params(task)):
        raise ConfigError(
            f"{what} has {size:,} parameters, but task '{task.name}' {number:,}. Give its options, e.g. hidden=64."
        )
