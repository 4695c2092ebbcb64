"""Any supported MuJoCo model, stepped in batches from JAX, also inside of a compiled program, or from NumPy."""

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
import warp as wp

from mujoco_fused.kernel import in_jax, loaded, step_kernel


class State(NamedTuple):
    """Worlds in mid-simulation; arrays have the axis (num_worlds,) in front."""

    qpos: Any
    """(num_worlds, nq) positions."""
    qvel: Any
    """(num_worlds, nv) velocities."""
    qacc_warmstart: Any
    """(num_worlds, nv) the last accelerations, from which the solver begins."""


Step = Callable[[State, Any], tuple[State, Any]]


def start(model: mujoco.MjModel, num_worlds: int, qpos: Any = None) -> State:
    """Worlds at rest, in the model's first pose or in given ones, (num_worlds, nq)."""
    poses = np.tile(model.qpos0, (num_worlds, 1)) if qpos is None else np.asarray(qpos)
    still = np.zeros((num_worlds, model.nv), np.float32)
    return State(poses.astype(np.float32), still, still)


def stepper(model: mujoco.MjModel, num_steps: int = 1, watched: Sequence[int] = ()) -> Step:
    """A function ``(state, controls) -> (state, clearance)`` that advances all worlds by the same number of time steps.

    Of JAX's arrays it makes JAX's, under `jax.jit` and `jax.vmap` too, on the device that they are on; of NumPy's,
    NumPy's, on all CPU cores. Physics is MuJoCo's, in float32.

    Args:
        model: free, ball, slide and hinge joints; spheres, capsules and boxes on planes; motors. Of anything else
            `UnsupportedModelError` says what it is.
        num_steps: time steps with the same controls.
        watched: geoms whose height above planes is returned too, (num_worlds, len(watched)), at the beginning of the
            last step.
    """
    kernel = step_kernel(model, num_steps, watched)
    sizes = [model.nq, model.nv, model.nv, len(watched)]
    on_cpu, on_device = _numpy_step(kernel, sizes), _jax_step(kernel, sizes)

    def step(state: State, controls: Any) -> tuple[State, Any]:
        *after, clearance = (on_cpu if isinstance(controls, np.ndarray) else on_device)(*state, controls)
        return State(*after), clearance

    return step


def _jax_step(kernel: wp.Kernel, sizes: list[int]) -> Callable[..., Any]:
    names = ("q_out", "v_out", "w_out", "low")
    call = in_jax(kernel, len(names))

    def step(*arrays: Any) -> list[Any]:
        number = len(arrays[0])
        # Warp knows no output without columns: one that nothing is written to stands for it.
        shapes = {name: (number, max(size, 1)) for name, size in zip(names, sizes, strict=True)}
        arrays = tuple(jnp.asarray(array, jnp.float32) for array in arrays)
        outputs = call(*arrays, output_dims=shapes, launch_dims=number)
        return [output[:, :size] for output, size in zip(outputs, sizes, strict=True)]

    return step


def _numpy_step(kernel: wp.Kernel, sizes: list[int]) -> Callable[..., list[Any]]:
    # macOS cannot bind a process to cores, and does not have the question.
    allowed = getattr(os, "sched_getaffinity", None)
    num_threads = len(allowed(0)) if allowed else os.cpu_count() or 1
    threads = ThreadPoolExecutor(num_threads)  # which begin when there is work for them

    def step(*arrays: Any) -> list[Any]:
        loaded(kernel, "cpu")
        number = len(arrays[0])
        inputs = [np.ascontiguousarray(array, np.float32) for array in arrays]
        outputs = [np.zeros((number, size), np.float32) for size in sizes]

        def launch(part: slice) -> None:
            views = [
                [wp.array(array[part], device="cpu", copy=False) for array in group] for group in (inputs, outputs)
            ]
            wp.launch(kernel, dim=len(inputs[0][part]), inputs=views[0], outputs=views[1], device="cpu")

        bounds = np.linspace(0, number, num_threads + 1).astype(int)
        list(threads.map(launch, [slice(a, b) for a, b in itertools.pairwise(bounds) if a < b]))
        return outputs

    return step
