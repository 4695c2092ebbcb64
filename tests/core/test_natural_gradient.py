"""The natural gradient: against Fisher matrices computed in other ways, and the behavior that theory gives it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from evolvability import Config, ConfigError, evolvability_es, mean_fitness, natural_gradient
from evolvability.core.populations import diagonal_normal, mixture, normal
from evolvability.core.shaping import SHAPINGS
from evolvability.core.strategy import State
from evolvability.core.types import Parameters, make_outcome
from evolvability.training.generation import step, with_outcome

CLOUD = Parameters(jnp.array([[0.5, -1.0, 2.0]]), jnp.log(jnp.array([[0.1, 1.0, 3.0]])))
GRADIENT = Parameters(jnp.array([[1.0, -2.0, 0.5]]), jnp.array([[0.3, 1.0, -1.0]]))


def natural(gradient: Parameters, cloud: Parameters) -> Parameters:
    updates, _ = natural_gradient().update(gradient, optax.EmptyState(), cloud)
    return updates


def flat(cloud: Parameters) -> Array:
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(cloud)])


def unflat(vector: Array) -> Parameters:
    return Parameters(vector[None, :3], vector[None, 3:])


def divergence(vector: Array) -> Array:
    """KL(normal of CLOUD, normal of the vector), in closed form."""
    other = unflat(vector)
    assert CLOUD.log_scale is not None
    assert other.log_scale is not None
    ratio = jnp.exp(2 * (CLOUD.log_scale - other.log_scale))
    distance = (CLOUD.center - other.center) ** 2 * jnp.exp(-2 * other.log_scale)
    return jnp.sum(ratio + distance - 1 - jnp.log(ratio)) / 2


def test_natural_gradient_is_the_gradient_by_the_curvature_of_the_divergence() -> None:
    fisher = jax.jit(jax.hessian(divergence))(flat(CLOUD))
    expected = np.linalg.solve(fisher, flat(GRADIENT))
    np.testing.assert_allclose(flat(natural(GRADIENT, CLOUD)), expected, rtol=1e-4)


def test_natural_gradient_is_the_gradient_by_the_covariance_of_scores() -> None:
    """The Fisher matrix as the mean of score times score, scores by autodiff of the log-density, over 100,000 draws."""
    population = diagonal_normal(mirrored=False)

    @jax.jit
    def covariance() -> Array:
        members = population.sample(jax.random.key(0), CLOUD, 0, jnp.arange(100_000)).members()
        scores = jax.vmap(lambda z: flat(jax.grad(population.log_prob)(CLOUD, z)))(members)
        scaled = scores * jnp.sqrt(flat(natural(unflat(jnp.ones(6)), CLOUD)))  # of unit variance: the inverse is right
        return scaled.T @ scaled / len(members)

    np.testing.assert_allclose(covariance(), np.eye(6), atol=0.05)


def test_standard_deviations_shrink_on_a_quadratic_as_theory_says() -> None:
    r"""With f = -h z^2 / 2, natural ascent has sigma^2 = 1 / (1/sigma_0^2 + h t), and mu / sigma^2 stays."""
    curvature = jnp.array([0.1, 1.0, 10.0])
    optimizer = optax.chain(natural_gradient(), optax.sgd(1e-3))

    def ascend(cloud: Parameters, _: None) -> tuple[Parameters, None]:
        # The exact gradient of E[f] = -h (mu^2 + sigma^2) / 2; negated, as optax descends.
        variance = jnp.exp(2 * cloud.log_scale)  # type: ignore[operator]
        descent = Parameters(curvature * cloud.center, curvature * variance)
        updates, _ = optimizer.update(descent, optimizer.init(cloud), cloud)
        return optax.apply_updates(cloud, updates), None

    first = Parameters(jnp.array([[3.0, -2.0, 1.0]]), jnp.zeros((1, 3)))
    last, _ = jax.lax.scan(ascend, first, length=5000)
    variance = 1 / (1 + curvature * 5.0)
    np.testing.assert_allclose(jnp.exp(2 * last.log_scale[0]), variance, rtol=0.01)  # type: ignore[index]
    np.testing.assert_allclose(last.center[0] / variance, first.center[0], rtol=0.02)


@pytest.mark.parametrize("is_natural", [True, False])
def test_only_natural_ascent_does_not_care_for_the_units_of_parameters(is_natural: bool) -> None:
    """A problem in other units, each parameter with its own, from the same noise: the same course in those units."""
    units = jnp.array([1.0, 10.0, 0.2])
    course, other = (climbed(unit, is_natural) / unit for unit in (jnp.ones(3), units))
    assert np.allclose(course, other, rtol=1e-3, atol=1e-4) == is_natural


def climbed(units: Array, is_natural: bool, generations: int = 20) -> Array:
    """(3,) where ascent on a smooth hill ends up."""
    population = diagonal_normal(0.3)
    transform = natural_gradient() if is_natural else optax.identity()
    algorithm = evolvability_es(
        population,
        mean_fitness(SHAPINGS["none"]),
        optax.chain(transform, optax.sgd(0.05)),
        population_size=100,
    )
    state = algorithm.init(jax.random.key(0), jnp.zeros((1, 3)))
    state = state._replace(parameters=Parameters(units * jnp.ones((1, 3)), jnp.log(0.3 * units)[None]))

    def generation(state: State, _: None) -> tuple[State, None]:
        sample = algorithm.ask(state)
        z = sample.members() / units
        fitness = -jnp.sum(jnp.array([1.0, 2.0, 3.0]) * (z - 0.5) ** 2, axis=1)
        return step(algorithm, with_outcome(algorithm, population, make_outcome(z, fitness)), state)[0], None

    last, _ = jax.lax.scan(generation, state, length=generations)
    return last.parameters.center[0]


def test_a_fixed_standard_deviation_has_no_natural_gradient_of_its_own() -> None:
    cloud = normal().init(jax.random.key(0), jnp.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"learned standard deviations are expected.*change the learning rate"):
        natural(cloud, cloud)
    for population in ("normal", "low_rank", "mixture"):
        with pytest.raises(ConfigError, match=f"natural_gradient must be off for {population}"):
            Config("point", population=population, natural_gradient=True)


def mixture_fisher(gap: float, sigma: float) -> np.ndarray[Any, Any]:
    """The Fisher matrix of the two means of a mixture on a line, integrated in double precision from its density."""
    centers = np.array([-gap / 2, gap / 2])
    z = np.linspace(-gap / 2 - 12 * sigma, gap / 2 + 12 * sigma, 40_001)
    densities = np.exp(-((z - centers[:, None]) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)) / 2
    density = densities.sum(axis=0)
    scores = densities / density * (z - centers[:, None]) / sigma**2
    fisher: np.ndarray[Any, Any] = np.trapezoid(density * scores[:, None] * scores, z)
    return fisher


def test_the_fisher_matrix_of_a_mixture_is_a_constant_while_components_are_apart_and_singular_where_they_meet() -> None:
    """So there the natural gradient is the plain one times components * sigma^2, as the error says."""
    sigma = 0.3
    apart = np.linalg.inv(mixture_fisher(20 * sigma, sigma))
    np.testing.assert_allclose(apart, 2 * sigma**2 * np.eye(2), rtol=1e-9, atol=1e-12)
    low, high = np.linalg.eigvalsh(mixture_fisher(1e-4 * sigma, sigma))
    assert low < 1e-7 * high
    between = np.linalg.inv(mixture_fisher(2 * sigma, sigma))
    assert between[0, 0] > 1.2 * 2 * sigma**2
    with pytest.raises(ConfigError, match=r"off for mixture, .* components \* sigma\^2 .*learning_rate"):
        Config("point", population="mixture", natural_gradient=True)


def test_scores_of_a_mixture_have_its_fisher_matrix() -> None:
    sigma, gap = 0.3, 0.6
    population = mixture(2, sigma, mirrored=False)
    cloud = Parameters(jnp.array([[-gap / 2], [gap / 2]]))

    @jax.jit
    def covariance() -> Array:
        members = population.sample(jax.random.key(0), cloud, 0, jnp.arange(100_000)).members()
        scores = jax.vmap(lambda z: jax.grad(population.log_prob)(cloud, z).center[:, 0])(members)
        return scores.T @ scores / len(members)

    np.testing.assert_allclose(covariance(), mixture_fisher(gap, sigma), atol=0.1)
