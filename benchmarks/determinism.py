"""Which combinations of engine and device repeat a run bit for bit: in one process, in another, and across a resume.

Every case is run in two processes, twice in each, and once more interrupted halfway and resumed; on a CPU also in a
process that may use one core alone. The last State and all metrics are hashed: equal hashes mean equal bits. With
``--both`` everything is done again with ``deterministic``, which fixes the order of every sum on a GPU.

    python benchmarks/determinism.py --both --output determinism.json
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Child = subprocess.Popen[str]
ROBOT = {"population_size": 1000, "generations": 6, "task_options": {"num_steps": 200, "observation_share": 0.05}}
TOY = {"population_size": 2000, "generations": 30}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "interference": ("interference", {**TOY, "generations": 200, "record_every": 200}),
    "point": ("point", TOY),
    "point, bfloat16 noise, chunks": ("point", {**TOY, "noise_dtype": "bfloat16", "chunk_size": 500}),
    "point, mixture": ("point", {**TOY, "population": "mixture"}),
    "point, diagonal_normal": ("point", {**TOY, "population": "diagonal_normal", "natural_gradient": True}),
    "navigation, low_rank": ("navigation", {**TOY, "population": "low_rank", "rank": 1, "seeds": 3}),
    "maze, ns_es": ("maze", {**TOY, "objective": "ns_es"}),
    "cheetah, mujoco": ("cheetah", {"engine": "mujoco"}),
    "cheetah, fused": ("cheetah", {"engine": "fused"}),
    "ant, fused": ("ant", {"engine": "fused"}),
}


def settings_of(name: str, scale: float) -> tuple[str, dict[str, Any]]:
    task, settings = CASES[name]
    if "engine" in settings:
        settings = {**ROBOT, "task_options": {**ROBOT["task_options"], **settings}}
    size = max(40, int(settings["population_size"] * scale) // 40 * 40)
    settings = {**settings, "population_size": size}
    if "chunk_size" in settings:
        settings["chunk_size"] = size // 4
    return task, settings


def digest(state: Any, metrics: dict[str, Any]) -> str:
    """A hash of a State and its metrics, but for the clock's."""
    import jax
    import numpy as np

    total = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        is_key = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        total.update(np.ascontiguousarray(jax.random.key_data(leaf) if is_key else leaf).tobytes())
    for name, values in sorted(metrics.items()):
        if name != "seconds":
            total.update(np.ascontiguousarray(values).tobytes())
    return total.hexdigest()[:16]


def run_case(name: str, scale: float, deterministic: bool) -> dict[str, str]:
    """The hashes of one case: twice straight, once interrupted and resumed."""
    from evolvability import Run, UserError, evolve, resume
    from evolvability.runs.trees import restore

    task, settings = settings_of(name, scale)
    settings["deterministic"] = deterministic
    try:
        first, second = evolve(task, **settings), evolve(task, **settings)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            evolve(task, **{**settings, "generations": settings["generations"] // 2}, output=path)
            resume(path, generations=settings["generations"])
            run = Run(path)
            resumed = digest(restore(first.state, run.checkpoint()), run.metrics)
    except (UserError, ImportError) as error:
        return {"missing": str(error)}
    return {
        "first": digest(first.state, first.metrics),
        "second": digest(second.state, second.metrics),
        "resumed": resumed,
        "seconds": str(round(float(first.metrics["seconds"][0, 1:].mean()), 4)),
    }


def in_another_process(arguments: list[str], *, one_core: bool = False) -> Child:
    """Start every case in a process of its own, which compiles everything afresh."""
    command = [sys.executable, __file__, "--child", *(["--one-core"] * one_core), *arguments]
    # Processes side by side share a GPU's memory; a shared cache of programs would hide what the compiler chooses.
    environment = os.environ | {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_COMPILATION_CACHE_DIR": tempfile.mkdtemp(),
    }
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def hashes(child: Child) -> dict[str, dict[str, str]]:
    """What a process found, once it has ended."""
    printed, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"A process of its own ended with {child.returncode}.")
    return json.loads(printed.splitlines()[-1])


def compared(name: str, deterministic: bool, processes: list[dict[str, dict[str, str]]]) -> dict[str, Any]:
    """What is the same bit for bit: in one process, in another one, after a resume, on one core."""
    one, other, *single = (process[name] for process in processes)
    row: dict[str, Any] = {"case": name, "deterministic": deterministic}
    if "missing" in one:
        return row | {"missing": one["missing"]}
    row["same_process"] = one["first"] == one["second"]
    row["another_process"] = one["first"] == other["first"]
    row["resumed"] = one["first"] == other["resumed"]
    if single:
        row["one_core"] = one["first"] == single[0]["first"]
    return row | {"seconds": min(float(one["seconds"]), float(other["seconds"]))}


def print_rows(rows: list[dict[str, Any]]) -> None:
    columns = ["same_process", "another_process", "resumed", "one_core", "seconds"]
    print(f"{'case':32} {'deterministic':13} " + " ".join(f"{column:>15}" for column in columns))
    for row in rows:
        values = [row.get("missing")] if "missing" in row else [str(row.get(column, "-")) for column in columns]
        print(f"{row['case']:32} {row['deterministic']!s:13} " + " ".join(f"{value:>15}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on every population")
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--both", action="store_true", help="with and without --deterministic")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one-core", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if options.child:
        found = {}
        for name in options.cases:
            began = time.perf_counter()
            found[name] = run_case(name, options.scale, options.deterministic)
            print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
        print(json.dumps(found))
        return
    import jax

    on_cpu = jax.default_backend() == "cpu" and hasattr(os, "sched_setaffinity")
    started = {}
    for setting in (False, True) if options.both else (options.deterministic,):
        arguments = ["--scale", str(options.scale), *(["--deterministic"] * setting), "--cases", *options.cases]
        pinned = [False, False, True] if on_cpu else [False, False]
        started[setting] = [in_another_process(arguments, one_core=one_core) for one_core in pinned]
    found = {setting: [hashes(child) for child in children] for setting, children in started.items()}
    rows = [compared(name, setting, processes) for setting, processes in found.items() for name in options.cases]
    print_rows(rows)
    if options.output:
        table = {"devices": [device.device_kind for device in jax.devices()], "jax": jax.__version__, "rows": rows}
        options.output.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
