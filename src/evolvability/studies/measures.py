r"""How evolvable is a center: measures of what its mutations do, trained here or not.

All are about (num_offspring, num_behaviors) behaviors. Those that need a scale take a `MeasureScale`, so that centers
are compared by the same one.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evolvability.core.entropy import entropy as entropy
from evolvability.core.errors import ConfigError
from evolvability.runs.folder import Run
from evolvability.runs.histograms import MAX_DIMENSIONS
from evolvability.studies.repeatability import repeatability

Array = np.ndarray[Any, Any]
CELLS = 20
MEMBERS_PER_CELL = 10


@dataclass(frozen=True)
class MeasureScale:
    """What measures are relative to. In units of behavior."""

    reach: float
    """Half the width of the box of coverage around the origin."""
    threshold: float
    """Offspring whose behaviors are nearer to each other than this count as one."""
    radius: float
    """Offspring that end nearer to the origin than this are degenerate."""
    cells: int = CELLS
    """How many cells the box has per dimension."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"{name} must be positive and finite, got {value}.")


def measure_scale(
    reach: float, *, threshold: float | None = None, radius: float | None = None, cells: int = CELLS
) -> MeasureScale:
    """A scale from its reach; by default the threshold is a cell's width, and the radius an eighth of the reach."""
    # max: of zero cells MeasureScale complains, not this division.
    threshold = 2 * reach / max(cells, 1) if threshold is None else threshold
    return MeasureScale(reach, threshold, reach / 8 if radius is None else radius, cells)


@dataclass(frozen=True)
class Measures:
    """How evolvable a center is."""

    variance: float
    """The trace of the covariance of behaviors."""
    entropy: float
    """The behaviors' differential entropy in nats, by nearest neighbors."""
    distance: float
    """The behaviors' mean distance from the origin."""
    distinct: int
    """How many behaviors are at least the threshold apart, the measure of evolvability search."""
    coverage: float
    """The share of the box's cells that some offspring reaches."""
    degenerate: float
    """The share of offspring that end within the radius of the origin."""
    repeatability: float | None = None
    """The share of the variance that lies between offspring, not between episodes of the same; None with one each."""


def measures(behavior: Array, scale: MeasureScale, episodes: Array | None = None) -> Measures:
    """All measures of some offspring's behaviors, with those of each one's episodes where it had several."""
    behavior = np.asarray(behavior, np.float64)
    if not len(behavior):
        nan = math.nan
        return Measures(nan, nan, nan, distinct=0, coverage=0.0, degenerate=nan)
    return Measures(
        variance=float(behavior.var(axis=0).sum()),
        entropy=entropy(behavior),
        distance=float(np.linalg.norm(behavior, axis=1).mean()),
        distinct=num_distinct(behavior, scale.threshold),
        coverage=coverage(behavior, scale),
        degenerate=degenerate_share(behavior, scale.radius),
        repeatability=None if episodes is None else repeatability(episodes).share,
    )


def num_distinct(behavior: Array, threshold: float) -> int:
    """How many behaviors are distinct: one after the other, those farther than a threshold from all counted before.

    This is what evolvability search selects for (Mengistu, Lehman and Clune, 2016).

    Examples:
        >>> num_distinct(np.array([[0.0], [0.4], [1.0], [1.3], [2.0]]), threshold=0.5)
        3
    """
    # One after the other, in the order given: which are counted depends on it, as in the paper that defines it.
    kept = np.empty_like(behavior)
    number = 0
    for one in behavior:
        if not (np.sum((kept[:number] - one) ** 2, axis=1) < threshold**2).any():
            kept[number] = one
            number += 1
    return number


def cells_of(behavior: Array, scale: MeasureScale) -> Array:
    """(num_offspring, num_behaviors) the cell each behavior lies in, by its place in every dimension.

    Those outside of the box have -1 throughout.
    """
    places = np.floor((behavior / scale.reach + 1) / 2 * scale.cells).astype(np.int64)
    places[behavior == scale.reach] = scale.cells - 1  # the box includes its border
    places[np.any((places < 0) | (places >= scale.cells), axis=1)] = -1
    return places


def coverage(behavior: Array, scale: MeasureScale) -> float:
    """The share of the box's cells that have a behavior in them.

    Examples:
        >>> coverage(np.array([[-0.9, -0.9], [0.1, 0.9]]), measure_scale(1.0, cells=2))
        0.5
    """
    places = cells_of(np.asarray(behavior), scale)
    # By places, not by one number per cell: from 15 dimensions on an integer would not hold it.
    return len(np.unique(places[places[:, 0] >= 0], axis=0)) / scale.cells ** behavior.shape[1]


