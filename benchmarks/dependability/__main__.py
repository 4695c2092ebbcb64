"""Make the study's runs and rows, or tell what they say: see `results/dependable-study/RULES.md`.

    python -m benchmarks.dependability runs/dependable --lane 1/3 &
    python -m benchmarks.dependability runs/dependable --lane 2/3 &
    python -m benchmarks.dependability runs/dependable --lane 3/3 &
    python -m benchmarks.dependability runs/dependable --report

Lanes share a folder. Finished work is skipped and interrupted work goes on, so that each can be stopped anywhere.
`--only MAML_seeds-204` does the work whose name, as `--dry-run` tells it, contains this.
"""

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.dependability.arms import ARMS, SCALES, Scale, runs_of
from benchmarks.dependability.report import report
from benchmarks.dependability.rows import Work
from evolvability import ConfigError
from evolvability.methods.registry import MAML
from evolvability.studies.sweeps import Show, Status, work_off
from evolvability_paper.command import compile_quickly


def plan(scale: Scale, output: Path, lane: tuple[int, int] = (1, 1), only: str = "") -> list[Work]:
    """The pieces of work of one of several lanes: first seeds of all arms before any has its next, MAML last."""
    works = [Work(arm, run, scale, output) for arm in ARMS for run in runs_of(arm, scale, output)]
    # Sorting keeps the order of arms.
    works.sort(key=lambda work: (work.arm.objective == MAML, work.run.config.seed))
    return [work for work in works if only in work.name][lane[0] - 1 :: lane[1]]


def lane_of(text: str) -> tuple[int, int]:
    """A lane as it is typed.

    >>> lane_of("2/3")
    (2, 3)
    """
    first, _, second = text.partition("/")
    if not (first.isdigit() and second.isdigit() and 1 <= int(first) <= int(second)):
        raise ConfigError(f"A lane is N/OF, such as 1/3, got '{text}'.")
    return int(first), int(second)


def watch(work: Any, state: Status) -> AbstractContextManager[Show]:
    """Say what is being done."""
    print(f"{state}: {work.name}", flush=True)
    return nullcontext(lambda rows: None)


def main(arguments: Sequence[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the study's folder")
    parser.add_argument("--scale", choices=SCALES, default="full", help="how large (default: full)")
    parser.add_argument("--lane", default="1/1", help="which part of the work (default: all)")
    parser.add_argument("--only", default="", help="a part of the name of what is to be done (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="only tell what is done and what is left")
    parser.add_argument("--report", action="store_true", help="only tell what the rows say, into report.md")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(options.output))
        return
    works = plan(SCALES[options.scale], options.output, lane_of(options.lane), options.only)
    if options.dry_run:
        for work in works:
            watch(work, work.status())
        return
    if options.scale == "smoke":
        compile_quickly()
    work_off(works, watch)


if __name__ == "__main__":
    main()
