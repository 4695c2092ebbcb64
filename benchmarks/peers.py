"""Beside other libraries, in turns: one ask and one tell of a strategy, and whole generations of a cheetah.

**Ask and tell**, beside evosax's Open_ES: the same parameters in one process. Both draw fresh noise for mirrored pairs,
rank fitness and take a step of Adam. What members do costs nothing here: their fitness is given. Ours hands a sample to
what evaluates it as center and noise; evosax writes its members out.

    pip install evosax
    python benchmarks/peers.py --output results/benchmarks/peers-cpu.json

**Cheetahs**, on all cores: the programs of `benchmarks/rivals`, each as short as its library lets a user be, in an
environment of their own. A control step of ours simulates 16.5 ms, of theirs 50 ms, so there are two rates. Start-up is
the time until the first generation is done, in the first turn, and a generation's time the least of those that follow.
On Linux CPU time is measured too, of a program and all processes below it: other work on the machine touches it less.
A program that cannot be run here, for a library without a wheel, has a row that says why. With --robots nothing else is
measured. Empty caches (a new HOME) make the start-up a newcomer's.

    python -m venv rivals && rivals/bin/pip install envpool evosax brax evotorch "gymnasium[mujoco]"
    python benchmarks/peers.py --robots rivals/bin/python --members 64 --rounds 3 --turns 1
"""

import argparse
import contextlib
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax

from evolvability import mean_fitness, normal
from evolvability.core.cores import num_cores
from evolvability.core.strategy import State, evolvability_es
from evolvability.core.types import Outcome

SIGMA, RATE = 0.02, 0.01
PROGRAMS = Path(__file__).parent / "rivals"
OTHERS = ("bare_rollout", "envpool_batch", "gymnasium_pool", "evosax_brax", "evotorch_gymnasium")
RIVALS = dict.fromkeys(OTHERS, 0.05) | {"ours": 0.0165}
"""The seconds that a control step of each program simulates."""
PACKAGES = ("mujoco", "envpool", "gymnasium", "evosax", "brax", "jax", "evotorch", "torch")

Round = Callable[[], Any]  # one ask and one tell
Times = list[tuple[float, float]]  # wall and CPU seconds from the start to the end of each generation


