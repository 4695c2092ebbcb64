"""Our robots beside PyBullet's, the paper's simulator: how fast they are stepped, and how the same actions move them.

Speed: control steps per second of CPU time, a network of the paper's size included: PyBullet's environments in one
process a core, and the engine mujoco on as many threads, in turns, so that both meet the same load.

Motion: the same actions, shares of each motor's limit, joint by joint, in episodes that never end early.

- random: new actions, uniform in +-1, at every control step.
- bang-bang: full torque one way or the other, each motor switching with probability 0.1 a control step.
- gait: a sine a motor, of one frequency an episode (0.5 to 3 Hz) and of random phases and amplitudes.

    pip install -e '.[locomotion,bullet]'
    python benchmarks/bullet.py --output results/benchmarks/bullet-cpu.json --picture docs/assets/bullet.png
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
from typing import Any, NamedTuple

import jax
import numpy as np
from mujoco.batch import Batch

from evolvability import make_task, normal
from evolvability.config.schema import layered
from evolvability.tasks.observations import slowed
from evolvability.tasks.robots import ROBOTS, Robot

CONTROL_STEP = 0.0165  # seconds

ENVIRONMENTS = {"cheetah": "HalfCheetahBulletEnv-v0", "ant": "AntBulletEnv-v0"}
KINDS = ("random", "bang-bang", "gait")
FALLEN = 0.26
"""An ant's torso below this height has fallen, in PyBullet as with us."""
HIDDEN = 256

Array = np.ndarray[Any, Any]


class Motion(NamedTuple):
    """What episodes looked like: (num_episodes, num_steps + 1, 3) the torso's place, (..., num_joints) joint speeds."""

    torso: Array
    joint_speed: Array


