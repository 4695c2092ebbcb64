"""How often simulations break down, by solver setting and kind of torques, and how fast the robots get.

Episodes never end early here, and nothing is left out: the worst a policy could do to the physics.

- random: new torques, uniform in +-1, at every control step.
- bang-bang: full torque one way or the other, each motor switching with probability 0.1 a control step.
- pumping: full torque along each joint's own motion, which puts energy in as fast as the motors can.

    python benchmarks/stability.py --task ant --members 400 --engine mujoco
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from evolvability.tasks.engines.mjx import simulator
from mujoco.batch import Batch

from evolvability.tasks.observations import MAX_SPEED, is_plausible
from evolvability.tasks.robots import ROBOTS, STEPS_PER_CONTROL, Robot, Solver

TORQUES = ("random", "bang-bang", "pumping")
SETTINGS = ((1, 4), (2, 6), (4, 8), (8, 12), (100, 50))


def main() -> None:
    options = _arguments()
    run = {"mujoco": _native, "mjx": partial(_mjx, "jax"), "warp": partial(_mjx, "warp")}[options.engine]
    rows = []
    print(f"{options.task}, engine {options.engine}, {options.members} episodes of {options.steps} control steps")
    for iterations, line_search in options.settings or SETTINGS:
        robot = ROBOTS[options.task](Solver(iterations, line_search))
        for kind in options.torques:
            broken, speed, height, distance = run(robot, kind, options.members, options.steps)
            row = {
                "solver": [iterations, line_search],
                "torques": kind,
                "broken": int(broken.sum()),
                "speed_median": float(np.median(speed)),
                "speed_max": float(np.max(speed)),
                "height_max": float(np.max(height)),
                "distance_median": float(np.median(distance)),
            }
            rows.append(row)
            print(
                f"solver {iterations:>3}/{line_search:<3} {kind:<10} broken {row['broken']:>5}   fastest torso: "
                f"median {row['speed_median']:6.2f}, most {row['speed_max']:8.2f} m/s   "
                f"highest {row['height_max']:6.2f} m   distance {row['distance_median']:6.2f} m",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps({"task": options.task, "engine": options.engine, "rows": rows}, indent=1))


def _torques(xp: Any, kind: str, chance: Any, last: Any, speeds: Any) -> Any:
    """Torques of one control step from uniform random numbers, the torques before, and the joints' speeds."""
    if kind == "random":
        return 2 * chance - 1
    if kind == "bang-bang":
        return xp.where(chance < 0.1, -last, last)
    return xp.where(speeds >= 0, 1.0, -1.0)


def _native(robot: Robot, kind: str, num_members: int, num_steps: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    batch = Batch(robot.model, num_members)
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
    qpos[:] = robot.start
    qvel[:, -robot.num_joints :] = 0.01 * random.normal(size=(num_members, robot.num_joints))
    torques = np.sign(random.normal(size=ctrl.shape))
    good, top, highest = np.ones(num_members, bool), np.zeros(num_members), np.zeros(num_members)
    for _ in range(num_steps):
        torques = _torques(np, kind, random.random(ctrl.shape), torques, qvel[:, -robot.num_joints :])
        ctrl[:] = torques
        batch.step(np.flatnonzero(good), nstep=STEPS_PER_CONTROL)
        torso = robot.torso(qpos, qvel)
        good &= is_plausible(torso, qpos, qvel)
        top = np.fmax(top, np.linalg.norm(torso.velocity, axis=0))
        highest = np.fmax(highest, torso.position[2])
    return ~good, np.minimum(top, MAX_SPEED), highest, np.linalg.norm(qpos[good][:, : len(robot.behavior)], axis=1)


def _mjx(implementation: str, robot: Robot, kind: str, num_members: int, num_steps: int) -> tuple[Any, ...]:
    begin, advance = simulator(robot, implementation, num_members)

    @partial(jax.jit, static_argnames="length")
    def episodes(key: jax.Array, length: int) -> Any:
        key_start, key_torques = jax.random.split(key)
        physics, buffers = jax.vmap(begin)(jnp.tile(jnp.asarray(robot.start, jnp.float32), (num_members, 1)))
        noise = jax.random.normal(key_start, (num_members, robot.num_joints))
        physics = physics._replace(qvel=physics.qvel.at[:, -robot.num_joints :].set(0.01 * noise))
        zeros = jnp.zeros(num_members)

        def control_step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            physics, buffers, torques, good, top, highest = carry
            chance = jax.random.uniform(key, torques.shape)
            torques = _torques(jnp, kind, chance, torques, physics.qvel[:, -robot.num_joints :])
            new, buffers, _ = jax.vmap(advance)(physics, buffers, torques)
            torso = robot.torso(new.qpos, new.qvel)
            good = good & is_plausible(torso, new.qpos, new.qvel)
            physics = jax.tree.map(lambda new, old: jnp.where(good[:, None], new, old), new, physics)
            top = jnp.fmax(top, jnp.linalg.norm(jnp.stack(torso.velocity), axis=0))
            return (physics, buffers, torques, good, top, jnp.fmax(highest, torso.position[2])), None

        first = (physics, buffers, jnp.sign(noise), jnp.ones(num_members, bool), zeros, zeros)
        physics, _, _, good, top, highest = jax.lax.scan(control_step, first, jax.random.split(key_torques, length))[0]
        return physics, good, top, highest

    physics, good, top, highest = jax.device_get(episodes(jax.random.key(0), num_steps))
    distance = np.linalg.norm(physics.qpos[good][:, : len(robot.behavior)], axis=1)
    return ~good, np.minimum(top, MAX_SPEED), highest, distance


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="ant", choices=sorted(ROBOTS))
    parser.add_argument("--engine", default="mujoco", choices=["mujoco", "mjx", "warp"])
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
