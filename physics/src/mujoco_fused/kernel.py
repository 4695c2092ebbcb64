"""Programs as Warp kernels, one thread per world: for CUDA by NVIDIA's runtime compiler, for CPUs by Warp's own."""

import atexit
import functools
import hashlib
import linecache
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from mujoco_fused.errors import MissingPackageError

BLOCK = 32
"""Threads per block on a GPU: a world needs most of the registers that a thread may have."""


@functools.cache
def warp() -> Any:
    """The module `warp`, imported and started when something is compiled for the first time."""
    try:
        import warp as module
    except ImportError as error:
        raise MissingPackageError("Compiling a model", "warp-lang", "'mujoco-fused[warp]'") from error
    module.config.log_level = module.LOG_ERROR  # it would report every program that it loads
    # Its word on standard error that there is no GPU is left out: on a CPU that is nothing new.
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        notice = _start(module)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
    if notice:
        warnings.warn(notice, stacklevel=3)
    return module


def _start(module: Any) -> str:
    """Start Warp, with a temporary folder for compiled programs where its own cannot be written, which is told."""
    try:
        module.init()
        if os.access(module.config.kernel_cache_dir, os.W_OK):
            return ""
        error = "it is read-only"
    except OSError as raised:
        error = raised.strerror or str(raised)
    refused = module.config.kernel_cache_dir
    # Of a new name that is ours alone: programs found in it are run.
    module.config.kernel_cache_dir = tempfile.mkdtemp(prefix="mujoco-fused-")
    atexit.register(shutil.rmtree, module.config.kernel_cache_dir, ignore_errors=True)
    module.init()
    text = f"Warp cannot keep compiled programs in {refused}: {error}. They go to {module.config.kernel_cache_dir}, and"
    return f"{text} are compiled anew each time. WARP_CACHE_PATH names a folder that can be written."


def jax() -> Any:
    """The module `jax`, imported when it is used."""
    try:
        import jax as module
    except ImportError as error:
        raise MissingPackageError("A function inside of JAX's programs", "jax", "'mujoco-fused[jax]'") from error
    return module


def read_row(size: int, own: str, array: str) -> str:
    """A loop that copies a world's row of an argument into an array of its thread."""
    return f"for (int i = 0; i < {size}; i++) {own}[i] = {array}.data[(size_t)tid * {size} + i];\n" if size else ""


def write_row(size: int, array: str, own: str) -> str:
    """A loop that copies an array of a thread into its world's row of an argument."""
    return f"for (int i = 0; i < {size}; i++) {array}.data[(size_t)tid * {size} + i] = {own}[i];\n" if size else ""


def make_kernel(name: str, text: str, types: dict[str, Any], *, fuse: bool = True, threads: int = BLOCK) -> Any:
    """A Warp kernel whose threads run a C++ text.

    Args:
        name: of the kernel; the text's hash is appended, as Warp tells programs apart, also those of earlier runs, by
            name.
        text: statements on the arguments and the thread's number ``tid``. It begins with a `prelude` and ends with the
            `epilogue`.
        types: of the arguments, by name, in their order.
        fuse: whether a product and a sum may be rounded at once, which is faster, and not what WebAssembly does. A GPU
            then also divides without correcting the last digit, which would be a quarter of a cheetah's program. Nan
            stays nan: CUDA's fast math, unlike that of C++ compilers, does not assume that there is none.
        threads: per block on a GPU.
    """
    wp = warp()
    plain = re.sub(r"\W", "_", name)  # a file's name may have any letters
    unique = f"{plain}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    scope = _written(unique, types)
    scope["native"] = wp.func_native(text)(scope["native"])
    options: dict[str, Any] = {"fuse_fp": fuse, "fast_math": fuse}
    if fuse:  # Warp's option counts on a GPU alone. A module's flags replace those of the configuration.
        options["cpu_compiler_flags"] = f"{wp.config.cpu_compiler_flags or '-march=native'} -ffp-contract=fast"
    whole = scope["whole"]
    return wp.kernel(whole, module="unique", enable_backward=False, launch_bounds=(threads, 1), module_options=options)


def _written(name: str, types: dict[str, Any]) -> dict[str, Any]:
    """Two functions of the arguments: ``native``, whose body a text replaces, and ``whole``, which calls it.

    Warp reads the source of functions, so they have one, and lists of arguments are written once.
    """
    names, file = ", ".join(types), f"<{name}>"
    source = f"def native({names}, tid): ...\ndef whole({names}): native({names}, wp.tid())\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope: dict[str, Any] = {"wp": warp(), "__name__": __name__}
    exec(compile(source, file, "exec"), scope)
    for function, own, annotations in (("native", f"native_{name}", {**types, "tid": int}), ("whole", name, types)):
        scope[function].__name__ = scope[function].__qualname__ = own
        scope[function].__annotations__ = annotations
    return scope


def load_kernel(kernel: Any, device: str) -> Any:
    """A kernel, compiled for a device: before several threads, or a program of JAX's, call it."""
    kernel.module.load(warp().get_device(device), 1 if device == "cpu" else BLOCK)
    return kernel


def jax_function(kernel: Any, num_outputs: int, threads: int = BLOCK) -> Callable[..., Any]:
    """A kernel as a function of JAX's arrays, also inside of `jax.jit`, `jax.lax.scan` and `jax.vmap`.

    Args:
        kernel: what `make_kernel` made; its last arguments are outputs.
        num_outputs: how many of them.
        threads: per block on a GPU, as the kernel was made for.

    Returns:
        A function of the kernel's inputs, with ``output_dims``, the shapes of outputs by name, and ``launch_dims``, the
        number of threads.
    """

    @functools.cache  # made once, and not before the first call: steps in NumPy need none of JAX's devices
    def call() -> Callable[..., Any]:
        block = threads if jax().default_backend() == "gpu" else None
        function: Callable[..., Any] = warp().jax_kernel(kernel, num_outputs, block_dim=block)
        return function

    def function(*arrays: Any, **sizes: Any) -> Any:
        return call()(*arrays, **sizes)

    return function
