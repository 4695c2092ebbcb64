"""One number a seed, by name: what groups of runs are compared by."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError, unknown
from evolvability.runs.folder import Run
from evolvability.studies.adaptation import load_adaptation
from evolvability.studies.adapters import ADAPTERS
from evolvability.studies.groups import RunGroup, by_seed
from evolvability.studies.kept_offspring import kept_offspring
from evolvability.studies.measures import Measures, MeasureScale, common_reach, measures, specialization, yardstick
from evolvability.studies.races import load_race, own_adapter

OF_BEHAVIORS = (*(field.name for field in dataclasses.fields(Measures)), "specialization")
"""Measured on recorded behaviors; where metrics.jsonl has one of the same name, that is taken."""
ADAPTED, RACED, OFFSPRING = "adapted:", "raced:", "offspring:"

Array = np.ndarray[Any, Any]


def quantity(
    group: RunGroup, name: str, *, generation: int | None = None, by: MeasureScale | None = None
) -> list[float]:
    """One number a seed of a group.

    Args:
        group: the runs.
        name: a field of metrics.jsonl; a measure of recorded behaviors, such as ``coverage`` or ``degenerate``;
            ``specialization`` of a mixture's components; ``adapted:GOAL``, the performance of the best mutation;
            ``raced:GOAL``, what the method's own adapter reached, or ``raced:GOAL:ADAPTER``; ``offspring:MEASURE``, a
            measure of offspring that were kept, or ``offspring:MEASURE:SIGMA``.
        generation: which; each run's last unless given.
        by: what behaviors are measured by; as far as the group reaches unless given.
    """
    if name.startswith(ADAPTED):
        goal = name.removeprefix(ADAPTED)
        return by_seed(group, [load_adaptation(run, goal).performance.tolist() for run in group.runs])
    if name.startswith(RACED):
        return by_seed(group, [_raced(run, name.removeprefix(RACED)) for run in group.runs])
    if name.startswith(OFFSPRING):
        return by_seed(group, [_of_offspring(run, name.removeprefix(OFFSPRING)) for run in group.runs])
    if name in group.runs[0].metrics and name not in ("generation", "center"):
        return by_seed(group, [_metric(run, name, generation) for run in group.runs])
    if name not in OF_BEHAVIORS:
        known = {*OF_BEHAVIORS, *group.runs[0].metrics} - {"generation", "center"}
        raise ConfigError(unknown("metric", name, known, also=", adapted:GOAL, raced:GOAL and offspring:MEASURE"))
    by = by or yardstick(reach_of([group], generation))
    return by_seed(group, [_measured(run, name, generation, by) for run in group.runs])


def reach_of(groups: Sequence[RunGroup], generation: int | None = None) -> float:
    """A half width that holds every valid behavior of some groups at a generation."""
    runs = [run for group in groups for run in group.runs]
    return common_reach([valid_behaviors(run, seed, generation)[0] for run in runs for seed in range(run.config.seeds)])


def valid_behaviors(run: Run, seed: int, generation: int | None = None) -> tuple[Array, Array]:
    """The behaviors and the components of one seed's valid members, of a recorded generation."""
    arrays = run.behaviors(generation)
    valid = arrays["valid"][seed].astype(bool)
    component = arrays.get("component", np.zeros(arrays["valid"].shape, np.uint16))
    return arrays["behavior"][seed][valid], component[seed][valid]


def specialization_of(run: Run, seed: int, generation: int | None, by: MeasureScale) -> tuple[float, float]:
    """The share of specialization of one seed's components, and its p-value."""
    if run.config.population != "mixture":
        raise ConfigError(f"{run.path} has one component only, so there is nothing that could specialize.")
    behavior, component = valid_behaviors(run, seed, generation)
    # Where some member of a pair is invalid the pairs are torn, and labels are shuffled one by one.
    paired = run.config.mirrored and len(behavior) == run.config.population_size
    found = specialization(behavior, component, by, num_signs=2 if paired else 1)
    return found.share, found.p


def _raced(run: Run, which: str) -> list[float]:
    goal, _, adapter = which.rpartition(":") if which.rpartition(":")[2] in ADAPTERS else (which, "", "")
    return [float(value) for value in load_race(run, goal, adapter or own_adapter(run)).performance[:, -1]]


def _of_offspring(run: Run, which: str) -> list[float]:
    name, _, sigma = which.partition(":")
    try:
        size = float(sigma) if sigma else None
    except ValueError:
        raise ConfigError(f"offspring:{which}: '{sigma}' is no standard deviation.") from None
    if name not in OF_BEHAVIORS[:-1]:
        raise ConfigError(unknown("measure of offspring", name, OF_BEHAVIORS[:-1]))
    clouds = kept_offspring(run, size)
    by = yardstick(common_reach(clouds))
    return [float(getattr(measures(cloud, by), name)) for cloud in clouds]


def _metric(run: Run, name: str, generation: int | None) -> list[float]:
    values = run.metrics[name]
    generation = values.shape[1] - 1 if generation is None else generation
    if not 0 <= generation < values.shape[1]:
        raise ConfigError(f"{run.path} has the generations 0 to {values.shape[1] - 1}, but not {generation}.")
    column = values[:, generation]
    if not np.isfinite(column).any():
        raise ConfigError(f"{run.path} has no value of '{name}' at generation {generation}.")
    return [float(value) for value in column]


def _measured(run: Run, name: str, generation: int | None, by: MeasureScale) -> list[float]:
    seeds = range(run.config.seeds)
    if name == "specialization":
        return [specialization_of(run, seed, generation, by)[0] for seed in seeds]
    return [float(getattr(measures(valid_behaviors(run, seed, generation)[0], by), name)) for seed in seeds]
