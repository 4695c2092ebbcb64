"""A weight that changes in a straight line."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jax import Array


class Ramp(NamedTuple):
    """A weight that goes in a straight line from ``start`` to ``end`` over so many generations, and stays there.

    Examples:
        >>> [float(Ramp(1.0, 0.0, 4)(generation)) for generation in (0, 1, 9)]
        [1.0, 0.75, 0.0]
        >>> f"{Ramp(1.0, 0.0, 4)}"
        '1:0:4'
    """

    start: float
    """The weight in the first generation."""
    end: float
    """The weight after the last of these generations, and from then on."""
    generations: int
    """How many generations the change takes."""

    def __call__(self, generation: "Array | int") -> "Array":
        """The weight at a generation."""
        import jax.numpy as jnp  # here, so that a text can be read as an objective without JAX

        return self.start + (self.end - self.start) * jnp.clip(jnp.asarray(generation) / self.generations, 0, 1)

    def __format__(self, spec: str) -> str:
        return f"{self.start:g}:{self.end:g}:{self.generations}"
