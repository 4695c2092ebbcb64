"""Rows of a run, one per generation and seed, each with a checksum: read one by one, and packed as they come.

A long run has hundreds of thousands of them: as dictionaries they would fill the memory, and leave it in pieces.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.core.errors import RunFolderError
from evolvability.runs.files import checked
from evolvability.runs.sealed import SEAL, UNREADABLE, Arrays, damaged, from_json, to_json

Row = dict[str, Any]
METRICS, HISTOGRAMS = ROW_FILES = ("metrics.jsonl", "histograms.jsonl")
"""Of a run folder: one row per generation and seed in each."""
MAX_ROWS = 3_000_000
"""Of a run: as many as a gigabyte holds. One from somebody else could have a billion."""
LIKE_A_ROW = re.compile(rf'\n(\{{.*, "{SEAL}": "\w+"\}})\r?$'.encode(), re.MULTILINE)
"""Other lines, such as millions of empty ones, are passed over without being parsed."""
BLOCK = 1 << 20
"""Bytes that are looked at together."""
PACK = 1000
"""Generations that are packed together."""


def to_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as they are written."""
    return (f"{to_json(row)}\n".encode() for row in rows)


def read_rows(path: Path, seeds: range, lost: list[int], *, at_least: int = 0) -> Iterator[Row]:
    """The rows of a file up to the last complete generation, generation by generation, seed by seed.

    Args:
        path: the file; it may still be growing, or end in the middle of a line.
        seeds: of the run.
        lost: gets the generation of every row that is lost. In its place is one without metrics.
        at_least: how many generations to return; what the file lacks at its end is lost, too.
    """
    done, last = 0, at_least * len(seeds)
    begun: list[Row] = []  # half a generation at the end is just being written, or was when the process was killed

    def lose(until: int) -> Iterator[Row]:
        if until > MAX_ROWS:
            raise damaged(path, ValueError(f"{until // len(seeds):,} generations of {len(seeds):,} seeds are too many"))
        for place in range(done + len(begun), until):
            lost.append(place // len(seeds))
            yield {"generation": lost[-1], "seed": seeds[place % len(seeds)]}

    for place, row in _intact(path, seeds) if path.is_file() else ():
        if place >= done + len(begun):  # or it is there a second time
            begun += [*lose(place), row]
            whole = len(begun) // len(seeds) * len(seeds)
            yield from begun[:whole]
            begun, done = begun[whole:], done + whole
    yield from [*begun, *lose(last)][: max(last - done, 0)]


def _intact(path: Path, seeds: range) -> Iterator[tuple[int, Row]]:
    size = checked(path).stat().st_size
    with path.open("rb") as file:
        # Never all of it at once: what a long run's file takes in memory would not be given back. And no further than
        # now: what is written meanwhile may end in the middle of a line.
        while file.tell() < size and (block := file.read(BLOCK) + file.readline(BLOCK)):
            for line in LIKE_A_ROW.findall(b"\n" + block):
                with suppress(*UNREADABLE):
                    row = from_json(line.decode())
                    place = int(row["generation"]) * len(seeds) + seeds.index(int(row["seed"]))
                    # No more before it than there is room for, as no row is shorter than 50 bytes: a file from somebody
                    # else could claim a billion generations.
                    if 0 <= place <= size // 50:
                        yield place, row


class PackedRows:
    """Metrics as arrays by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""

    def __init__(self, num_seeds: int, before: Arrays | None = None) -> None:
        self._num_seeds, self._parts, self._rows = num_seeds, [before] if before else [], list[Row]()

    def extend(self, rows: Iterable[Row]) -> None:
        """Add whole generations."""
        for row in rows:
            self._rows.append(row)
            if len(self._rows) == PACK * self._num_seeds:
                self._pack()

    def _pack(self) -> None:
        names = set[str]().union(*self._rows) - {"seed"}
        columns = {name: _column(name, [row.get(name) for row in self._rows]) for name in names}
        # Rows lie generation after generation, each with its seeds in order.
        shape = -1, self._num_seeds
        self._parts.append(
            {name: all_.reshape(*shape, *all_.shape[1:]).swapaxes(0, 1) for name, all_ in columns.items()}
        )
        self._rows = []

    def arrays(self) -> Arrays:
        """All of them."""
        if self._rows:
            self._pack()
        shapes = {name: values.shape[2:] for part in self._parts for name, values in part.items()}

        def filled(part: Arrays, name: str) -> np.ndarray[Any, Any]:
            return part[name] if name in part else np.full((*part["generation"].shape, *shapes[name]), np.nan)

        return {name: np.concatenate([filled(part, name) for part in self._parts], axis=1) for name in sorted(shapes)}


def _column(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    """One metric of some rows; a row may be lost."""
    with suppress(ValueError):  # of lists that differ in their lengths
        shape = next((np.shape(value) for value in values if value is not None), ())
        column = np.array([np.full(shape, np.nan) if value is None else value for value in values])
        if column.dtype.kind in "biuf":
            return column.astype(np.float64)
    raise ValueError(f"{name} is not a number in every row")


class Metrics(dict[str, np.ndarray[Any, Any]]):
    """What `PackedRows` has of a file, whose name is in errors."""

    def __init__(self, path: Path, rows: Iterable[Row], num_seeds: int) -> None:
        self.path, packed = path, PackedRows(num_seeds)
        try:
            packed.extend(rows)
            super().__init__(packed.arrays())
            if odd := [name for name, values in self.items() if values.ndim != 2 and name != "center"]:
                raise ValueError(f"{odd[0]} is a list, not a number")
        except (ValueError, TypeError, OverflowError) as error:  # rows from elsewhere may hold anything
            raise damaged(path, error) from None

    def __missing__(self, name: str) -> np.ndarray[Any, Any]:
        raise RunFolderError(f"{self.path} has no metric '{name}'; there are: {', '.join(self) or 'none'}.")
