"""Our robots beside PyBullet's, the paper's simulator: how the same actions move them, and how fast they are stepped.

Motion: the kinds of episodes in `bullet_motions.py`, 20 of each, for each of six seeds. A row agrees if our mean over
seeds is within what PyBullet's seeds span. PyBullet's side was recorded, so that this runs without it.

Speed (with --rounds): control steps per second of CPU time, a network of the paper's size included: PyBullet's
environments in one process per core, and the engine mujoco on as many threads, in turns, so that both meet the same
load. It needs PyBullet.

    python benchmarks/bullet.py --output results/benchmarks/bullet-cpu.json --picture bullet.png
    pip install -e '.[locomotion,bullet]'; python benchmarks/bullet.py --rounds 5
"""

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np
from bullet_motions import (
    ENVIRONMENTS,
    FALLEN,
    PATH,
    SEEDS,
    STEPS,
    STRIDE,
    Bullet,
    Motion,
    make_actions,
    make_starts,
    rows,
    simulate,
)

from evolvability import make_task, normal
from evolvability.config.schema import layered
from evolvability.tasks.robots.paper import BODIES, ROBOTS
from evolvability.tasks.robots.robot import Robot

CONTROL_STEP = 0.0165  # seconds
DRAWN = ("random", "bang-bang", "gait")
HIDDEN = 256

Array = np.ndarray[Any, Any]


def main() -> None:
    options = _arguments()
    recorded = dict(np.load(PATH))
    report: dict[str, Any] = {"body": options.body, "robots": {}, "motion": {}, "outside": []}
    for name in ENVIRONMENTS:
        robot = ROBOTS[name](options.body)
        bullet = {"motors": recorded[f"{name}/motors"].tolist(), "mass": float(recorded[f"{name}/mass"])}
        report["robots"][name] = {"ours": facts(robot), "bullet": bullet}
        for kind in STEPS:
            table = compare(robot, kind, recorded)
            report["motion"][f"{name}, {kind}"] = table
            report["outside"] += [f"{name}, {kind}: {row}" for row, values in table.items() if not values["agrees"]]
            print(f"{name}, {kind}\n" + "\n".join(_line(row, values) for row, values in table.items()), flush=True)
    total = sum(map(len, report["motion"].values()))
    print(f"{total - len(report['outside'])} of {total} rows are within what PyBullet's seeds span; outside:")
    print("\n".join(report["outside"]))
    if options.rounds:
        report["cores"] = len(os.sched_getaffinity(0))
        with ProcessPoolExecutor(report["cores"], get_context("spawn")) as workers:
            report["speed"] = {name: speed(name, options.rounds, report["cores"], workers) for name in ENVIRONMENTS}
        print(report["speed"])
    if options.output:
        # Speeds that were measured before stay.
        before = json.loads(options.output.read_text()) if options.output.exists() else {}
        kept = {key: before[key] for key in ("cores", "speed") if key in before}
        options.output.write_text(json.dumps(kept | report, indent=1) + "\n")
    if options.picture:
        draw(options.body, recorded, options.picture)


def compare(robot: Robot, kind: str, recorded: dict[str, Array]) -> dict[str, dict[str, Any]]:
    """Of every row: its mean over seeds, and what PyBullet's seeds span."""
    ours = [rows(robot, our_motion(robot, kind, seed, recorded)) for seed in range(SEEDS)]
    theirs = np.array([recorded[f"{robot.name}/{kind}/rows/{seed}"] for seed in range(SEEDS)], float)
    table = {}
    for column, row in enumerate(ours[0]):
        low, high = theirs[:, column].min(), theirs[:, column].max()
        mean = float(np.mean([one[row] for one in ours]))
        # Recorded rows have 32 bits.
        agrees = bool(low - 1e-6 <= mean <= high + 1e-6)
        bullet = {"bullet": float(theirs[:, column].mean()), "bullet_low": float(low), "bullet_high": float(high)}
        table[row] = {"ours": mean, **bullet, "agrees": agrees}
    return table


def our_motion(robot: Robot, kind: str, seed: int, recorded: dict[str, Array]) -> Motion:
    """Our robot from where PyBullet's began."""
    given = make_starts(kind, ROBOTS[robot.name](), seed)
    qpos = recorded[f"{robot.name}/{kind}/start/{seed}"].astype(float)
    qvel = given.qvel if given else np.zeros((len(qpos), robot.model.nv))
    return simulate(robot, Motion(qpos, qvel), make_actions(kind, robot.num_joints, seed))


def facts(robot: Robot) -> dict[str, Any]:
    """Our robot's motors (N m, in the order of joints) and mass (kg)."""
    limits = np.empty(robot.num_joints)
    limits[robot.model.actuator_trnid[:, 0] - (robot.model.njnt - robot.num_joints)] = robot.model.actuator_gear[:, 0]
    return {"motors": limits.tolist(), "mass": float(robot.model.body_mass.sum())}


def _line(row: str, values: dict[str, Any]) -> str:
    span = f"{values['bullet_low']:.3f} to {values['bullet_high']:.3f}"
    note = "" if values["agrees"] else "   outside"
    return f"  {row:24} ours {values['ours']:8.3f}   PyBullet {values['bullet']:8.3f}, seeds {span}{note}"