def main() -> None:
    options = _arguments()
    rows = robots(options) if options.robots else strategies(options)
    if options.output:
        about = {"machine": f"{num_cores()} cores, {platform.machine()}", "load": os.getloadavg()}
        about |= {"options": vars(options) | {"output": None, "robots": versions(options.robots)}}
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def robots(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per program and width, from the rounds in which programs took turns."""
    taken: dict[tuple[str, int], list[Times | str]] = {}
    for _ in range(options.turns):
        for hidden, name in itertools.product(options.hidden, RIVALS):
            taken.setdefault((name, hidden), []).append(_generations(name, hidden, options))
    rows = []
    for (name, hidden), turns in taken.items():
        program = PROGRAMS / f"{name}.py"
        row: dict[str, Any] = {"program": name, "hidden": hidden}
        row["lines"] = sum(bool(line.strip()) for line in program.read_text().splitlines()[1:])
        if ran := [turn for turn in turns if not isinstance(turn, str)]:
            wall, cpu = (_least(ran, part) for part in (0, 1))
            row["start_up"], row["start_up_cpu"] = ran[0][0]
            row["control_steps_per_second"] = options.members[0] * options.steps / wall
            row["simulated_seconds_per_second"] = row["control_steps_per_second"] * RIVALS[name]
            if cpu:
                row["control_steps_per_cpu_second"] = options.members[0] * options.steps / cpu
                row["simulated_seconds_per_cpu_second"] = row["control_steps_per_cpu_second"] * RIVALS[name]
        else:
            row["could_not_run"] = turns[0]
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def _least(turns: list[Times], part: int) -> float:
    """The least seconds of a generation but the first; part: 0 by wall, 1 of CPU time."""
    return min(after[part] - before[part] for turn in turns for before, after in itertools.pairwise(turn))


def versions(python: str) -> dict[str, str] | None:
    """Of what the other Python has installed."""
    if not python:
        return None
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True).stdout
    return {one["name"]: one["version"] for one in json.loads(listed) if one["name"] in PACKAGES}


def _generations(name: str, hidden: int, options: argparse.Namespace) -> Times | str:
    """What a program takes to the end of each of its generations, or why it cannot be run."""
    python = sys.executable if name == "ours" else options.robots
    sizes = map(str, (hidden, options.members[0], options.steps, options.rounds))
    began = time.perf_counter()
    command = [python, str(PROGRAMS / f"{name}.py"), *sizes]
    # Errors go to a file: some libraries say more than a pipe holds while nobody reads.
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        assert process.stdout is not None
        told = (line for line in process.stdout if line == "generation\n")
        ends = [(time.perf_counter() - began, _cpu_seconds(process.pid)) for _ in told]
        if not process.wait() and len(ends) > 1:
            return ends
        said.seek(0)
        return (said.read().strip() or "it ended early").splitlines()[-1]


def _cpu_seconds(pid: int) -> float:
    """Of a process and all below it, so far; 0 where the system does not tell."""
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            spent[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def of(one: int) -> float:
        return spent.get(one, 0.0) + sum(of(child) for child, parent in parents.items() if parent == one)

    return of(pid)


def strategies(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per number of members."""
    rows = []
    for num_members in options.members:
        contenders = {
            "evosax": evosax_round(num_members, options.parameters),
            "float32": our_round(num_members, options.parameters, jnp.float32),
            "bfloat16": our_round(num_members, options.parameters, jnp.bfloat16),
        }
        seconds = in_turns(contenders, options.rounds)
        row = {"members": num_members, "seconds": seconds}
        row["ratios"] = {name: seconds[name] / seconds["evosax"] for name in ("float32", "bfloat16")}
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def evosax_round(num_members: int, num_params: int) -> Round:
    """Of Open_ES, as its own documentation calls it."""
    import evosax.algorithms

    strategy = evosax.algorithms.Open_ES(
        num_members, jnp.zeros(num_params), optimizer=optax.adam(RATE), std_schedule=optax.constant_schedule(SIGMA)
    )
    key, fitness = jax.random.key(0), jnp.arange(num_members, dtype=jnp.float32)
    kept = [strategy.init(key, jnp.zeros(num_params), strategy.default_params)]

    def once() -> Any:
        members, state = strategy.ask(key, kept[0], strategy.default_params)
        kept[0], _ = strategy.tell(key, members, fitness, state, strategy.default_params)
        return kept[0].mean

    return once


def our_round(num_members: int, num_params: int, noise_dtype: Any) -> Round:
    """Of the strategy that standard ES and Evolvability ES share."""
    population = normal(SIGMA, noise_dtype=noise_dtype)
    algorithm = evolvability_es(population, mean_fitness(), optax.adam(RATE), population_size=num_members)
    fitness = jnp.arange(num_members, dtype=jnp.float32)
    outcome = Outcome(fitness[:, None], fitness, jnp.ones(num_members, bool), jnp.ones(num_members, jnp.int32))
    ask = jax.jit(algorithm.ask)
    kept = [jax.jit(algorithm.init)(jax.random.key(0), jnp.zeros((1, num_params)))]

    @jax.jit
    def tell(state: State, sample: Any, outcome: Outcome) -> State:
        return algorithm.ascend(state, population.gradient(sample, algorithm.weigh(state, outcome)[0]))

    def once() -> Any:
        kept[0] = tell(kept[0], ask(kept[0]), outcome)
        return kept[0].parameters.center

    return once


def in_turns(contenders: dict[str, Round], num_rounds: int) -> dict[str, float]:
    """The median seconds of each, after a round that compiles; taken in turns, so that all meet the same load."""
    for once in contenders.values():
        jax.block_until_ready(once())
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(num_rounds):
        for name, once in contenders.items():
            began = time.perf_counter()
            jax.block_until_ready(once())
            times[name].append(time.perf_counter() - began)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=[1000])
    parser.add_argument("--parameters", type=int, default=74_246, help="per member; the paper's cheetah has 74,246")
    parser.add_argument("--rounds", type=int, default=9, help="of ask and tell, or generations of a program")
    parser.add_argument("--robots", default="", help="the Python that has the other libraries; cheetahs are measured")
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
