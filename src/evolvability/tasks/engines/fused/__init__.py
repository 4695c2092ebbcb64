"""MuJoCo's physics, compiled: any supported model as one function that steps a batch of worlds, on CPUs and GPUs.

from evolvability import fused

step = fused.stepper(model)
state = fused.start(model, num_worlds=1000)
state, _ = step(state, controls)  # NumPy's arrays, or JAX's: then under `jax.jit` too
"""

from evolvability.tasks.engines.fused.stepper import State, start, stepper
from evolvability.tasks.engines.fused.tree import UnsupportedModelError

__all__ = ["State", "UnsupportedModelError", "start", "stepper"]
