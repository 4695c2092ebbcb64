"""The rows of metrics.jsonl: one object per generation and seed, each with a checksum."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evolvability.runs.files import checked
from evolvability.runs.sealed import UNREADABLE, damaged, from_json, to_json

Row = dict[str, Any]
ROW_FILES = ("metrics.jsonl", "histograms.jsonl")
"""Of a run folder: one row per generation and seed in each."""
MAX_ROWS = 3_000_000
"""Of a run, and lines of its file: as many as a gigabyte holds. One from somebody else could have a billion."""


def to_lines(rows: Iterable[Row]) -> str:
    """Rows as they are written."""
    return "".join(to_json(row) + "\n" for row in rows)


def read_rows(path: Path, seeds: Sequence[int], *, at_least: int = 0) -> tuple[list[Row], list[int]]:
    """The rows of a file up to the last complete generation, and the generations of which some are lost.

    A row that is lost is there, but empty, so that rows lie generation by generation, seed by seed.

    Args:
        path: the file; it may still be growing, or end in the middle of a line.
        seeds: of the run.
        at_least: how many generations to return; what the file lacks at its end is lost, too.
    """
    found = _intact(path, seeds)
    last = max((generation for generation, _ in found), default=-1)
    # Half a generation at the end is just being written, or was when the process was killed.
    total = max(at_least, last + all((last, seed) in found for seed in seeds))
    if total * len(seeds) > MAX_ROWS:
        raise damaged(path, ValueError(f"{total:,} generations of {len(seeds):,} seeds are too many"))
    empty = _empty(next(iter(found.values()), {}))
    places = [(generation, seed) for generation in range(total) for seed in seeds]
    rows = [found.get(place) or {**empty, "generation": place[0], "seed": place[1]} for place in places]
    return rows, sorted({generation for generation, seed in places if (generation, seed) not in found})


def _intact(path: Path, seeds: Sequence[int]) -> dict[tuple[int, int], Row]:
    data = checked(path).read_bytes() if path.is_file() else b""
    if (number := data.count(b"\n")) > MAX_ROWS:
        raise damaged(path, ValueError(f"{number:,} lines are too many"))
    found = {}
    for line in data.decode("utf-8", errors="replace").split("\n"):
        if not line.endswith("}"):  # nothing, or cut in the middle
            continue
        try:
            row = from_json(line)
            generation, seed = int(row["generation"]), int(row["seed"])
        except UNREADABLE:
            continue
        # No more than there are lines: a file from somebody else could claim a billion generations.
        if 0 <= generation <= number and seed in seeds:
            found[generation, seed] = row
    return found


def _empty(value: Any) -> Any:
    """Nothing, in the shape of a value."""
    if isinstance(value, dict):
        return {name: _empty(part) for name, part in value.items()}
    return [_empty(part) for part in value] if isinstance(value, list) else None
