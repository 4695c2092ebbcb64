r"""Expectations that differentiate.

An expectation over a distribution with parameters $\theta$ is estimated by a sample mean in which every
sample carries its likelihood ratio (section S3 of the paper):

$$
\mathbb{E}_{z}[f(z)] \approx \frac1N \sum_i f(z_i)\,\mathcal{L}(z_i), \qquad
\mathcal{L}(z_i) = \frac{p(z_i; \theta)}{p(z_i; \theta')}\Big|_{\theta' = \theta}.
$$

The ratio's value is 1, so the mean's value is untouched. Its derivatives are those of the density divided by the
density, so differentiating the mean, to any order and through any nesting, gives the score-function estimates.

References: Gajewski et al., *Evolvability ES* (2019), S3; Foerster et al., *DiCE* (2018), where the ratio is
called the magic box.
"""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array


class Distribution(Protocol):
    """All that an expectation needs of a distribution, e.g. any NumPyro distribution."""

    def sample(self, key: Array, /) -> Any:
        """One draw."""

    def log_prob(self, value: Any, /) -> Array:
        """The log-density at one draw, differentiable in the distribution's parameters."""


def box(log_prob: Array) -> Array:
    r"""The likelihood ratio $p(z;\theta)/p(z;\theta')$ at $\theta'=\theta$.

    Examples:
        >>> import jax
        >>> float(box(jnp.log(0.3)))
        1.0
        >>> float(jax.grad(lambda p: box(jnp.log(p)))(0.25))  # p'/p
        4.0
    """
    return jnp.exp(log_prob - jax.lax.stop_gradient(log_prob))


def expect(values: Array, log_prob: Array, *, where: Array | None = None) -> Array:
    """The sample mean of ``values``, differentiable through the samples' log-probabilities.

    Args:
        values: (num_samples, ...) the integrand at each sample; it may depend on parameters too, or hold expectations.
        log_prob: (num_samples,) the log-density of each sample.
        where: (num_samples,) which samples count; default: all of them.

    Returns:
        (...) the mean over the leading axis.

    Examples:
        >>> import jax
        >>> z = jnp.array([1.0, 3.0])
        >>> def mean(mu):
        ...     return expect(z, -((z - mu) ** 2) / 2)
        >>> float(mean(2.0)), float(jax.grad(mean)(2.0))  # the mean of z, and of z * (z - mu)
        (2.0, 1.0)
    """
    if values.shape[:1] != log_prob.shape or log_prob.ndim != 1:
        raise ValueError(
            f"expect: one log-probability per sample is expected, got values of shape {values.shape} and log_prob of "
            f"shape {log_prob.shape}. Sum the log-density over the dimensions of each sample."
        )
    trailing = (1,) * (values.ndim - 1)
    ratio = box(log_prob).reshape(-1, *trailing)
    if where is None:
        return jnp.mean(ratio * values, axis=0)
    # The integrand is masked, not the product: a sample that does not count may hold nan, and 0 * nan is nan.
    values = jnp.where(where.reshape(-1, *trailing), values, 0)
    # Where no sample counts the mean is zero, not nan.
    return jnp.sum(ratio * values, axis=0) / jnp.maximum(jnp.sum(where), 1)


def expectation(f: Callable[[Array, Any], Any], distribution: Distribution, key: Array, num_samples: int) -> Any:
    """Estimate E[f(z)] for z drawn from ``distribution``; ``f(key, z)`` may hold further expectations.

    Args:
        f: the integrand, returning a pytree of arrays. Its key is a fresh one for every sample.
        distribution: draws and weighs the samples.
        key: a JAX random key.
        num_samples: how many samples the mean is over.

    Examples:
        >>> import jax
        >>> class Normal:
        ...     def __init__(self, mean):
        ...         self.mean = mean
        ...     def sample(self, key):
        ...         return self.mean + jax.random.normal(key)
        ...     def log_prob(self, z):
        ...         return -((z - self.mean) ** 2) / 2
        >>> def second_moment(mean):
        ...     return expectation(lambda key, z: z**2, Normal(mean), jax.random.key(0), 100_000)
        >>> abs(float(jax.grad(jax.grad(second_moment))(1.0)) - 2) < 0.1  # E[z^2] = mean^2 + 1
        True
    """
    key_draws, key_inner = jax.random.split(key)
    draws = jax.vmap(distribution.sample)(jax.random.split(key_draws, num_samples))
    draws = jax.lax.stop_gradient(draws)  # a sample is a constant: its distribution moves through log_prob alone
    # Summed: a distribution of independent dimensions may give one log-density for each.
    log_prob = jax.vmap(lambda z: jnp.sum(distribution.log_prob(z)))(draws)
    values = jax.vmap(f)(jax.random.split(key_inner, num_samples), draws)
    return jax.tree.map(lambda leaf: expect(leaf, log_prob), values)
