"""A population over the devices of a process.

Every device draws the noise of its own members, steps them without waiting for others, and sums their part of the
gradient. What crosses from device to device is behaviors, and that sum.
"""

import dataclasses
import warnings
from collections.abc import Sequence

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from evolvability.core.populations import Population
from evolvability.core.types import Outcome, Parameters, PyTree, Sample
from evolvability.tasks.base import Task

AXIS = "members"
OVER_DEVICES, EVERYWHERE = P(AXIS), P()
SAMPLE = Sample(EVERYWHERE, EVERYWHERE, OVER_DEVICES, OVER_DEVICES, EVERYWHERE, OVER_DEVICES)  # type: ignore[arg-type]
"""How a Sample lies over devices: its draws are spread, the rest is everywhere."""

Devices = Sequence[jax.Device]


def usable(devices: Devices, num_draws: int) -> Devices:
    """As many devices as draws can be spread over evenly."""
    number = max(number for number in range(1, len(devices) + 1) if num_draws % number == 0)
    if number < len(devices):
        warnings.warn(
            f"{num_draws} draws (pairs of members, when mirrored) cannot be spread evenly over {len(devices)} devices. "
            f"With population_size, or chunk_size where that is given, make the draws a multiple of {len(devices)} to "
            f"use them all; now {number} will be used.",
            stacklevel=2,
        )
    return devices[:number]


def replicated(devices: Devices) -> NamedSharding:
    """Where a value lies that every device has."""
    return NamedSharding(_row(devices), EVERYWHERE)


def spread_population(population: Population, devices: Devices) -> Population:
    """The same population; every device draws the noise of its own members alone."""

    def sample(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Sample:
        whole = population.sample(key, parameters, generation, draws)
        if len(draws) % len(devices):  # a few members, asked for one by one
            return whole
        places = jax.tree.map(lambda spec: NamedSharding(_row(devices), spec), SAMPLE)
        # The compiler sees to it that each device draws no more than its own part.
        return jax.lax.with_sharding_constraint(whole, places)

    return population if len(devices) == 1 else dataclasses.replace(population, sample=sample)


def spread_task(task: Task, devices: Devices) -> Task:
    """The same task; every device evaluates its own members, as a sample of their own."""

    def part(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        outcome, seen = task.evaluate(key, sample, memory)
        # An axis in front, along which the devices' statistics are put side by side.
        return outcome, jax.tree.map(lambda leaf: leaf[None], seen)

    def remember(memory: PyTree, seen: PyTree) -> PyTree:
        # In the order of the devices, as floats merged in another order differ in the last bits.
        for device in range(len(devices)):
            memory = task.remember(memory, jax.tree.map(lambda leaf, device=device: leaf[device], seen))
        return memory

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        specs = (EVERYWHERE, SAMPLE, EVERYWHERE)
        parts = jax.shard_map(part, mesh=_row(devices), in_specs=specs, out_specs=OVER_DEVICES, check_vma=False)
        # Gathered here, so that every device weighs all members: that is quicker than to share it out.
        return jax.lax.with_sharding_constraint(parts(key, sample, memory), replicated(devices))

    return task if len(devices) == 1 else dataclasses.replace(task, evaluate=evaluate, remember=remember)


def _row(devices: Devices) -> Mesh:
    return Mesh(np.array(devices), (AXIS,))
