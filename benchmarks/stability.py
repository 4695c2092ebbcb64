"""How often simulations break down, by solver setting and kind of torques, and how fast the robots get.

Episodes never end early here, and nothing is left out: the worst a policy could do to the physics. "Broken" is what
`is_plausible` notices; "unnoticed" are others that were under the floor, or had a joint that spun or was torn.

- random: new torques, uniform in +-1, at every control step.
- bang-bang: full torque one way or the other, each motor switching with probability 0.1 per control step.
- pumping: full torque along each joint's own motion, which puts energy in as fast as the motors can.

    python benchmarks/stability.py --task ant --members 400 --engine fused
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco_fused as fused
import numpy as np
from mujoco.batch import Batch
from mujoco_fused import State

from evolvability.tasks.robots.observations import MAX_SPEED, is_plausible
from evolvability.tasks.robots.paper import BODIES, ROBOTS
from evolvability.tasks.robots.robot import Robot

Array = np.ndarray[Any, Any]
Advance = Callable[[Array, Array], tuple[Array, Array]]
TORN, SPINNING = 1.0, 200.0
"""Radians beyond a joint's range, and radians per second, that no sound joint reaches."""
TORQUES = ("random", "bang-bang", "pumping")
SETTINGS = ((1, 4), (2, 6), (4, 8), (8, 12), (100, 50))


def main() -> None:
    options = _arguments()
    rows = []
    print(f"{options.task}, engine {options.engine}, {options.members} episodes of {options.steps} control steps")
    for iterations, line_search in options.settings or SETTINGS:
        robot = ROBOTS[options.task](options.body, (iterations, line_search))
        for kind in options.torques:
            found = _episodes(robot, options.engine, kind, options.members, options.steps)
            row = {"solver": [iterations, line_search], "torques": kind, **found}
            rows.append(row)
            print(
                f"solver {iterations:>3}/{line_search:<3} {kind:<10} broken {row['broken']:>5}, "
                f"unnoticed {row['unnoticed']:>4}   fastest torso: "
                f"median {row['speed_median']:6.2f}, most {row['speed_max']:8.2f} m/s   "
                f"highest {row['height_max']:6.2f} m   distance {row['distance_median']:6.2f} m",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps({"task": options.task, "engine": options.engine, "rows": rows}, indent=1))


def _episodes(robot: Robot, engine: str, kind: str, num_members: int, num_steps: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    size = num_members, robot.num_joints
    advance, qvel = ENGINES[engine](robot, 0.01 * random.normal(size=size))
    torques = np.sign(random.normal(size=size))
    good, strange = np.ones(num_members, bool), np.zeros(num_members, bool)
    top, highest = np.zeros(num_members), np.zeros(num_members)
    for _ in range(num_steps):
        torques = _torques(kind, random.random(size), torques, qvel[:, -robot.num_joints :])
        qpos, qvel = advance(torques, good)
        torso = robot.torso(qpos, qvel)
        good &= is_plausible(torso, qpos, qvel)
        strange |= _strange(robot, qpos, qvel)
        top = np.fmax(top, np.linalg.norm(torso.velocity, axis=0))
        highest = np.fmax(highest, torso.position[2])
    distance = np.linalg.norm(qpos[good][:, : len(robot.behavior)], axis=1)
    return {
        "broken": int((~good).sum()),
        "unnoticed": int((good & strange).sum()),
        "speed_median": float(np.median(np.minimum(top, MAX_SPEED))),
        "speed_max": float(np.minimum(top, MAX_SPEED).max()),
        "height_max": float(highest.max()),
        "distance_median": float(np.median(distance)),
    }


def _torques(kind: str, chance: Array, last: Array, speeds: Array) -> Array:
    """Torques of one control step from uniform random numbers, the torques before, and the joints' speeds."""
    if kind == "random":
        return 2 * chance - 1
    if kind == "bang-bang":
        return np.where(chance < 0.1, -last, last)
    return np.where(speeds >= 0, 1.0, -1.0)


def _strange(robot: Robot, qpos: Array, qvel: Array) -> Array:
    """(num_members,) whether a robot is under the floor, or one of its joints spins or is torn."""
    joints, speeds = qpos[:, -robot.num_joints :], qvel[:, -robot.num_joints :]
    low, high = robot.joint_range.T
    torn = ((joints < low - TORN) | (joints > high + TORN)).any(axis=1)
    return torn | (abs(speeds) > SPINNING).any(axis=1) | (robot.torso(qpos, qvel).position[2] < 0)


def _mujoco(robot: Robot, speeds: Array) -> tuple[Advance, Array]:
    batch = Batch(robot.model, len(speeds))
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
    qpos[:] = robot.start
    qvel[:, -robot.num_joints :] = speeds

    def advance(torques: Array, running: Array) -> tuple[Array, Array]:
        ctrl[:] = torques
        batch.step(np.flatnonzero(running), nstep=robot.steps_per_control)
        return qpos, qvel

    return advance, qvel


def _fused(robot: Robot, speeds: Array) -> tuple[Advance, Array]:
    step = fused.compile(robot.model, num_steps=robot.steps_per_control)
    state = fused.start(robot.model, len(speeds), np.tile(robot.start, (len(speeds), 1)))
    state.qvel[:, -robot.num_joints :] = speeds

    def advance(torques: Array, running: Array) -> tuple[Array, Array]:
        nonlocal state
        after, _ = step(state, torques)
        # As they were when they broke down.
        state = State(*(np.where(running[:, None], new, old) for new, old in zip(after, state, strict=True)))
        return state.qpos, state.qvel

    return advance, state.qvel


ENGINES: dict[str, Callable[[Robot, Array], tuple[Advance, Array]]] = {"fused": _fused, "mujoco": _mujoco}
"""What begins episodes at given speeds of the joints: a function that advances those that run, and all velocities."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="ant", choices=sorted(ROBOTS))
    parser.add_argument("--body", default="paper", choices=BODIES)
    parser.add_argument("--engine", default="fused", choices=sorted(ENGINES))
    parser.add_argument("--members", type=int, default=400)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--torques", nargs="+", default=TORQUES, choices=TORQUES)
    parser.add_argument(
        "--settings",
        nargs="+",
        type=lambda text: tuple(int(part) for part in text.split("/")),
        help="solver iterations/line-search iterations, e.g. 2/6 4/8",
    )
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
