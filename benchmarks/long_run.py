"""Whether anything grows in a long run: memory, open files and time per generation; and how the folder's files do.

A tiny task, trained in one process, which resumes its run folder after every part. Per part: the processor's time per
generation, the process's memory and open files at its end, and the bytes of the folder's files. A line is fitted
through the parts after the first, which compiles; noise is the standard deviation around it.

    python benchmarks/long_run.py --generations 100000 --part 5000
"""

import argparse
import json
import os
import statistics
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
        print(f"{name}: {line['first']:,.6g} to {line['last']:,.6g}; per 1,000 generations {line['slope']:+,.4g}, "
              f"noise {line['noise']:,.4g}")  # fmt: skip
    if options.output:
        table = {"settings": SETTINGS, "generations": options.generations, "parts": parts, "lines": lines}
        options.output.write_text(json.dumps(table, indent=1) + "\n")


def _parts(path: Path, generations: int, size: int) -> list[dict[str, float]]:
    parts = []
    for end in range(size, generations + 1, size):
        spent: list[float] = []

        def note(rows: Any, spent: list[float] = spent) -> None:
            spent.append(time.process_time())

        if end == size:
            evolve("interference", output=path, generations=end, on_generation=note, progress=False, **SETTINGS)
        else:
            resume(path, generations=end, on_generation=note, progress=False)
        parts.append({"generations": end, **_state(path, spent)})
        print(parts[-1], flush=True)
    return parts


def _state(path: Path, spent: list[float]) -> dict[str, float]:
    """What a part left behind; spent: the processor's time after each of its generations."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "milliseconds per generation": 1000 * statistics.median(np.diff(spent)),
        "memory (MB)": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "open files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 (a folder of the system's)
        "metrics.jsonl (MB)": (path / "metrics.jsonl").stat().st_size / 1e6,
        "histograms.jsonl (MB)": (path / "histograms.jsonl").stat().st_size / 1e6,
        "behaviors/ (MB)": folder_size(path / "behaviors") / 1e6,
        "checkpoints/ (MB)": folder_size(path / "checkpoints") / 1e6,
    }


def _line(parts: list[dict[str, float]], name: str) -> dict[str, float]:
    done = np.array([part["generations"] for part in parts[1:]]) / 1000
    values = np.array([part[name] for part in parts[1:]])
    slope, height = np.polyfit(done, values, 1)
    noise = float(np.std(values - (slope * done + height)))
    return {"first": float(values[0]), "last": float(values[-1]), "slope": float(slope), "noise": noise}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=100_000)
    parser.add_argument("--part", type=int, default=5000)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
