"""The interference pattern: one parameter, one behavior, and a known most evolvable point."""

import jax.numpy as jnp
from jax import Array

from evolvability.tasks.base import Task
from evolvability.tasks.functions import function_task
from evolvability.tasks.options import InterferenceOptions

# Where the slow factor 5 sin(x/5) is largest, and with it the height of the fast waves.
MOST_EVOLVABLE = 5 * jnp.pi / 2


def pattern(x: Array) -> Array:
    r"""$f(x) = 5 \sin(x/5) \sin(20x)$ (section 5.1): behavior is most sensitive to mutation at $x = 5\pi/2$."""
    return 5 * jnp.sin(x / 5) * jnp.sin(20 * x)


def interference(options: InterferenceOptions = InterferenceOptions()) -> Task:  # noqa: B008 (frozen)
    """The paper's first task. Its fitness, for standard ES, is the behavior itself."""

    def behavior(x: Array) -> tuple[Array, Array]:
        height = pattern(x[0])
        return height, height

    return function_task(
        behavior, jnp.array([options.start]), returns_fitness=True, name="interference", behavior_names=("f(x)",)
    )
