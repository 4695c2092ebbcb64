"""What compiled physics costs on one core, beside `mujoco.rollout`: seconds to compile, microseconds per time step.

    python physics/costs.py [MODEL.xml ...] > physics/COSTS.md

Default: Gymnasium's robots. Each is measured as its file has it, and without contacts between its own bodies. Times are
those that the thread was at work, the best of several runs; what else a machine does counts little.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import mujoco.rollout
import mujoco_fused
import numpy as np
import warp as wp
from mujoco_fused.kernel import load_kernel, warp

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ROBOTS = ("hopper", "walker2d_v5", "half_cheetah", "ant", "humanoid")
NUM_WORLDS, NUM_STEPS, NUM_RUNS = 64, 100, 5


def best(run: Callable[[], Any]) -> float:
    """Microseconds per time step."""
    found = []
    for _ in range(NUM_RUNS):
        began = time.thread_time()
        run()
        found.append(time.thread_time() - began)
    return min(found) / (NUM_WORLDS * NUM_STEPS) * 1e6


def inputs(model: mujoco.MjModel) -> tuple[Any, Any, Any]:
    """Poses, velocities and controls: (NUM_WORLDS, ...), controls (NUM_WORLDS, NUM_STEPS, nu)."""
    draw = np.random.default_rng(0)
    poses = np.tile(model.key_qpos[0] if model.nkey else model.qpos0, (NUM_WORLDS, 1))
    low, high = model.actuator_ctrlrange.T
    controls = draw.uniform(low, high, (NUM_WORLDS, NUM_STEPS, model.nu))
    return poses, draw.normal(0, 0.1, (NUM_WORLDS, model.nv)), controls


def native(model: mujoco.MjModel) -> float:
    """Of `mujoco.rollout` on one thread."""
    poses, speeds, controls = inputs(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.zeros((NUM_WORLDS, size))
    first[:, 1 : 1 + model.nq], first[:, 1 + model.nq : 1 + model.nq + model.nv] = poses, speeds
    data = mujoco.MjData(model)
    return best(lambda: mujoco.rollout.rollout(model, data, first, controls))


def compiled(model: mujoco.MjModel) -> tuple[float, float]:
    """Seconds to compile, and microseconds per time step on one thread, in float32."""
    began = time.process_time()
    kernel: Any = load_kernel(mujoco_fused.compile(model)._kernel, "cpu")
    seconds = time.process_time() - began
    poses, speeds, controls = (np.asarray(array, np.float32) for array in inputs(model))
    rows = [wp.array(np.ascontiguousarray(controls[:, k]), device="cpu") for k in range(NUM_STEPS)]
    none = [wp.zeros((NUM_WORLDS, 0), dtype=wp.float32, device="cpu") for _ in range(2)]

    def run() -> None:
        now = [wp.array(array, device="cpu") for array in (poses, speeds, 0 * speeds)]
        after = [wp.zeros_like(array) for array in now]
        for row in rows:
            wp.launch(kernel, dim=NUM_WORLDS, inputs=[*now, row, none[0]], outputs=[*after, none[1]], device="cpu")
            now, after = after, now

    return seconds, best(run)


def alone(model: mujoco.MjModel) -> mujoco.MjModel:
    """A model whose bodies touch planes alone."""
    model = mujoco.MjModel.__copy__(model)
    is_plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    model.geom_contype[:], model.geom_conaffinity[:] = ~is_plane, is_plane
    model.body_contype[:], model.body_conaffinity[:] = 1, 1
    return model


def main() -> None:
    """Measure some models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(ASSETS / f"{name}.xml") for name in ROBOTS])
    warp()  # started, without a word on what it finds
    wp.config.kernel_cache_dir = tempfile.mkdtemp(prefix="costs-")
    print("# Costs\n\nMade by `physics/costs.py`, on one core, in float32.")
    print("RK4, which all but the cheetah have, evaluates a time step four times.\n")
    names = (
        "model",
        "degrees of freedom",
        "its bodies touch",
        "compile, s",
        "compiled, us",
        "`mujoco.rollout`, us",
        "ratio",
    )
    print(f"| {' | '.join(names)} |")
    print("|---|---|---|---|---|---|---|")
    for path in parser.parse_args().paths:
        whole = mujoco.MjModel.from_xml_path(path)
        for name, model in (("as in its file", whole), ("planes alone", alone(whole))):
            if mujoco_fused.unsupported(model):
                continue
            theirs, (seconds, ours) = native(model), compiled(model)
            numbers = f"{seconds:.1f} | {ours:.2f} | {theirs:.1f} | {theirs / ours:.1f}"
            print(f"| {Path(path).stem} | {model.nv} | {name} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
