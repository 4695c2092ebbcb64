"""Doing what is planned: whatever is done is skipped, what was begun goes on, and the time it took is kept."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from evolvability.core.errors import UserError
from evolvability.reproduction.plan import RunWork, Work
from evolvability.runs.environment import describe_devices
from evolvability.studies.sweeps import Status
from evolvability.training.driver import Evolution, Rows, resume, train

TIMES = "times.jsonl"
"""One object a piece of work, in the output folder: whatever was done, interrupted or not, and its seconds."""
Watch = Callable[[Work, Status], AbstractContextManager[Callable[[Rows], None]]]


def conduct(
    works: Sequence[Work], output: Path, watch: Watch = lambda work, status: nullcontext(lambda rows: None)
) -> None:
    """Do every piece of work that is not done yet, going on with what was begun.

    A piece that fails does not keep the others from being done: the errors are raised together at the end.

    Args:
        works: pieces of work, in order.
        output: the folder of all of it.
        watch: called before each piece, for what shows its progress.
    """
    for work in works:
        work.status()  # all of them first: a folder that holds something else is told early
    failed = []
    for work in works:
        state = work.status()
        with watch(work, state) as show:
            if state != "done":
                try:
                    with timed(output, work):
                        _do(work, state, show)
                except UserError as error:
                    failed.append(f"{work.title}: {error}")
    if failed:
        raise UserError(f"{len(failed)} of {len(works)} pieces of work failed.\n" + "\n".join(failed))


@contextmanager
def timed(output: Path, work: Work) -> Iterator[None]:
    """Keep how long something took, also when it is interrupted."""
    began, clock = time.time(), time.monotonic()
    try:
        yield
    finally:
        row = {
            "item": work.item,
            "work": work.title,
            "began": round(began, 2),
            "seconds": round(time.monotonic() - clock, 2),
            "devices": describe_devices(),
        }
        with suppress(OSError):  # where nothing can be written, the work itself has said so
            output.mkdir(parents=True, exist_ok=True)
            with (output / TIMES).open("a") as file:
                file.write(json.dumps(row) + "\n")


def times(output: Path) -> list[dict[str, Any]]:
    """What was done so far and how long it took."""
    path = output / TIMES
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def spent(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Seconds by item and kind of device, from `times`. What ran side by side on a GPU shares its time equally."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        own = found.setdefault(row["item"], {})
        kind = row["devices"][0].partition(":")[0].upper()
        own[kind] = own.get(kind, 0.0) + _share(row, rows)
    return found


def _share(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> float:
    """The seconds of a piece of work, those in which n pieces were under way on its device counted as 1/n."""
    if "began" not in row or row["devices"][0].startswith("cpu"):  # kept by an older version, or on many cores
        return float(row["seconds"])
    spans = [_span(other) for other in rows if "began" in other and other["devices"] == row["devices"]]
    begin, end = _span(row)
    edges = sorted({begin, end, *(edge for span in spans for edge in span if begin < edge < end)})
    return sum((b - a) / sum(first <= a and b <= last for first, last in spans) for a, b in pairwise(edges))


def _span(row: dict[str, Any]) -> tuple[float, float]:
    return row["began"], row["began"] + row["seconds"]


def _do(work: Work, state: Status, show: Callable[[Rows], None]) -> None:
    if not isinstance(work, RunWork):
        work.conduct()
        return
    config = work.settled().config
    if state == "new":
        train(Evolution(config), work.path, show)
    else:
        resume(work.path, generations=config.generations, on_generation=show)