def main() -> None:
    options = _arguments()
    report: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "speed": {}, "robots": {}, "motion": {}}
    tracks: dict[tuple[str, str], tuple[Motion, Motion]] = {}
    with ProcessPoolExecutor(report["cores"], get_context("spawn")) as workers:
        for name in ENVIRONMENTS:
            report["speed"][name] = speed(name, options.rounds, report["cores"], workers)
            print(name, report["speed"][name], flush=True)
            robot = ROBOTS[name]()
            report["robots"][name] = {"ours": facts(robot), "bullet": workers.submit(bullet_facts, name).result()}
            print(report["robots"][name], flush=True)
            for kind in KINDS:
                actions = make_actions(kind, options.episodes, options.steps, robot.num_joints)
                parts = np.array_split(actions, report["cores"])
                of_bullet = [workers.submit(bullet_motion, name, part) for part in parts]
                bullet = Motion(
                    *(np.concatenate(leaves) for leaves in zip(*(m.result() for m in of_bullet), strict=True))
                )
                tracks[name, kind] = motion(robot, actions), bullet
                rows = {
                    who: summary(name, moved) for who, moved in zip(("ours", "bullet"), tracks[name, kind], strict=True)
                }
                report["motion"][f"{name}, {kind}"] = rows
                print(name, kind, json.dumps(rows, indent=1), flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    if options.picture:
        draw(tracks, options.picture)


def make_actions(kind: str, num_episodes: int, num_steps: int, num_joints: int) -> Array:
    """(num_episodes, num_steps, num_joints) in +-1."""
    random = np.random.default_rng(KINDS.index(kind))
    shape = (num_episodes, num_steps, num_joints)
    if kind == "random":
        return random.uniform(-1, 1, shape)
    if kind == "bang-bang":
        switched = np.cumsum(random.random(shape) < 0.1, axis=1)
        return (-1.0) ** (switched + random.integers(2, size=(num_episodes, 1, num_joints)))
    times = CONTROL_STEP * np.arange(num_steps)[:, None]
    frequency = random.uniform(0.5, 3, (num_episodes, 1, 1))
    phase, amplitude = random.uniform(0, 1, (2, num_episodes, 1, num_joints))
    return amplitude * np.sin(2 * np.pi * (frequency * times + phase))


def motion(robot: Robot, actions: Array) -> Motion:
    """The motion of our robot; actions in the order of its joints."""
    batch = Batch(robot.model, len(actions))
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
    qpos[:] = robot.start
    order = _joint_of_motor(robot)
    torso, speeds = [np.stack(robot.torso(qpos, qvel).position, axis=-1)], []
    for step in range(actions.shape[1]):
        ctrl[:] = actions[:, step][:, order]
        batch.step(None, nstep=robot.steps_per_control)
        qvel[:] = slowed(robot, qpos, qvel)
        torso.append(np.stack(robot.torso(qpos, qvel).position, axis=-1))
        speeds.append(qvel[:, -robot.num_joints :].copy())
    return Motion(np.stack(torso, axis=1), np.stack(speeds, axis=1))


def bullet_motion(name: str, actions: Array) -> Motion:
    """The motion of PyBullet's robot."""
    environment = _environment(name)
    torso: list[list[Array]] = []
    speeds: list[list[Array]] = []
    for episode in actions:
        environment.reset(seed=0)
        robot = environment.robot
        torso.append([np.array(robot.body_real_xyz)])
        speeds.append([])
        for action in episode:
            environment.step(action)
            torso[-1].append(np.array(robot.body_real_xyz))
            speeds[-1].append(10 * robot.joint_speeds)  # it keeps a tenth
    return Motion(np.array(torso), np.array(speeds))


def summary(name: str, motion: Motion) -> dict[str, float]:
    """A few numbers about episodes: medians over them, and the share that fell."""
    path = motion.torso - motion.torso[:, :1]
    distance = np.linalg.norm(path[:, -1, : 1 if name == "cheetah" else 2], axis=1)
    velocity = np.diff(motion.torso, axis=1) / (CONTROL_STEP)
    height = motion.torso[..., 2]
    return {
        "distance_median": float(np.median(distance)),
        "distance_max": float(np.max(distance)),
        "height_median": float(np.median(height)),
        "height_1_percent": float(np.quantile(height, 0.01)),
        "height_99_percent": float(np.quantile(height, 0.99)),
        "torso_speed_rms": float(np.sqrt(np.mean(np.sum(velocity**2, axis=-1)))),
        "joint_speed_rms": float(np.sqrt(np.mean(motion.joint_speed**2))),
        "joint_speed_99_percent": float(np.quantile(np.abs(motion.joint_speed), 0.99)),
        "share_fallen": float(np.mean((height < FALLEN).any(axis=1))),
    }


def facts(robot: Robot) -> dict[str, Any]:
    """Our robot's motors (N m, in the order of joints) and mass (kg)."""
    limits = np.empty(robot.num_joints)
    limits[_joint_of_motor(robot)] = robot.model.actuator_gear[:, 0]
    return {"motors": limits.tolist(), "mass": float(robot.model.body_mass.sum())}


def bullet_facts(name: str) -> dict[str, Any]:
    """The same of PyBullet's robot."""
    environment = _environment(name)
    environment.reset(seed=0)
    joints = environment.robot.ordered_joints
    client, body = environment._p, joints[0].bodies[joints[0].bodyIndex]
    links = range(-1, client.getNumJoints(body))
    return {
        "motors": [environment.robot.power * joint.power_coef for joint in joints],
        "mass": sum(client.getDynamicsInfo(body, link)[0] for link in links),
    }


def speed(name: str, rounds: int, cores: int, workers: ProcessPoolExecutor) -> dict[str, float]:
    """Control steps a second of wall time and of CPU time, medians over rounds that take turns."""
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
    environment = _environment(name)
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


def draw(tracks: dict[tuple[str, str], tuple[Motion, Motion]], path: Path) -> None:
    """Where torsos went (left, centers) and how high they were (right), ours and PyBullet's."""
    from evolvability.figures.style import METHOD_COLORS, new_figure, paper_style

    colors = dict(
        zip(("ours", "PyBullet's"), (METHOD_COLORS["max_entropy"], METHOD_COLORS["max_variance"]), strict=True)
    )
    with paper_style():
        figure = new_figure(7.0, 4.2)
        axes = figure.subplots(2, len(KINDS) + 1)
        for row, name in enumerate(ENVIRONMENTS):
            for column, kind in enumerate(KINDS):
                ax = axes[row, column]
                for (who, color), motion in zip(colors.items(), tracks[name, kind], strict=True):
                    moved = motion.torso - motion.torso[:, :1]
                    times = CONTROL_STEP * np.arange(moved.shape[1])
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
                heights = np.concatenate([tracks[name, kind][who].torso[..., 2].ravel() for kind in KINDS])
                bins = np.linspace(0, 1.6, 81)
                ax.hist(heights, bins, density=True, histtype="stepfilled", color=color, alpha=0.5, label=label)
            if name == "ant":
                ax.axvline(FALLEN, color="0.3", linewidth=0.8, linestyle="--")
            ax.set_title("torso height, all three", loc="left")
            ax.set(xlabel="height (m)", ylabel="density")
        figure.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.savefig(path, metadata={"Software": None})


def _environment(name: str) -> Any:
    import gymnasium
    import pybullet_envs_gymnasium  # noqa: F401 (registers the environments)

    return gymnasium.make(ENVIRONMENTS[name]).unwrapped


def _joint_of_motor(robot: Robot) -> Array:
    """(num_joints,) which of the driven joints each motor drives."""
    return robot.model.actuator_trnid[:, 0] - (robot.model.njnt - robot.num_joints)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=20, help="of every kind of actions")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    parser.add_argument("--picture", type=Path, default=None, help="draw where torsos went")
    return parser.parse_args()


if __name__ == "__main__":
    main()
