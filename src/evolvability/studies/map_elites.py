"""MAP-Elites archives for free: every member a run ever evaluated, and the best of each cell of behavior space.

Nothing is evaluated for it: it is filled with the recorded generations. What it keeps of an elite is its address,
(generation, member), from which its parameters can be rebuilt; see `evolvability.studies.rebuild`.

Reference: Mouret and Clune, *Illuminating search spaces by mapping elites* (2015).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError
from evolvability.runs.folder import Run
from evolvability.studies.measures import MeasureScale, cells_of, common_reach, measure_scale

Array = np.ndarray[Any, Any]
MOST_CELLS = 10_000_000
"""Of an archive, which holds a place for each: 24 bytes, and as much again while it is filled."""


@dataclass(frozen=True)
class Elites:
    """The archive of one seed of a run, as it was filled."""

    evaluations: Array
    """(num_recorded,) members evaluated up to and including each recorded generation."""
    coverage: Array
    """(num_recorded,) the share of cells that had an elite by then."""
    qd_score: Array
    """(num_recorded,) the sum of the elites' fitness by then, each counted from the worst fitness up."""
    fitness: Array
    """(cells, ...) the fitness of the elites in the end, one axis per behavior dimension; nan in empty cells."""
    address: Array
    """(cells, ..., 2) the generation and the number of each elite; -1 in empty cells."""


def fill_archive(run: Run, seed_index: int, by: MeasureScale, *, worst: float | None = None) -> Elites:
    """Fill an archive with the scale's cells by the recorded generations of one seed; what is outside is left out.

    Fitness counts from the worst up; default: the lowest that was recorded.
    """
    worst = worst_fitness([run]) if worst is None else worst
    shape = _shape(run, by)
    best, address = np.full(math.prod(shape), -np.inf), np.full((math.prod(shape), 2), -1)
    trace = []
    for number in run.recorded:
        arrays = run.behaviors(number)
        fitness, valid = arrays["fitness"][seed_index], arrays["valid"][seed_index]
        places = cells_of(np.where(valid[:, None], arrays["behavior"][seed_index], 2 * by.reach), by)
        inside = places[:, 0] >= 0
        cell = np.ravel_multi_index(tuple(np.where(inside, places.T, 0)), shape)
        better = np.flatnonzero(inside & (fitness > best[cell]))
        better = better[np.lexsort((-better, fitness[better]))]  # a cell's best, of equals the first, is written last
        best[cell[better]], address[cell[better], 0], address[cell[better], 1] = fitness[better], number, better
        filled = best[np.isfinite(best)]
        trace.append((len(filled) / len(best), np.sum(filled - worst)))
    coverage, qd_score = np.array(trace).T
    # Members of generations between the recorded ones were evaluated too.
    evaluations = (np.array(run.recorded) + 1) * run.config.population_size
    best = np.where(np.isfinite(best), best, np.nan).reshape(shape)
    return Elites(evaluations, coverage, qd_score, best, address.reshape(*shape, 2))


def _shape(run: Run, by: MeasureScale) -> tuple[int, ...]:
    shape = (by.cells,) * run.behaviors(run.recorded[0])["behavior"].shape[2]
    if math.prod(shape) > MOST_CELLS:
        raise ConfigError(
            f"An archive has a place for each of its cells, {MOST_CELLS:,} at most. {run.path} has {len(shape)} "
            f"behavior dimensions, with {by.cells} cells each {math.prod(shape):.1e} in all. Look at some of them, "
            "Run(path, dimensions=[0, 1]), or take fewer cells."
        )
    return shape


def worst_fitness(runs: Sequence[Run]) -> float:
    """The lowest fitness of a valid member that was recorded."""
    return min(float(np.min(fitness, initial=np.inf)) for _, fitness in _recorded(runs))


def archive_scale(runs: Sequence[Run]) -> MeasureScale:
    """Cells that hold every behavior that some runs recorded."""
    return measure_scale(common_reach([behavior for behavior, _ in _recorded(runs)]))


def _recorded(runs: Sequence[Run]) -> Iterator[tuple[Array, Array]]:
    """The behaviors and the fitness of all valid members, generation by generation."""
    for arrays in (run.behaviors(number) for run in runs for number in run.recorded):
        valid = arrays["valid"].astype(bool)
        yield arrays["behavior"][valid], arrays["fitness"][valid]
