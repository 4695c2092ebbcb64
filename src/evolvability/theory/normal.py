"""A distribution for graphs; any of NumPyro's will do as well."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


@dataclass(frozen=True)
class Normal:
    """Independent Gaussians around ``mean``, of any shape.

    Examples:
        >>> round(float(Normal(jnp.zeros(2)).log_prob(jnp.zeros(2))), 4)  # -log(2 pi)
        -1.8379
    """

    mean: Any
    """The means, of any shape."""
    scale: Any = 1.0
    """The standard deviations: one number, or of the shape of the mean."""

    def sample(self, key: Array, /) -> Array:
        """One draw, of the shape of ``mean``."""
        return jnp.asarray(self.mean + self.scale * jax.random.normal(key, jnp.shape(self.mean)))

    def log_prob(self, value: Array, /) -> Array:
        """The log-density of one draw."""
        return jnp.sum(jax.scipy.stats.norm.logpdf(value, self.mean, self.scale))
