"""One engine's time for one model, as `costs.py` asks for it: a process of its own, which prints one row.

Every engine steps the same worlds from the same states with the same controls, in float32 but for native MuJoCo.
"""

import contextlib
import fcntl
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import mujoco.rollout
import mujoco_fused
import numpy as np
from mujoco_fused.kernel import BLOCK, load_kernel, warp


class Job(NamedTuple):
    """What is to be measured."""

    engine: str
    """A key of `ENGINES`."""
    path: str
    """Of a model's file."""
    touching: bool
    """Whether bodies touch each other, or planes alone."""
    device: str
    """``cpu`` or ``cuda``."""
    num_worlds: int
    """How many are stepped at once."""
    num_steps: int
    """Time steps of one run."""
    num_runs: int
    """The best of which counts."""
    turn: str
    """A file that is locked while a device is timed, since other processes compile at the same time."""
    cache: str
    """A folder for what Warp compiles; empty: a new one, so that everything is compiled."""


class Run(NamedTuple):
    """A compiled model, ready to be timed."""

    run: Callable[[], Any]
    """Steps all worlds from their first states, and waits for the end."""
    compile_s: float
    """Seconds that compiling took."""
    poses: Callable[[], Any]
    """(num_worlds, nq) positions after a run."""


def main() -> None:
    """Measure the job that is the argument, and print its row."""
    job = Job(**json.loads(sys.argv[1]))
    model = prepared(job.path, job.touching)
    if mujoco_fused.unsupported(model):
        return
    run, compile_s, poses = ENGINES[job.engine](job, model)
    with locked(job.turn):
        run()  # what is allocated at the first use is not counted
        microseconds = best(job, run) * 1e6
    row = {
        "model": Path(job.path).stem,
        "dofs": int(model.nv),
        "touching": job.touching,
        "engine": job.engine,
        "device": _name(job.device),
        "worlds": job.num_worlds,
        "steps": job.num_steps,
        "compile_s": round(compile_s, 2),
        "microseconds": float(f"{microseconds:.4g}"),
        "finite": float(np.isfinite(poses()).all(axis=1).mean()),
    }
    print(json.dumps(row), flush=True)


def prepared(path: str, touching: bool) -> mujoco.MjModel:
    """A model whose geoms that touch anything touch each other too, or planes alone."""
    model = mujoco.MjModel.from_xml_path(path)
    is_plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    is_solid = (model.geom_contype | model.geom_conaffinity) > 0
    model.geom_contype[:] = is_solid & (touching | ~is_plane)
    model.geom_conaffinity[:] = is_solid & (touching | is_plane)
    model.body_contype[:], model.body_conaffinity[:] = 1, 1
    return model


def inputs(job: Job, model: mujoco.MjModel) -> tuple[Any, Any, Any]:
    """Poses (num_worlds, nq), velocities (num_worlds, nv) and controls (num_worlds, num_steps, nu)."""
    draw = np.random.default_rng(0)
    poses = np.tile(model.key_qpos[0] if model.nkey else model.qpos0, (job.num_worlds, 1))
    low, high = np.where(model.actuator_ctrllimited[:, None] > 0, model.actuator_ctrlrange, (-1, 1)).T
    controls = draw.uniform(low, high, (job.num_worlds, job.num_steps, model.nu))
    return poses, draw.normal(0, 0.1, (job.num_worlds, model.nv)), controls


def clock(job: Job) -> float:
    """Seconds; on a CPU those that this process was at work, so that what else a machine does counts little."""
    return time.process_time() if job.device == "cpu" else time.perf_counter()


