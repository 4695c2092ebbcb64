"""Histograms of behaviors, one per generation and seed: what figures need of generations whose behaviors were not kept.

They are the rows of ``histograms.jsonl``, sealed as those of metrics are. Cells are as wide as a power of two, and
begin at multiples of it. So the cells of any two histograms nest: both can be counted in the wider cells exactly.
"""

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.core.cores import machine_memory
from evolvability.core.types import LARGEST
from evolvability.runs.rows import Row
from evolvability.runs.sealed import UNREADABLE, damaged

Array = np.ndarray[Any, Any]

MAX_CELLS = {1: 400, 2: 100}
"""Per dimension, by the number of dimensions; further ones are left out."""
MAX_DIMENSIONS = max(MAX_CELLS)
COUNT = np.dtype("<u4")
FARTHEST = 4 * LARGEST
MEMBER_BYTES = 200
"""Of memory, while a place is drawn for every member."""
MOST_CELLS = 300_000_000
"""Of a run: gigabytes in memory, of which a file from somebody else may have compressed any number."""


@dataclass(frozen=True)
class Histogram:
    """How many behaviors, of members in each of their episodes, lie in each cell."""

    width: float
    """The width of a cell, the same in every dimension."""
    low: tuple[int, ...]
    """Where the first cell begins in each dimension, in widths."""
    counts: Array
    """(num_cells,) or (num_cells, num_cells) the number of members in each cell."""

    @property
    def high(self) -> tuple[int, ...]:
        """Where the last cell ends, in widths."""
        return tuple(low + number for low, number in zip(self.low, self.counts.shape, strict=True))

    def counted_in(self, width: float, low: Sequence[int], shape: Sequence[int]) -> Array:
        """The same members, counted in cells of at least this one's width that hold all of them.

        Examples:
            >>> histogram(np.array([[0.1], [0.9], [2.5]])).counted_in(2.0, [-1], [3])
            array([0, 2, 1])
        """
        counts = np.zeros(tuple(shape), int)
        if not self.counts.any():  # nobody, who is in all cells of any width
            return counts
        ratio = round(width / self.width)
        places = [
            np.arange(own, own + number) // ratio - first
            for own, number, first in zip(self.low, self.counts.shape, low, strict=True)
        ]
        np.add.at(counts, np.ix_(*places), self.counts)
        return counts

    def scattered(self) -> Array:
        """(num_members, num_dimensions) a place for every member, drawn in its cell; the same draw every time."""
        generator = np.random.default_rng(0)
        cells = np.repeat(np.argwhere(self.counts), self.counts[self.counts > 0], axis=0)
        # Drawn, not in the middle: members in one place would be neighbors at no distance. Shuffled: members have no
        # order, and these came cell by cell.
        return self.width * (generator.permutation(cells) + self.low + generator.random(cells.shape))


def histogram(behavior: Array) -> Histogram:
    """A histogram of (num_members, num_behaviors), of the first two of them, with the narrowest cells allowed."""
    behavior = np.asarray(behavior, np.float64)[:, :MAX_DIMENSIONS]
    dimensions = behavior.shape[1]
    if not len(behavior):
        return Histogram(1.0, (0,) * dimensions, np.zeros((1,) * dimensions, int))
    first, last = behavior.min(axis=0), behavior.max(axis=0)
    extent = float(np.max(last - first))
    # One cell less than there may be: a range can begin in the middle of a cell. Where all members agree, cells are
    # narrow, so that others decide in what they are counted.
    narrowest = max(1.0, float(np.abs(behavior).max())) / 2**20
    width = 2.0 ** math.ceil(math.log2(max(extent / (MAX_CELLS[dimensions] - 1), narrowest)))
    places = np.floor(behavior / width).astype(np.int64)
    low = places.min(axis=0)
    shape = tuple(int(number) for number in places.max(axis=0) - low + 1)
    counts = np.bincount(np.ravel_multi_index(tuple((places - low).T), shape), minlength=math.prod(shape))
    return Histogram(width, tuple(map(int, low)), counts.reshape(shape))


def common_cells(
    histograms: Sequence[Histogram], most: int | None = None
) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """The narrowest cells that all of some histograms can be counted in: their width, first place and numbers.

    There are at ``most`` so many of them per dimension.
    """
    peopled = [one for one in histograms if one.counts.any()] or histograms[:1]
    width = max(one.width for one in peopled)
    while True:
        low, high = zip(*(_ends(one, width) for one in peopled), strict=True)
        first, last = np.min(low, axis=0), np.max(high, axis=0)
        if np.max(last - first) <= (most or MAX_CELLS[len(first)]):
            return width, tuple(map(int, first)), tuple(map(int, last - first))
        width *= 2


def _ends(one: Histogram, width: float) -> tuple[list[int], list[int]]:
    ratio = round(width / one.width)
    return [low // ratio for low in one.low], [-(-high // ratio) for high in one.high]


def histogram_rows(generation: int, seeds: Sequence[int], behaviors: Sequence[Array]) -> list[Row]:
    """One generation's histograms, a row per seed, of what its valid members did in each of their episodes."""
    rows = []
    for seed, own in zip(seeds, behaviors, strict=True):
        one = histogram(own)
        packed = base64.b64encode(zlib.compress(one.counts.astype(COUNT).tobytes())).decode()
        cells = {"width": one.width, "low": list(one.low), "shape": list(one.counts.shape), "counts": packed}
        rows.append({"generation": generation, "seed": seed, **cells})
    return rows


def histograms_in(path: Path, rows: Iterable[Row]) -> dict[tuple[int, int], Histogram]:
    """Those in the rows of a file, by generation and seed; what is lost is left out."""
    found: dict[tuple[int, int], Histogram] = {}
    cells, axes = 0, set[int]()
    try:
        for row in rows:
            if row.get("counts") is not None:  # or it is lost, or was left out of an export
                one = found[row["generation"], row["seed"]] = from_row(row)
                cells += one.counts.size
                axes.add(one.counts.ndim)
            if cells > MOST_CELLS or len(axes) > 1:
                raise ValueError(f"it has cells of different dimensions, or more than it may hold, {MOST_CELLS:,}")
    except (*UNREADABLE, zlib.error) as error:  # its checksum fits: somebody else's
        raise damaged(path, error) from None
    return found


def from_row(row: Row) -> Histogram:
    """The histogram in a row; refused by an error in `UNREADABLE` where it is not one of ours."""
    width, low, shape = float(row["width"]), tuple(map(int, row["low"])), tuple(map(int, row["shape"]))
    if math.frexp(width)[0] != 0.5 or not 2.0**-40 <= width <= 2.0**60 or len(low) != len(shape):
        raise ValueError("cells as wide as a power of two are expected")
    if not all(0 < one <= MAX_CELLS[len(shape)] for one in shape) or not all(
        abs(one) <= FARTHEST / width for one in low
    ):
        raise ValueError(f"no more than {MAX_CELLS[len(shape)]} cells, within {FARTHEST:g} of 0, are expected")
    # No more than is expected: a few bytes from somebody else could stand for many.
    size = math.prod(shape) * COUNT.itemsize
    data = zlib.decompressobj().decompress(base64.b64decode(row["counts"]), size)
    counts = np.frombuffer(data, COUNT).astype(int).reshape(shape)
    if counts.sum() * MEMBER_BYTES > machine_memory():
        raise ValueError(f"{counts.sum():,} members are too many")
    return Histogram(width, low, counts)