def degenerate_share(behavior: Array, radius: float) -> float:
    """The share of behaviors within a radius of the origin (section 5.3 of the paper, radius 5)."""
    return float(np.mean(np.linalg.norm(behavior, axis=1) < radius))


def median_one_way(along: Array) -> float:
    """The median of those behaviors along a line that are positive; zero if none is."""
    return float(np.median(along[along > 0])) if np.any(along > 0) else 0.0


def specialization(
    behavior: Array, component: Array, scale: MeasureScale, *, num_signs: int = 1, shuffles: int = 200
) -> float:
    r"""How far components specialize: of the components' entropy, the part that behavior tells beyond chance.

    It is 0 when components do the same, and 1 when a behavior tells its component. The mutual information between
    component and cell, $I = \sum_{c, b} p(c, b) \log_2 \frac{p(c, b)}{p(c)\, p(b)}$, grows with the number of cells
    even if there is nothing to be known, so its mean over shuffled labels, $\bar I$, is taken off:
    $(I - \bar I) / (H(C) - \bar I)$. ``num_signs`` members in a row share a draw, and so a component: labels are
    shuffled by draws.
    """
    # Wide cells where members are few: in a cell of its own, any member would tell its component.
    side = int((len(behavior) / MEMBERS_PER_CELL) ** (1 / behavior.shape[1]))
    places = cells_of(np.asarray(behavior), replace(scale, cells=min(max(side, 2), scale.cells)))
    cell = np.unique(places, axis=0, return_inverse=True)[1]
    generator = np.random.default_rng(0)
    labels = component[::num_signs]
    shuffled = (np.repeat(generator.permutation(labels), num_signs) for _ in range(shuffles))
    chance = float(np.mean([mutual_information(one, cell) for one in shuffled]))
    room = mutual_information(component, component) - chance  # a labeling tells all about itself
    return (mutual_information(component, cell) - chance) / room if room > 0 else 0.0


def mutual_information(first: Array, second: Array) -> float:
    """The mutual information of two labelings, in bits.

    Examples:
        >>> mutual_information(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7]))
        1.0
    """
    first, second = (np.unique(labels, return_inverse=True)[1] for labels in (first, second))
    joint = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(joint, (first, second), 1 / len(first))
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    filled = joint > 0
    return float(np.sum(joint[filled] * np.log2(joint[filled] / independent[filled])))


def valid_behaviors(run: Run, seed: int, generation: int | None = None) -> tuple[Array, Array]:
    """The behaviors and the components of one seed's valid members, of a recorded generation."""
    arrays = run.behaviors(generation)
    valid = arrays["valid"][seed]
    return arrays["behavior"][seed][valid], arrays["component"][seed][valid]


def whole_populations(run: Run, generation: int | None = None) -> list[Array]:
    """Of every seed, its valid members' behaviors; of an export that has some of them, all as their histogram has them.

    Some reach fewer places than all: without this, exports would be less evolvable than the runs they are of.
    """
    arrays = run.behaviors(generation)
    found = [own[valid] for own, valid in zip(arrays["behavior"], arrays["valid"], strict=True)]
    are_all = min(map(len, found)) >= run.config.population_size
    if are_all or run.dimensions or found[0].shape[1] > MAX_DIMENSIONS:
        return found
    number, histograms = run.recorded[-1] if generation is None else generation, run.histograms()
    counted = [histograms.get((number, seed)) for seed in run.seeds]
    # Where some broke down, and of MAML's policies, there are no more than were recorded.
    return [
        own if all_ is None or all_.counts.sum() <= len(own) else all_.scattered()
        for own, all_ in zip(found, counted, strict=True)
    ]


def specialization_of(run: Run, seed: int, generation: int | None, by: MeasureScale) -> float:
    """How far one seed's components specialize, in a recorded generation."""
    if run.config.population != "mixture":
        raise ConfigError(f"{run.path} has one component only, so there is nothing that could specialize.")
    behavior, component = valid_behaviors(run, seed, generation)
    # Where some member of a pair is invalid the pairs are torn, and labels are shuffled one by one.
    paired = run.config.population_options.mirrored and len(behavior) == run.config.population_size
    return specialization(behavior, component, by, num_signs=2 if paired else 1)


def common_reach(behaviors: Sequence[Array]) -> float:
    """A half width that holds every behavior."""
    largest = max((float(np.abs(behavior).max()) for behavior in behaviors if behavior.size), default=0.0)
    return largest if largest > 0 else 1.0  # a scale must be positive