def best(job: Job, run: Callable[[], Any]) -> float:
    """Seconds per time step of one world."""
    found = []
    for _ in range(job.num_runs):
        began = clock(job)
        run()
        found.append(clock(job) - began)
    return min(found) / (job.num_worlds * job.num_steps)


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """While no other process holds the file."""
    with Path(path).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def native(job: Job, model: mujoco.MjModel) -> Run:
    """`mujoco.rollout` on one thread."""
    poses, speeds, controls = inputs(job, model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.zeros((job.num_worlds, size))
    first[:, 1 : 1 + model.nq], first[:, 1 + model.nq : 1 + model.nq + model.nv] = poses, speeds
    data, found = mujoco.MjData(model), list[Any]()

    def run() -> None:
        found[:] = mujoco.rollout.rollout(model, data, first, controls)

    return Run(run, 0.0, lambda: found[0][:, -1, 1 : 1 + model.nq])


def compiled(job: Job, model: mujoco.MjModel) -> Run:
    """The kernel of `mujoco_fused`, one launch per time step."""
    wp = _quiet_warp(job)
    began = clock(job)
    kernel: Any = load_kernel(mujoco_fused.compile(model)._kernel, job.device)
    compile_s = clock(job) - began
    poses, speeds, controls = (np.asarray(array, np.float32) for array in inputs(job, model))
    with wp.ScopedDevice(job.device):
        rows = [wp.array(np.ascontiguousarray(controls[:, k])) for k in range(job.num_steps)]
        first = [wp.array(array) for array in (poses, speeds, 0 * speeds)]
        now, after = ([wp.zeros_like(array) for array in first] for _ in range(2))
        none = [wp.zeros((job.num_worlds, 1), dtype=wp.float32) for _ in range(2)]

    def steps() -> None:
        for source, target in zip(first, now, strict=True):
            wp.copy(target, source)
        from_, to = now, after
        for row in rows:
            arrays = {"inputs": [*from_, row, none[0]], "outputs": [*to, none[1]]}
            wp.launch(
                kernel,
                dim=job.num_worlds,
                block_dim=BLOCK if job.device == "cuda" else 256,
                device=job.device,
                **arrays,
            )
            from_, to = to, from_

    return Run(_captured(wp, job, steps), compile_s, (after if job.num_steps % 2 else now)[0].numpy)


def mujoco_warp(job: Job, model: mujoco.MjModel) -> Run:
    """`mujoco_warp.step`, whose kernels are loaded at the first step; by Newton's method, as it lacks some others."""
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    wp, engine = _quiet_warp(job), importlib.import_module("mujoco_warp")
    poses, speeds, controls = (np.asarray(array, np.float32) for array in inputs(job, model))
    contacts, rows_needed = _room(job, model)
    with wp.ScopedDevice(job.device):
        began = clock(job)
        there = engine.put_model(model)
        data = engine.make_data(model, nworld=job.num_worlds, nconmax=contacts, njmax=rows_needed)
        rows = [wp.array(np.ascontiguousarray(controls[:, k])) for k in range(job.num_steps)]
        first = [wp.array(array) for array in (poses, speeds, 0 * speeds)]
        engine.step(there, data)
        wp.synchronize_device()
        compile_s = clock(job) - began

    def steps() -> None:
        for source, target in zip(first, (data.qpos, data.qvel, data.qacc_warmstart), strict=True):
            wp.copy(target, source)
        for row in rows:
            wp.copy(data.ctrl, row)
            engine.step(there, data)

    return Run(_captured(wp, job, steps), compile_s, data.qpos.numpy)


def mjx(job: Job, model: mujoco.MjModel) -> Run:
    """`mujoco.mjx.step` under `jax.vmap` and `jax.lax.scan`, compiled as a whole; by Newton's method, too."""
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    jax, engine = importlib.import_module("jax"), importlib.import_module("mujoco.mjx")
    poses, speeds, controls = (np.asarray(array, np.float32) for array in inputs(job, model))
    there, one = engine.put_model(model, impl="jax"), engine.make_data(model, impl="jax")
    first = jax.vmap(lambda pose, speed: one.replace(qpos=pose, qvel=speed))(poses, speeds)

    def step(now: Any, row: Any) -> tuple[Any, None]:
        return jax.vmap(lambda world, own: engine.step(there, world.replace(ctrl=own)))(now, row), None

    began = clock(job)
    rows = jax.numpy.asarray(controls.swapaxes(0, 1))
    steps = jax.jit(lambda now, own: jax.lax.scan(step, now, own)[0].qpos).lower(first, rows).compile()
    found = [None]

    def run() -> None:
        found[0] = jax.block_until_ready(steps(first, rows))

    return Run(run, clock(job) - began, lambda: np.asarray(found[0]))


ENGINES: dict[str, Callable[[Job, mujoco.MjModel], Run]] = {
    "compiled": compiled,
    "native": native,
    "mujoco_warp": mujoco_warp,
    "mjx": mjx,
}


def _quiet_warp(job: Job) -> Any:
    """Warp, with no program that was compiled before, but those of a job's own folder."""
    wp = warp()
    wp.config.kernel_cache_dir = job.cache or tempfile.mkdtemp(prefix="costs-")
    return wp


def _captured(wp: Any, job: Job, steps: Callable[[], None]) -> Callable[[], None]:
    """On a GPU all launches of a run as one graph."""
    if job.device == "cpu":
        return steps
    with wp.ScopedDevice(job.device):
        steps()  # a graph holds nothing that is yet to be compiled or allocated
        with wp.ScopedCapture() as capture:
            steps()

    def run(held: Any = steps) -> None:  # a graph does not keep alive the arrays that it works on
        wp.capture_launch(capture.graph)
        wp.synchronize_device(job.device)

    return run


def _room(job: Job, model: mujoco.MjModel) -> tuple[int, int]:
    """Contacts and rows of constraints for which a world gets room: twice what native worlds come to have."""
    poses, speeds, controls = inputs(job._replace(num_worlds=8), model)
    data, contacts, rows = mujoco.MjData(model), 8, 32
    for world in range(8):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = poses[world], speeds[world]
        for row in controls[world]:
            data.ctrl[:] = row
            mujoco.mj_step(model, data)
            contacts, rows = max(contacts, data.ncon), max(rows, data.nefc)
    return 2 * contacts, 2 * rows


def _name(device: str) -> str:
    return "one core" if device == "cpu" else str(warp().get_device(device).name)


if __name__ == "__main__":
    main()
