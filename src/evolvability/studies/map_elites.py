"""MAP-Elites archives for free: every member a run ever evaluated, and the best of each cell of behavior space.

Nothing is evaluated for it: the recorded generations are fed to an archive of pyribs. What it keeps of an elite is its
address, (generation, member), from which its parameters can be rebuilt; see `evolvability.studies.rebuild`.

References: Mouret and Clune, *Illuminating search spaces by mapping elites* (2015); Tjanaka et al., *pyribs: A
bare-bones Python library for quality diversity optimization* (2023).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolvability.core.errors import missing_extra
from evolvability.runs.folder import Run
from evolvability.studies.measures import MeasureScale, cell_numbers, common_reach, measure_scale

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Elites:
    """The archive of one seed of a run, as it was filled."""

    evaluations: Array  # (num_recorded,) members evaluated up to and including each recorded generation
    coverage: Array  # (num_recorded,) the share of cells that had an elite by then
    qd_score: Array  # (num_recorded,) the sum of the elites' fitness by then, each counted from the worst fitness up
    fitness: Array  # (cells, ...) of the elites in the end, one axis per behavior dimension; nan in empty cells
    address: Array  # (cells, ..., 2) the generation and the number of each elite; -1 in empty cells


def fill_archive(run: Run, seed_index: int, by: MeasureScale, *, worst: float | None = None) -> Elites:
    """Feed the recorded generations of one seed to an archive with the scale's cells; what is outside is left out.

    Fitness counts from the worst up: the lowest that was recorded unless given.
    """
    generations = [(number, run.behaviors(number)) for number in run.recorded]
    worst = worst_fitness([run]) if worst is None else worst
    num_behaviors = generations[0][1]["behavior"].shape[2]
    archive = _grid_archive(num_behaviors, by, worst)
    trace = []
    for number, arrays in generations:
        behavior, fitness = arrays["behavior"][seed_index], arrays["fitness"][seed_index]
        inside = arrays["valid"][seed_index].astype(bool)
        # The archive would clip what is outside into the cells at the border.
        inside[inside] = cell_numbers(behavior[inside], by) >= 0
        members = np.flatnonzero(inside)
        if len(members):  # pyribs refuses to add nothing
            archive.add(np.stack([np.full(len(members), number), members], axis=1), fitness[members], behavior[members])
        trace.append((archive.stats.coverage, archive.stats.qd_score))
    coverage, qd_score = np.array(trace).T
    # Members of generations between the recorded ones were evaluated too.
    evaluations = (np.array(run.recorded) + 1) * run.config.population_size
    shape = (by.cells,) * num_behaviors
    best, address = np.full(shape, np.nan), np.full((*shape, 2), -1)
    kept = archive.data(["solution", "objective", "index"])
    places = tuple(archive.int_to_grid_index(kept["index"]).T)
    best[places], address[places] = kept["objective"], kept["solution"].astype(int)
    return Elites(evaluations, coverage, qd_score, best, address)


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


def _grid_archive(num_behaviors: int, by: MeasureScale, worst: float) -> Any:
    try:
        from ribs.archives import GridArchive
    except ModuleNotFoundError as error:
        raise missing_extra("An archive of elites", error.name, "elites") from None
    # A "solution" is an address: the parameters can be rebuilt from it, and would not fit.
    box = [(-by.reach, by.reach)] * num_behaviors
    return GridArchive(solution_dim=2, dims=[by.cells] * num_behaviors, ranges=box, qd_score_offset=worst)
