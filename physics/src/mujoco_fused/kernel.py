"""Programs as Warp kernels, one thread per world: for CUDA by NVIDIA's runtime compiler, for CPUs by Warp's own."""

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import mujoco
import warp as wp

from mujoco_fused.emission import FLOAT, Precision, emit, epilogue, prelude

wp.config.log_level = wp.LOG_ERROR  # it would report every program that it loads

BLOCK = 32
"""Threads per block on a GPU: a world needs most of the registers that a thread may have."""
TYPES = {"float": wp.float32, "double": wp.float64}


def _initialize() -> None:
    """Start Warp, without its message on standard error that there is no GPU."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        wp.init()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


_initialize()


def step_kernel(
    model: mujoco.MjModel, num_steps: int = 1, watched: Sequence[int] = (), precision: Precision = FLOAT
) -> wp.Kernel:
    """A kernel that advances worlds, one row each of every array, by time steps with the same controls.

    Its arguments: qpos, qvel, the last accelerations and controls, which are read; the first three after the time
    steps and the clearance of watched geoms (`emit`), which are written.
    """

    def native(
        qpos: Any, qvel: Any, warm: Any, ctrl: Any, q_out: Any, v_out: Any, w_out: Any, low: Any, tid: Any
    ) -> None: ...

    def whole(qpos: Any, qvel: Any, warm: Any, ctrl: Any, q_out: Any, v_out: Any, w_out: Any, low: Any) -> None:
        native(qpos, qvel, warm, ctrl, q_out, v_out, w_out, low, wp.tid())

    rows = wp.array2d(dtype=TYPES[precision.name])
    types = dict.fromkeys(("qpos", "qvel", "warm", "ctrl", "q_out", "v_out", "w_out", "low"), rows)
    sizes = {"q": model.nq, "v": model.nv, "w": model.nv, "u": model.nu}
    sources = {"q": "qpos", "v": "qvel", "w": "warm", "u": "ctrl"}
    text = f"R clearance[{max(len(watched), 1)}];\n"
    for name, size in sizes.items():
        text += f"R {name}[{max(size, 1)}];\n" + read(size, name, sources[name])
    text += emit(model, num_steps, watched)
    for name in "qvw":
        text += written(sizes[name], f"{name}_out", name)
    text += written(len(watched), "low", "clearance")
    return made(f"step_{precision.name}", prelude(precision) + text + epilogue(), types, native, whole)


def read(size: int, own: str, array: str) -> str:
    """A loop that copies a world's row of an argument into an array of its thread."""
    return f"for (int i = 0; i < {size}; i++) {own}[i] = {array}.data[(size_t)tid * {size} + i];\n" if size else ""


def written(size: int, array: str, own: str) -> str:
    """The way back."""
    return f"for (int i = 0; i < {size}; i++) {array}.data[(size_t)tid * {size} + i] = {own}[i];\n" if size else ""


def made(
    name: str,
    text: str,
    types: dict[str, Any],
    native: Callable[..., None],
    whole: Callable[..., None],
    *,
    fuse: bool = True,
    threads: int = BLOCK,
) -> wp.Kernel:
    """A kernel ``whole`` with arguments of the given types, whose function ``native`` is a C++ text.

    ``fuse`` lets a product and a sum be rounded at once, which is faster, and not what WebAssembly does; a GPU also
    divides without correcting the last digit, which would be a quarter of a cheetah's program. Nan stays nan: CUDA's
    fast math, unlike that of C++ compilers, does not assume that there is none. A block has ``threads`` on a GPU. Names
    have the text's hash, as Warp tells programs apart, also those of earlier runs, by name.
    """
    unique = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    native.__annotations__, whole.__annotations__ = {**types, "tid": int}, types
    native.__name__ = native.__qualname__ = f"native_{unique}"
    function: Any = wp.func_native(text)(native)
    # The kernel's own source says `native`: what that means there is what its closure holds.
    assert whole.__closure__ is not None
    whole.__closure__[0].cell_contents = function
    whole.__name__ = whole.__qualname__ = unique
    options = {"fuse_fp": fuse, "fast_math": fuse}
    return wp.kernel(whole, module="unique", enable_backward=False, launch_bounds=(threads, 1), module_options=options)


def loaded(kernel: wp.Kernel, device: str) -> wp.Kernel:
    """A kernel that is compiled for a device: before several threads, or a program of JAX's, call it."""
    kernel.module.load(wp.get_device(device), 1 if device == "cpu" else BLOCK)
    return kernel


def in_jax(kernel: wp.Kernel, num_outputs: int, threads: int = BLOCK) -> Callable[..., Any]:
    """A kernel as a function inside of JAX's programs; on a GPU a block has ``threads``."""

    @functools.cache  # made once, and not before the first call: steps in NumPy need none of JAX's devices
    def call() -> Callable[..., Any]:
        return wp.jax_kernel(kernel, num_outputs, block_dim=threads if jax.default_backend() == "gpu" else None)

    def function(*arrays: Any, **sizes: Any) -> Any:
        return call()(*arrays, **sizes)

    return function
