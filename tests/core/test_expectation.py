"""Expectations against analytic values and derivatives."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core.expectation import box, expect, expectation


@dataclass
class Normal:
    """A distribution as a user would bring it: sample and log_prob, nothing else."""

    mean: Any
    std: Any = 1.0

    def sample(self, key: Array) -> Array:
        return self.mean + self.std * jax.random.normal(key, jnp.shape(self.mean))

    def log_prob(self, value: Array) -> Array:
        return jax.scipy.stats.norm.logpdf(value, self.mean, self.std)


def estimates(function: Any, at: float, num_keys: int = 64) -> tuple[float, float]:
    """The mean of an estimate over keys, and its standard error."""
    values = np.asarray(jax.jit(jax.vmap(lambda key: function(at, key)))(jax.random.split(jax.random.key(1), num_keys)))
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(num_keys))


def assert_estimates(function: Any, at: float, truth: float) -> None:
    mean, error = estimates(function, at)
    assert abs(mean - truth) < 4 * error, f"estimated {mean} +- {error}, truth {truth}"
    assert error < 0.1 * max(1.0, abs(truth)), "the estimate is too noisy to mean anything"


def test_box_is_one_with_the_scores_as_derivatives() -> None:
    def ratio(p: Array) -> Array:
        return box(jnp.log(p))

    assert float(ratio(jnp.array(0.3))) == 1.0
    assert float(jax.grad(ratio)(0.3)) == pytest.approx(1 / 0.3)
    # d^2/dp^2 of p / p' at p' = p is zero: p'' / p, not (p' / p)^2
    assert float(jax.grad(jax.grad(ratio))(0.3)) == pytest.approx(0.0, abs=1e-5)


def test_value_is_the_sample_mean(key: Array) -> None:
    values = jax.random.normal(key, (50, 3))
    np.testing.assert_allclose(expect(values, jnp.arange(50.0)), values.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize(("order", "truth"), [(0, 2.25 + 0.5**2), (1, 3.0), (2, 2.0)])
def test_derivatives_of_a_second_moment(order: int, truth: float) -> None:
    """E[z^2] = mean^2 + std^2."""

    def moment(mean: Any, key: Array) -> Any:
        return expectation(lambda _, z: z**2, Normal(mean, 0.5), key, 4000)

    function = moment
    for _ in range(order):
        function = jax.grad(function)
    assert_estimates(function, 1.5, truth)


@pytest.mark.parametrize(("order", "truth"), [(0, np.exp(0.5 + 0.125)), (1, np.exp(0.625)), (3, np.exp(0.625))])
def test_derivatives_of_every_order_of_an_exponential(order: int, truth: float) -> None:
    """E[exp(z)] = exp(mean + std^2 / 2): every derivative is the same."""

    def moment(mean: Any, key: Array) -> Any:
        return expectation(lambda _, z: jnp.exp(z), Normal(mean, 0.5), key, 20_000)

    function = moment
    for _ in range(order):
        function = jax.grad(function)
    assert_estimates(function, 0.5, truth)


@pytest.mark.parametrize(
    ("order", "truth"),
    [pytest.param(0, 6.0, marks=pytest.mark.full), (1, 8.0), pytest.param(2, 8.0, marks=pytest.mark.full)],
)
def test_nested_expectation_whose_samples_depend_on_outer_samples(order: int, truth: float) -> None:
    """z ~ N(theta, 1), y ~ N(z + theta, 1): E_z[E_y[y^2]] = 4 theta^2 + 2."""

    def nested(theta: Any, key: Array) -> Any:
        def inner(key: Array, z: Array) -> Any:
            return expectation(lambda _, y: y**2, Normal(z + theta), key, 50)

        return expectation(inner, Normal(theta), key, 500)

    function = nested
    for _ in range(order):
        function = jax.grad(function)
    assert_estimates(function, 1.0, truth)


@pytest.mark.full
def test_three_levels_over_different_variables() -> None:
    """x ~ N(theta, 1), y ~ N(x, 1), z ~ N(x y, 1): E[z] = E[x^2] = theta^2 + 1."""

    def nested(theta: Any, key: Array) -> Any:
        def over_y(key: Array, x: Array) -> Any:
            return expectation(lambda key, y: expectation(lambda _, z: z, Normal(x * y), key, 8), Normal(x), key, 16)

        return expectation(over_y, Normal(theta), key, 256)

    assert_estimates(nested, 0.7, 0.49 + 1)
    assert_estimates(jax.grad(nested), 0.7, 1.4)


def test_integrand_that_depends_on_the_parameter_itself() -> None:
    """E[theta * z] = theta^2 moves through the integrand and through the distribution."""

    def product(theta: Any, key: Array) -> Any:
        return expectation(lambda _, z: theta * z, Normal(theta), key, 4000)

    assert_estimates(jax.grad(product), 1.5, 3.0)
    assert_estimates(jax.grad(jax.grad(product)), 1.5, 2.0)


def test_vmap_and_jit_give_the_same_numbers(key: Array) -> None:
    def moment(mean: Any) -> Any:
        return expectation(lambda _, z: jnp.sum(z**2), Normal(mean), key, 100)

    means = jnp.array([[0.0, 1.0], [2.0, -1.0]])
    one_by_one = jnp.stack([jax.grad(moment)(mean) for mean in means])
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(moment)))(means), one_by_one, rtol=1e-4)


def test_samples_that_do_not_count_leave_no_trace() -> None:
    values = jnp.array([1.0, jnp.nan, 3.0])
    counts = jnp.array([True, False, True])

    def mean(log_prob: Array) -> Array:
        return expect(values, log_prob, where=counts)

    assert float(mean(jnp.zeros(3))) == 2.0
    np.testing.assert_allclose(jax.grad(mean)(jnp.zeros(3)), [0.5, 0.0, 1.5])


def test_one_log_probability_a_sample_is_required() -> None:
    with pytest.raises(ValueError, match="log-probability per sample"):
        expect(jnp.ones((4, 2)), jnp.ones((4, 2)))
