"""A generation on a pool: fixed units of work out, behaviors and partial gradients back.

The units depend on the population alone, never on the workers, and partial sums are added in their order. So the result
is the same, bit for bit, on one worker or a thousand, and whatever happens to them.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import Array

from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError
from evolvability.core.keys import noise_key
from evolvability.core.strategy import State
from evolvability.core.types import Cloud
from evolvability.tasks.base import Task
from evolvability.tasks.simulators import Part, joined
from evolvability.workers.connect import Crew
from evolvability.workers.dispatch import Call, Dispatch
from evolvability.workers.per_machine import evaluate_on_node, evaluation, split
from evolvability.workers.worker import Broadcast, get_ready, packed, sum_gradient

NUM_SUMS = 32
"""Partial gradients a generation, at most: what comes back to the driver does not grow with the population."""
MAX_NAMED = 3
"""Members named a generation; of more, the number is told."""


class Evaluator:
    """Evaluates the generations of a run on a pool.

    Args:
        config: the run's configuration.
        task: its task, which must have a simulator.
        num_signs: members a draw.
        crew: who does the work.
    """

    def __init__(self, config: Config, task: Task, num_signs: int, crew: Crew) -> None:
        if task.simulator is None:
            raise ConfigError(
                f"Task '{task.name}' does not run on workers: it has no simulator that they could build. "
                "Those with one are gymnasium, cheetah-bullet, ant-bullet and what simulator_task makes."
            )
        self.crew, self.pool, self.num_signs = crew, crew.pool, num_signs
        self.num_behaviors = len(task.behavior)
        num_draws = config.population_size // num_signs
        self.units = [range(r.start * num_signs, r.stop * num_signs) for r in split(num_draws, config.units)]
        self.sums = split(num_draws, NUM_SUMS)
        self._recipe = self.pool.share(packed(config, task.shapes, self.num_behaviors, task.simulator))

    def broadcast(self, state: State) -> Any:
        """What workers need to know of one seed's generation; hand it back to `forget`."""
        words = np.asarray(jax.random.key_data(state.key))
        noise = np.asarray(jax.random.key_data(noise_key(state.key)))
        cloud, memory = jax.device_get((state.cloud, state.memory))
        return self.pool.share(Broadcast(tuple(map(int, words)), noise, int(state.generation), cloud, memory))

    def forget(self, broadcasts: Sequence[Any]) -> None:
        """The generation is over."""
        for broadcast in broadcasts:
            self.pool.forget(broadcast)

    def evaluate(self, broadcasts: Sequence[Any]) -> list[Part]:
        """Every member of every seed."""
        self.crew.seconds.clear()
        self.pool.prepare(get_ready, self._recipe, broadcasts[0])
        calls = [self._evaluation(broadcast, unit) for broadcast in broadcasts for unit in self.units]
        parts = Dispatch(self.pool, calls, self.crew.deadline, self.crew.note).run()
        num_units = len(self.units)
        return [joined(parts[k : k + num_units]) for k in range(0, len(parts), num_units)]

    def gradient(self, broadcasts: Sequence[Any], weights: Sequence[Array]) -> list[Cloud]:
        """Every seed's gradient, from its members' weights; summed where the noise is."""
        per_draw = [np.asarray(own).reshape(-1, self.num_signs) for own in weights]
        calls = [
            Call(sum_gradient, (self._recipe, broadcast, draws, own[draws.start : draws.stop]))
            for broadcast, own in zip(broadcasts, per_draw, strict=True)
            for draws in self.sums
        ]
        sums = Dispatch(self.pool, calls, self.crew.deadline).run()
        gradients = []
        for seed, own in enumerate(per_draw):
            first, *rest = sums[seed * len(self.sums) : (seed + 1) * len(self.sums)]
            for other in rest:
                first = jax.tree.map(np.add, first, other)
            gradients.append(jax.tree.map(lambda total, own=own: total / np.float32(own.size), first))
        return gradients

    def _evaluation(self, broadcast: Any, members: range) -> Call:
        call = evaluation(self._recipe, broadcast, members, self.num_behaviors)
        if self.crew.processes == 1:
            return call
        further = (self.num_behaviors, self.crew.processes, self.crew.deadline)
        return replace(call, function=evaluate_on_node, arguments=(*call.arguments, *further))


def name_invalid(part: Part, generation: int, seed: int) -> None:
    """Tell, once each, which members could not be evaluated."""
    for member, text in part.notes[:MAX_NAMED]:
        warnings.warn(f"generation {generation}, seed {seed}: member {member} is invalid: {text}", stacklevel=2)
    if len(part.notes) > MAX_NAMED:
        warnings.warn(
            f"generation {generation}, seed {seed}: {len(part.notes) - MAX_NAMED} more members are invalid",
            stacklevel=2,
        )
