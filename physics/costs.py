"""What compiled physics costs beside MuJoCo's other engines: seconds to compile, time per time step.

    python physics/costs.py measure ROWS.jsonl             one core, beside `mujoco.rollout`
    python physics/costs.py measure ROWS.jsonl --device cuda --seconds 300     beside MuJoCo-Warp and MJX
    python physics/costs.py page ROWS.jsonl ... > physics/COSTS.md

Default: Gymnasium's robots and the quadruped of Evolvability ES, with bodies that touch each other and without. Every
measurement is a process of its own. Its row is written when it ends, so that nothing is lost when time is up.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
from cost_engines import Job

HERE = Path(__file__).parent
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ROBOTS = ("hopper", "walker2d_v5", "half_cheetah", "ant", "humanoid")
QUADRUPED = (HERE.parent / "src").rglob("quadruped.xml")
"""Where this folder lies in the repository of Evolvability ES."""
ON = {"cpu": ("compiled", "native"), "cuda": ("compiled", "mujoco_warp", "mjx")}
SIZES = {"cpu": (64, 100, 5), "cuda": (8192, 300, 3)}
"""Worlds, time steps, and runs of which the best counts."""


def main() -> None:
    """Measure, or make the page of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="time engines and append rows to a file")
    measuring.add_argument("rows", type=Path)
    paths = [str(path) for path in (*(ASSETS / f"{name}.xml" for name in ROBOTS), *QUADRUPED)]
    measuring.add_argument("--models", nargs="+", default=paths, metavar="MODEL.xml")
    measuring.add_argument("--device", choices=ON, default="cpu")
    measuring.add_argument("--engines", nargs="+", help=f"default: {ON}")
    measuring.add_argument(
        "--seconds", type=float, default=3600, help="when time is up, what is unfinished is left out"
    )
    measuring.add_argument("--jobs", type=int, help="processes at once; default: 1 on a CPU, else one per core")
    measuring.add_argument("--cache", default="", help="a folder for what Warp compiles; default: all is compiled anew")
    measuring.add_argument("--worlds", type=int)
    measuring.add_argument("--steps", type=int)
    commands.add_parser("page", help="print the page").add_argument("rows", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "page":
        found = [json.loads(line) for path in options.rows for line in path.read_text().splitlines()]
        print(page(found), end="")
    else:
        measure(options)


def jobs(options: argparse.Namespace, turn: str) -> list[Job]:
    """All measurements, the most telling first."""
    worlds, steps, runs = SIZES[options.device]
    sizes = (options.worlds or worlds, options.steps or steps, runs)
    return [
        Job(engine, path, touching, options.device, *sizes, turn, options.cache)
        for engine in options.engines or ON[options.device]
        for path in options.models
        for touching in (False, True)
    ]


def measure(options: argparse.Namespace) -> None:
    """Append a row per measurement to a file."""
    end = time.monotonic() + options.seconds
    at_once = options.jobs or (1 if options.device == "cpu" else os.cpu_count() or 1)
    # JAX would take most of a GPU's memory, and others are measured beside it.
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

    def one(job: Job) -> str:
        left = end - time.monotonic()
        if left <= 0:
            return ""
        command = [sys.executable, str(HERE / "cost_engines.py"), json.dumps(job._asdict())]
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended = subprocess.run(command, env=environment, timeout=left, check=False, capture_output=True)
            if ended.returncode:
                what = ended.stderr.decode()[-2000:]
                print(f"{job.engine} of {job.path} failed:\n{what}", file=sys.stderr, flush=True)
            return ended.stdout.decode().strip().rpartition("\n")[2]
        print(f"{job.engine} of {job.path}: time was up", file=sys.stderr, flush=True)
        return ""

    with tempfile.NamedTemporaryFile() as turn, concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        tasks = [pool.submit(one, job) for job in jobs(options, turn.name)]
        for task in concurrent.futures.as_completed(tasks):
            if row := task.result():
                with options.rows.open("a") as file:
                    file.write(row + "\n")
                print(row, flush=True)


def page(rows: list[dict[str, Any]]) -> str:
    """One table per device; of several rows of the same the last one counts."""
    devices: dict[str, dict[tuple[str, int, bool], dict[str, Any]]] = collections.defaultdict(dict)
    for row in rows:
        place = devices[row["device"]].setdefault((row["model"], row["dofs"], row["touching"]), {})
        place[row["engine"]] = row
    text = "# Costs\n\nMade by `physics/costs.py`, in float32; native MuJoCo computes in double.\n"
    text += "RK4, which Gymnasium's robots but the cheetah have, evaluates a time step four times.\n"
    text += "MuJoCo-Warp keeps kernels that models share: its time to compile is what was new of a model.\n"
    text += "On the GPU's machine of 16 cores several models were compiled at a time.\n"
    return text + "".join(map(_table, devices, devices.values()))


def _table(device: str, models: dict[tuple[str, int, bool], dict[str, Any]]) -> str:
    on_gpu = device != "one core"
    others = ON["cuda" if on_gpu else "cpu"][1:]
    labels = {"native": "`mujoco.rollout`", "mujoco_warp": "MuJoCo-Warp", "mjx": "MJX"}
    scale, unit = (1000, "ns") if on_gpu else (1, "us")
    names = ["model", "degrees of freedom", "its bodies touch", "compile, s", f"compiled, {unit}"]
    for other in others:
        names += [f"{labels[other]}: compile, s"] * on_gpu + [f"{labels[other]}, {unit}", "ratio"]
    lines = [f"\n## {device}\n", _sizes(models), f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for (name, dofs, touching), found in sorted(models.items(), key=lambda item: (item[0][1:2], item[0])):
        if "compiled" not in found:
            continue
        ours = found["compiled"]
        cells = [name, str(dofs), "each other" if touching else "planes alone", f"{ours['compile_s']:.1f}"]
        cells.append(_time(ours, scale))
        for other in others:
            cells += _beside(found.get(other), ours, scale, on_gpu)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _sizes(models: dict[tuple[str, int, bool], dict[str, Any]]) -> str:
    """What all rows of a table have in common."""
    sizes = {(row["worlds"], row["steps"]) for found in models.values() for row in found.values()}
    told = " or ".join(f"{worlds:,} worlds and {steps} time steps" for worlds, steps in sorted(sizes))
    return f"Time per time step of one world, in runs of {told} with random controls. *Ratio*: theirs by ours.\n"


def _beside(theirs: dict[str, Any] | None, ours: dict[str, Any], scale: float, with_compile: bool) -> list[str]:
    if theirs is None:
        return ["", "", ""] if with_compile else ["", ""]
    ratio = _short(theirs["microseconds"] / ours["microseconds"], 2)
    steps = "" if theirs["steps"] == ours["steps"] else f" ({theirs['steps']} time steps)"
    return [f"{theirs['compile_s']:.1f}"] * with_compile + [_time(theirs, scale) + steps, ratio]


def _short(value: float, digits: int) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.{digits}g}"


def _time(row: dict[str, Any], scale: float) -> str:
    """A time, and how many worlds broke down, if any did."""
    time = _short(row["microseconds"] * scale, 3)
    return time if row["finite"] == 1 else f"{time} ({100 * (1 - row['finite']):.1f} % of worlds broke down)"


if __name__ == "__main__":
    main()
