"""Fit the paper's bodies to PyBullet: floor, stops, friction, armature, damping and the ant's ankles.

From every state that was recorded of PyBullet (see `bullet_motions.py`) our robot takes the same actions as far as the
next one: 10 control steps, 5 where it falls or slides, 2 where one motor turns in the air. The error is the mean
difference of the two ends, each coordinate in units of the standard deviation of how PyBullet's changed. So short
motions are compared and not chaos. Nelder and Mead's method lowers it from what `paper_bodies.py` has.

    python benchmarks/fit_bodies.py --robot cheetah --evaluations 300 --output results/benchmarks/fit-cheetah.json

With --evaluations 0 it only tells what the fit and its neighbors are worth, also with other time steps.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from bullet_motions import PATH, STEPS, STRIDE, Motion, make_actions, simulate
from scipy.optimize import minimize

from evolvability.tasks.robots.paper import ROBOTS
from evolvability.tasks.robots.paper_bodies import FITS, ContactSettings, Fit
from evolvability.tasks.robots.robot import Robot

Array = np.ndarray[Any, Any]
SETTLED = 3
"""Of long episodes, the states that are left out: joints begin beyond their limits."""
WORST = 3.0
"""What an error counts at most, in standard deviations: a few motions that part must not decide."""


class Windows:
    """Pieces of recorded episodes of one robot: by kind, where they begin and end, and the actions between."""

    def __init__(self, name: str) -> None:
        self.name = name
        recorded, num_joints = np.load(PATH), ROBOTS[name]().num_joints
        self.pieces = []
        for kind in STEPS:
            qpos, qvel = (recorded[f"{name}/{kind}/{part}"].astype(float) for part in ("qpos", "qvel"))
            first = SETTLED if STEPS[kind] > 500 else 0
            actions = make_actions(kind, num_joints, 0)
            actions = actions.reshape(len(actions), -1, STRIDE[kind], num_joints)
            start, end = (
                Motion(*(_joined(part[:, which]) for part in (qpos, qvel)))
                for which in (slice(first, -1), slice(first + 1, None))
            )
            self.pieces.append((kind, start, end, _joined(actions[:, first:])))

    def errors(self, fit: Fit) -> dict[str, float]:
        """By kind, and of all of them."""
        robot = ROBOTS[self.name]("paper", fit=fit)
        found = {}
        for kind, start, end, actions in self.pieces:
            motion = simulate(robot, start, actions)
            ours = Motion(motion.qpos[:, -1], motion.qvel[:, -1])
            before, theirs = _coordinates(robot, start), _coordinates(robot, end)
            off = abs(_coordinates(robot, ours) - theirs) / (np.std(theirs - before, axis=0) + 1e-6)
            found[kind] = float(np.mean(np.minimum(np.nan_to_num(off, nan=WORST), WORST)))
        return found | {"all": float(np.mean(list(found.values())))}


def main() -> None:
    options = _arguments()
    windows, fit = Windows(options.robot), FITS[options.robot]
    if options.evaluations:
        free = _free(fit)
        scale = np.where(free == 0, 0.01, 0.15 * abs(free))
        simplex = free + np.vstack([np.zeros(len(free)), np.diag(scale)])
        settings = {"maxfev": options.evaluations, "initial_simplex": simplex, "adaptive": True}
        found = minimize(lambda x: windows.errors(_with(fit, x))["all"], free, method="Nelder-Mead", options=settings)
        fit = _with(fit, found.x)
    report: dict[str, Any] = {"robot": options.robot, "fit": fit._asdict(), "errors": {}}
    for what, other in {"the fit": fit, **_neighbors(fit)}.items():
        report["errors"][what] = windows.errors(other)
        print(f"{what:36}", {kind: round(error, 4) for kind, error in report["errors"][what].items()}, flush=True)
    print(fit)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def _neighbors(fit: Fit) -> dict[str, Fit]:
    """What one might have taken instead."""
    found = {
        "two time steps of 8.25 ms": fit._replace(steps_per_control=2),
        "eight time steps of 2.0625 ms": fit._replace(steps_per_control=8),
        "friction less by a fifth": fit._replace(friction=0.8 * fit.friction),
        "friction more by a fifth": fit._replace(friction=1.2 * fit.friction),
        "armature more by 0.02 kg m^2": fit._replace(armature=fit.armature + 0.02),
        "damping 0.1 N m s / rad": fit._replace(damping=0.1),
        "stops that push back": fit._replace(stop=fit.stop._replace(stiffness=0.2)),
        "stops that never do": fit._replace(stop=fit.stop._replace(stiffness=0.0)),
    }
    if fit.ankle:
        found["ankles of 250 N m, no armature"] = fit._replace(ankle=250.0, armature=0.0)
        found["ankles of 177 N m, armature 0.67"] = fit._replace(ankle=250 / 2**0.5, armature=0.67)
    return found


def _free(fit: Fit) -> Array:
    """What is fitted, as one vector."""
    contacts = [fit.floor.damping, fit.floor.stiffness, *fit.floor.impedance, fit.stop.damping, fit.stop.stiffness]
    return np.array([*contacts, fit.friction, fit.armature, fit.damping, *([fit.ankle] if fit.ankle else [])])


def _with(fit: Fit, x: Array) -> Fit:
    """A fit with other values, within what MuJoCo takes."""
    damping, stiffness, near, deep, depth, stop_damping, stop_stiffness, *joints = np.maximum(x, 0.0).tolist()
    near, deep = np.clip([near, deep], 0.01, 0.995).tolist()
    friction, armature, joint_damping = joints[:3]
    return fit._replace(
        floor=ContactSettings(damping, stiffness, (near, deep, max(depth, 1e-4))),
        # Its impedance stays: a softer one creeps, which short motions do not show.
        stop=fit.stop._replace(damping=stop_damping, stiffness=stop_stiffness),
        friction=max(friction, 0.01),
        armature=armature,
        damping=joint_damping,
        ankle=joints[3] if fit.ankle else 0.0,
    )


def _coordinates(robot: Robot, motion: Motion) -> Array:
    """(num_pieces, ...) the torso's place, roll, pitch and velocities, the joints' angles and speeds."""
    torso = robot.torso(*motion)
    parts = [*torso.position, torso.roll, torso.pitch]
    return np.concatenate([np.stack(parts, axis=-1), motion.qpos[:, -robot.num_joints :], motion.qvel], axis=-1)


def _joined(array: Array) -> Array:
    return array.reshape(-1, *array.shape[2:])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="cheetah", choices=sorted(ROBOTS))
    parser.add_argument("--evaluations", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
