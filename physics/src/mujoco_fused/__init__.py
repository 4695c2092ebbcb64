"""MuJoCo's physics, compiled: any supported model as one function that steps a batch of worlds, on CPUs and GPUs.

    step = mujoco_fused.compile(model)
    state = mujoco_fused.start(model, num_worlds=1000)
    state, _ = step(state, controls)  # NumPy's arrays, or JAX's: then under `jax.jit` too

To embed a model's time steps into programs of your own: `emit` writes them as C++, `Tape` and `symbols` record more
arithmetic, `make_kernel` compiles a text with Warp, `jax_function` calls it from JAX, and `to_webassembly` makes it a
program for browsers.
"""

from mujoco_fused.arrays import symbols
from mujoco_fused.emission import DOUBLE, FLOAT, Precision, emit, epilogue, prelude
from mujoco_fused.errors import FusedError, MissingPackageError, ShapeError, UnsupportedModelError
from mujoco_fused.expressions import Tape, literal, within
from mujoco_fused.kernel import jax_function, load_kernel, make_kernel, read_row, write_row
from mujoco_fused.moments import Frame, Kinematics
from mujoco_fused.pairs import LEAST_FRICTION, needs_double
from mujoco_fused.pairs import pairs as contact_pairs
from mujoco_fused.parameters import NAMES as PARAMETERS
from mujoco_fused.parameters import own_parameters
from mujoco_fused.sensing import num_watched
from mujoco_fused.sparse import block
from mujoco_fused.stepping import State, Step, compile, start
from mujoco_fused.support import unsupported
from mujoco_fused.verification import Verified, verify
from mujoco_fused.webassembly import Program, to_webassembly

__all__ = [
    "DOUBLE",
    "FLOAT",
    "LEAST_FRICTION",
    "PARAMETERS",
    "Frame",
    "FusedError",
    "Kinematics",
    "MissingPackageError",
    "Precision",
    "Program",
    "ShapeError",
    "State",
    "Step",
    "Tape",
    "UnsupportedModelError",
    "Verified",
    "block",
    "compile",
    "contact_pairs",
    "emit",
    "epilogue",
    "jax_function",
    "literal",
    "load_kernel",
    "make_kernel",
    "needs_double",
    "num_watched",
    "own_parameters",
    "prelude",
    "read_row",
    "start",
    "symbols",
    "to_webassembly",
    "unsupported",
    "verify",
    "within",
    "write_row",
]
