"""Bare physics of one robot by four simulators, as a function of how many: fused, MuJoCo-Warp, MuJoCo and PyBullet.

All step the robot under the same controls, sines that cost nothing. fused and MuJoCo-Warp run on the GPU where there is
one, the other two on all CPU cores. PyBullet has its own body of the same name. What is not installed is left out, and
what is not named by --simulators. A control step is several of the model's time steps: both rates are told.

    pip install mujoco-warp pybullet_envs_gymnasium
    python benchmarks/simulators.py --tasks cheetah --robots 1000 10000 100000 --output simulators.json
    python benchmarks/simulators.py --tasks humanoid quadruped --robots 8192 --steps 100 --simulators fused
"""

import argparse
import copy
import importlib.util
import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import rollout
from mujoco_fused import State, compile

from evolvability import make_task
from evolvability.core.cores import num_cores
from evolvability.tasks.robots.robot import Robot

# The package that a simulator needs.
NEEDS = {"fused": "warp", "MuJoCo-Warp": "mujoco_warp", "MuJoCo": "mujoco", "PyBullet": "pybullet_envs_gymnasium"}
FREQUENCY = 0.1  # of the torques, in radians per control step


def main() -> None:
    options = _arguments()
    rows = []
    for task in options.tasks:
        stage = make_task(task, {"engine": "mujoco"}).stage  # any engine: it is the robot that is needed
        assert stage is not None
        for number in options.robots:
            for name, rate in measured(stage.robot, number, options).items():
                rates = {
                    "control_steps_per_second": rate,
                    "time_steps_per_second": rate * stage.robot.steps_per_control,
                }
                rows.append({"task": task, "robots": number, "simulator": name, **rates})
                told = " and ".join(f"{value:>14,.0f} {key.replace('_', ' ')}" for key, value in rates.items())
                print(f"{task:10} {number:>8,} {name:12} {told}", flush=True)
    if options.output:
        about = {
            "device": jax.devices()[0].device_kind,
            "cores": num_cores(),
            "options": vars(options) | {"output": None},
        }
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def measured(robot: Robot, number: int, options: argparse.Namespace) -> dict[str, float]:
    """Control steps per second of each simulator that is asked for and installed; of the fastest of its runs."""
    num_steps = options.steps
    ways: dict[str, Callable[[Robot, int, int], Any]] = {
        "fused": fused,
        "MuJoCo-Warp": mujoco_warp,
        "MuJoCo": native,
        "PyBullet": bullet,
    }
    rates = {}
    for name, make in ways.items():
        if name not in options.simulators or importlib.util.find_spec(NEEDS[name]) is None:
            continue
        # On CPU cores thousands of robots take as long as a thousand, each.
        few = min(number, 1000 if name == "MuJoCo" else num_cores()) if name in ("MuJoCo", "PyBullet") else number
        run = make(robot, few, num_steps)
        run()  # compiles
        rates[name] = few * num_steps / min(_seconds(run) for _ in range(options.rounds))
    return rates


def _seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def fused(robot: Robot, number: int, num_steps: int) -> Callable[[], Any]:
    """Inside of one program of JAX's."""
    advance = compile(robot.model, num_steps=robot.steps_per_control, watched=robot.watched)
    phase = jnp.asarray(_phase(robot, number))

    def once(state: State, step: jax.Array) -> tuple[State, None]:
        return advance(state, robot.actions(jnp.sin(phase + FREQUENCY * step)))[0], None

    still = jnp.zeros((number, robot.model.nv))
    first = State(jnp.tile(jnp.asarray(robot.start, jnp.float32), (number, 1)), still, still)
    run = jax.jit(lambda first: jax.lax.scan(once, first, jnp.arange(num_steps, dtype=jnp.float32))[0].qpos)
    return lambda: jax.block_until_ready(run(first))


