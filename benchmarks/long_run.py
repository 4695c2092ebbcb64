"""Whether anything grows in a long run: memory, open files and time per generation; and how the folder's files do.

A tiny task, trained in one process, which resumes its run folder after every part. Per part: the time of a generation,
by the processor (user and system) and by the clock; the processor's time until the first generation, in which a resume
reads the folder; the process's memory, at the last generation and when all that is free was given back; Python's
objects; open files; and the bytes of the folder's files. A line is fitted through the parts after the first, which
compiles. Its slope is given with the standard error, and noise is the standard deviation around it.

Whether memory grows, objects tell better than bytes: compiling leaves these in pieces, of which some stay for several
parts, so that the slopes of equal runs differ by several times their errors.

    python benchmarks/long_run.py --generations 100000 --part 5000
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from evolvability import evolve, resume
from evolvability.runs.export import folder_size

SETTINGS: dict[str, Any] = {"population_size": 8, "objective": "max_variance", "record_every": 1000}


def main() -> None:
    options = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        parts = _parts(Path(folder) / "run", options.generations, options.part)
    lines = {name: _line(parts, name) for name in parts[0] if name != "generations"}
    for name, line in lines.items():
        print(f"{name}: {line['first']:,.6g} to {line['last']:,.6g}; per 1,000 generations {line['slope']:+,.4g} "
              f"± {line['error']:,.2g}, noise {line['noise']:,.4g}")  # fmt: skip
    if options.output:
        table = {"settings": SETTINGS, "generations": options.generations, "parts": parts, "lines": lines}
        options.output.write_text(json.dumps(table, indent=1) + "\n")


def _parts(path: Path, generations: int, size: int) -> list[dict[str, float]]:
    parts = []
    for end in range(size, generations + 1, size):
        moments: list[tuple[float, float]] = [_now()]
        held = 0.0

        def note(rows: Any, moments: list[tuple[float, float]] = moments, last: int = end - 1) -> None:
            nonlocal held
            moments.append(_now())
            if rows[0]["generation"] == last:
                held = _memory()

        if end == size:
            evolve("interference", output=path, generations=end, on_generation=note, progress=False, **SETTINGS)
        else:
            resume(path, generations=end, on_generation=note, progress=False)
        parts.append({"generations": end, **_times(moments), "memory in training (MB)": held, **_left(path)})
        print(parts[-1], flush=True)
    return parts


def _times(moments: list[tuple[float, float]]) -> dict[str, float]:
    """Of a part; moments: at its begin and after each of its generations, by the processor and by the clock."""
    steps = np.diff(moments, axis=0)
    processor, clock = 1000 * np.median(steps[1:], axis=0)
    return {
        "processor time per generation (ms)": float(processor),
        "time per generation (ms)": float(clock),
        "processor time to begin (s)": float(steps[0, 0]),
    }


def _left(path: Path) -> dict[str, float]:
    """What a part left behind."""
    with contextlib.suppress(OSError, AttributeError):  # not on every system
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # or what is free, and kept for later, would count
    return {
        "memory (MB)": _memory(),
        "Python objects": _objects(),
        "open files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 (a folder of the system's)
        "metrics.jsonl (MB)": (path / "metrics.jsonl").stat().st_size / 1e6,
        "histograms.jsonl (MB)": (path / "histograms.jsonl").stat().st_size / 1e6,
        "behaviors/ (MB)": folder_size(path / "behaviors") / 1e6,
        "checkpoints/ (MB)": folder_size(path / "checkpoints") / 1e6,
    }


def _now() -> tuple[float, float]:
    return time.process_time(), time.monotonic()


def _memory() -> float:
    """What the process has in memory, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _objects() -> int:
    """How many are in use."""
    gc.collect()
    return len(gc.get_objects())


def _line(parts: list[dict[str, float]], name: str) -> dict[str, float]:
    done = np.array([part["generations"] for part in parts[1:]]) / 1000
    values = np.array([part[name] for part in parts[1:]])
    slope, height = np.polyfit(done, values, 1)
    noise = float(np.sqrt(np.sum((values - (slope * done + height)) ** 2) / (len(done) - 2)))
    error = noise / float(np.std(done) * np.sqrt(len(done)))
    ends = {"first": float(values[0]), "last": float(values[-1])}
    return {**ends, "slope": float(slope), "error": error, "noise": noise}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=100_000)
    parser.add_argument("--part", type=int, default=5000)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
