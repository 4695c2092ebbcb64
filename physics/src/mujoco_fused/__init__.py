"""MuJoCo's physics, compiled: any supported model as one function that steps a batch of worlds, on CPUs and GPUs.

    step = mujoco_fused.stepper(model)
    state = mujoco_fused.start(model, num_worlds=1000)
    state, _ = step(state, controls)  # NumPy's arrays, or JAX's: then under `jax.jit` too

The other names are for programs that embed a model's time steps into kernels of their own.
"""

from mujoco_fused.emission import DOUBLE, FLOAT, Precision, emit, epilogue, prelude
from mujoco_fused.expressions import Tape, literal
from mujoco_fused.kernel import TYPES, in_jax, loaded, made, read, written
from mujoco_fused.sparse import block
from mujoco_fused.stepper import State, start, stepper
from mujoco_fused.symbols import symbols
from mujoco_fused.tree import UnsupportedModelError
from mujoco_fused.webassembly import Compiler, Program

__all__ = [
    "DOUBLE",
    "FLOAT",
    "TYPES",
    "Compiler",
    "Precision",
    "Program",
    "State",
    "Tape",
    "UnsupportedModelError",
    "block",
    "emit",
    "epilogue",
    "in_jax",
    "literal",
    "loaded",
    "made",
    "prelude",
    "read",
    "start",
    "stepper",
    "symbols",
    "written",
]