def mujoco_warp(robot: Robot, number: int, num_steps: int) -> Callable[[], Any]:
    """A control step as a graph of kernels, where there is a GPU."""
    import mujoco_warp as mjw
    import warp as wp

    allowed = copy.copy(robot.model)
    allowed.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # which it refuses
    start = mujoco.MjData(allowed)
    start.qpos[:] = robot.start
    mujoco.mj_forward(allowed, start)
    # Room for every contact that a robot on a plane can have: two per capsule, four rows each.
    most = 2 * robot.model.ngeom
    model, data = mjw.put_model(allowed), mjw.put_data(allowed, start, number, most, njmax=5 * most)
    phase, step = wp.array(_phase(robot, number), dtype=float), wp.zeros(1, dtype=float)
    middle, half = (wp.array(part, dtype=float) for part in (robot.actions.middle, robot.actions.half))

    @wp.kernel
    def control(  # type: ignore[no-untyped-def]
        phase: wp.array2d(dtype=float),  # type: ignore[valid-type]
        step: wp.array(dtype=float),  # type: ignore[valid-type]
        middle: wp.array(dtype=float),  # type: ignore[valid-type]
        half: wp.array(dtype=float),  # type: ignore[valid-type]
        ctrl: wp.array2d(dtype=float),  # type: ignore[valid-type]
    ):
        world, motor = wp.tid()
        ctrl[world, motor] = middle[motor] + half[motor] * wp.sin(phase[world, motor] + wp.static(FREQUENCY) * step[0])

    @wp.kernel
    def tick(step: wp.array(dtype=float)):  # type: ignore[valid-type]
        step[0] = step[0] + 1.0

    def control_step() -> None:
        wp.launch(control, phase.shape, [phase, step, middle, half, data.ctrl])
        wp.launch(tick, 1, [step])
        for _ in range(robot.steps_per_control):
            mjw.step(model, data)

    control_step()  # compiles
    if wp.get_device().is_cuda:
        with wp.ScopedCapture() as capture:
            control_step()

    def run() -> None:
        for _ in range(num_steps):
            wp.capture_launch(capture.graph) if wp.get_device().is_cuda else control_step()
        wp.synchronize()

    return run


def native(robot: Robot, number: int, num_steps: int) -> Callable[[], Any]:
    """`mujoco.rollout` on all cores."""
    data = mujoco.MjData(robot.model)
    data.qpos[:] = robot.start
    start = np.zeros(mujoco.mj_stateSize(robot.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(robot.model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    steps = np.arange(num_steps)[:, None]
    waves = np.sin(_phase(robot, number)[:, None] + FREQUENCY * steps)
    controls = robot.actions(waves).repeat(robot.steps_per_control, axis=1).astype(float)
    threads = [mujoco.MjData(robot.model) for _ in range(num_cores())]
    return lambda: rollout.rollout(robot.model, threads, np.tile(start, (number, 1)), controls)


def bullet(robot: Robot, number: int, num_steps: int) -> Callable[[], Any]:
    """PyBullet's environments, one process per core."""
    workers = ProcessPoolExecutor(num_cores(), get_context("spawn"))
    actions = np.sin(_phase(robot, number)[:, None] + FREQUENCY * np.arange(num_steps)[:, None])
    parts = [part for part in np.array_split(actions, num_cores()) if len(part)]
    return lambda: list(workers.map(_bullet_steps, [robot.name] * len(parts), parts))


def _bullet_steps(name: str, actions: np.ndarray[Any, Any]) -> None:
    from bullet import bullet_motion

    bullet_motion(name, actions)


def _phase(robot: Robot, number: int) -> np.ndarray[Any, Any]:
    """(number, num_motors) so that no two robots do the same."""
    return np.linspace(0, 6, number)[:, None] + np.arange(robot.num_motors)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["cheetah"])
    parser.add_argument("--robots", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--steps", type=int, default=200, help="control steps of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulators", nargs="+", default=list(NEEDS), choices=list(NEEDS))
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