def speed(name: str, rounds: int, cores: int, workers: ProcessPoolExecutor) -> dict[str, float]:
    """Control steps per second of wall time and of CPU time, medians over rounds that take turns."""
    run = our_episodes(name)
    run()  # compiles
    list(workers.map(bullet_steps, [name] * cores, [10] * cores))  # loads
    results: dict[str, list[float]] = {"ours": [], "ours_cpu": [], "bullet": [], "bullet_cpu": []}
    for _ in range(rounds):
        began, began_cpu = time.perf_counter(), time.process_time()
        steps = run()
        results["ours"].append(steps / (time.perf_counter() - began))
        results["ours_cpu"].append(steps / (time.process_time() - began_cpu))
        began = time.perf_counter()
        counts, seconds = zip(*workers.map(bullet_steps, [name] * cores, [1500] * cores), strict=True)
        results["bullet"].append(sum(counts) / (time.perf_counter() - began))
        results["bullet_cpu"].append(sum(counts) / sum(seconds))
    medians = {who: float(np.median(values)) for who, values in results.items()}
    ratios = np.divide(results["ours_cpu"], results["bullet_cpu"])
    return medians | {"times": medians["ours"] / medians["bullet"], "times_cpu": float(np.median(ratios))}


def our_episodes(name: str, num_members: int = 512, num_steps: int = 200) -> Callable[[], int]:
    """A whole evaluation on the engine mujoco, on all cores; returns how many control steps it took."""
    task = make_task(name, {"engine": "mujoco", "num_steps": num_steps, "hidden": HIDDEN})
    population = normal(layered(name).sigma)
    cloud = population.init(jax.random.key(0), task.init(jax.random.key(1))[None])
    sample = population.sample(jax.random.key(2), cloud, 0, population.draws(num_members))
    return lambda: int(task.evaluate(jax.random.key(3), sample, task.memory)[0].num_steps.sum())


def bullet_steps(name: str, num_steps: int) -> tuple[int, float]:
    """So many control steps of one environment driven by a network, and their CPU time."""
    environment = Bullet(name).environment
    observation, _ = environment.reset(seed=0)
    sizes = (len(observation), HIDDEN, HIDDEN, environment.action_space.shape[0])
    random = np.random.default_rng(0)
    layers = [random.normal(size=shape, scale=0.1).astype(np.float32) for shape in itertools.pairwise(sizes)]
    began = time.process_time()
    for _ in range(num_steps):
        hidden = observation
        for layer in layers[:-1]:
            hidden = np.tanh(hidden @ layer)
        observation, _, ended, _, _ = environment.step(np.clip(hidden @ layers[-1], -1, 1))
        if ended:
            observation, _ = environment.reset()
    return num_steps, time.process_time() - began


def draw(body: str, recorded: dict[str, Array], path: Path) -> None:
    """Where torsos went (left, centers) and how high they were (right), ours and PyBullet's."""
    from evolvability.figures.style import method_color, new_figure, paper_style

    colors = dict(zip(("ours", "PyBullet's"), (method_color("max_entropy"), method_color("max_variance")), strict=True))
    tracks = {(name, kind): _tracks(ROBOTS[name](body), kind, recorded) for name in ENVIRONMENTS for kind in DRAWN}
    with paper_style():
        figure = new_figure(7.0, 4.2)
        axes = figure.subplots(2, len(DRAWN) + 1)
        for row, name in enumerate(ENVIRONMENTS):
            for column, kind in enumerate(DRAWN):
                ax = axes[row, column]
                for (who, color), torso in zip(colors.items(), tracks[name, kind], strict=True):
                    moved = torso - torso[:, :1]
                    times = CONTROL_STEP * STRIDE[kind] * np.arange(moved.shape[1])
                    across, up = (times, moved[..., 0]) if name == "cheetah" else (moved[..., 0], moved[..., 1])
                    for episode in range(len(moved)):
                        line = across if across.ndim == 1 else across[episode]
                        label = who if episode == 0 else None
                        ax.plot(line, up[episode], color=color, linewidth=0.5, alpha=0.7, label=label)
                ax.set_title(f"{name}, {kind}", loc="left")
                ax.set(
                    xlabel="time (s)" if name == "cheetah" else "x (m)",
                    ylabel="x (m)" if name == "cheetah" else "y (m)",
                )
                if name == "ant":
                    ax.set_aspect("equal", adjustable="datalim")
            ax = axes[row, -1]
            for who, (label, color) in enumerate(colors.items()):
                heights = np.concatenate([tracks[name, kind][who][..., 2].ravel() for kind in DRAWN])
                bins = np.linspace(0, 1.6, 81)
                ax.hist(heights, bins, density=True, histtype="stepfilled", color=color, alpha=0.5, label=label)
            if name == "ant":
                ax.axvline(FALLEN, color="0.3", linewidth=0.8, linestyle="--")
            ax.set_title("torso height, all three", loc="left")
            ax.set(xlabel="height (m)", ylabel="density")
        figure.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.savefig(path, metadata={"Software": None})


def _tracks(robot: Robot, kind: str, recorded: dict[str, Array]) -> tuple[Array, Array]:
    """Where torsos were, ours and PyBullet's."""
    whole = our_motion(robot, kind, 0, recorded)
    ours = Motion(*(part[:, :: STRIDE[kind]] for part in whole))
    theirs = Motion(*(recorded[f"{robot.name}/{kind}/{part}"].astype(float) for part in ("qpos", "qvel")))
    place = [np.stack(robot.torso(*motion).position, axis=-1) for motion in (ours, theirs)]
    return place[0], place[1]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--body", default="paper", choices=BODIES)
    parser.add_argument("--rounds", type=int, default=0, help="measure speed so many times")
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    parser.add_argument("--picture", type=Path, default=None, help="draw where torsos went")
    return parser.parse_args()


if __name__ == "__main__":
    main()
