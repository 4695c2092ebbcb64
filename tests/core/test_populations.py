"""Populations: gradients against autodiff of the log-density, and noise that is addressed."""

import itertools
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from evolvability.core.noise import rows
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal, responsibilities
from evolvability.core.types import Parameters, Sample
from tests.conftest import in_tiers

NUM_PARAMS = 7
SHAPES = ((3, 2), (1,))
MAKERS: dict[str, Any] = {
    "normal": lambda mirrored: normal(0.3, mirrored=mirrored),
    "low_rank": lambda mirrored: low_rank(SHAPES, 1, 0.3, mirrored=mirrored),
    "diagonal_normal": lambda mirrored: diagonal_normal(0.3, mirrored=mirrored),
    "mixture": lambda mirrored: mixture(3, 0.3, mirrored=mirrored),
}
each = pytest.mark.parametrize("name", MAKERS)
each_of_both = pytest.mark.parametrize(
    ("name", "mirrored"),
    in_tiers(itertools.product(MAKERS, (True, False)), [*((name, True) for name in MAKERS), ("mixture", False)]),
)


members_of, noise_of = jax.jit(Sample.members), jax.jit(lambda sample: rows(sample.noise))
shares_of = jax.jit(responsibilities)


def compiled(population: Population) -> Population:
    """One program for each of its functions."""
    sample, gradient, log_prob = (jax.jit(one) for one in (population.sample, population.gradient, population.log_prob))
    return replace(population, sample=sample, gradient=gradient, log_prob=log_prob)


@cache
def made(name: str, mirrored: bool) -> Population:
    return compiled(MAKERS[name](mirrored))


@partial(jax.jit, static_argnums=0)
def start(population: Population, key: Array, spread: float = 0.2) -> Parameters:
    """Means close enough for the components of a mixture to share members."""
    cloud = population.init(key, spread * jax.random.normal(key, (population.num_components, NUM_PARAMS)))
    if cloud.log_scale is None:
        return cloud
    return cloud._replace(log_scale=cloud.log_scale + 0.5 * jax.random.normal(key, cloud.log_scale.shape))


def draw(population: Population, cloud: Parameters, num_members: int = 40, generation: int = 3) -> Sample:
    return population.sample(jax.random.key(7), cloud, generation, population.draws(num_members))


@each_of_both
def test_gradient_is_the_weighted_score(name: str, mirrored: bool, key: Array) -> None:
    """Sum_k w_k * d log p(z_k) / n, with the derivative by autodiff of the log-density."""
    population = made(name, mirrored)
    cloud = start(population, key)
    sample = draw(population, cloud)
    weights = jnp.asarray(np.random.default_rng(1).normal(size=40), jnp.float32)

    def weighted_log_prob(cloud: Parameters) -> Array:
        return jnp.mean(weights * jax.vmap(lambda z: population.log_prob(cloud, z))(members))

    members = members_of(sample)
    expected = jax.jit(jax.grad(weighted_log_prob))(cloud)
    found = population.gradient(sample, weights)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), found, expected)


def test_mixture_log_density_is_that_of_its_parts(key: Array) -> None:
    population, part = made("mixture", True), made("normal", True)
    cloud = start(population, key)
    z = np.linspace(-1, 1, NUM_PARAMS, dtype=np.float32)
    parts = [part.log_prob(Parameters(center[None]), z) for center in np.asarray(cloud.center)]
    expected = np.log(np.mean(np.exp(parts)))
    assert float(population.log_prob(cloud, z)) == pytest.approx(expected, rel=1e-5)


def test_responsibilities_are_posteriors(key: Array) -> None:
    population = made("mixture", True)
    cloud = start(population, key)
    sample = draw(population, cloud)
    log_prob = jax.jit(jax.vmap(made("normal", True).log_prob, (None, 0)))
    logs = np.stack(
        [log_prob(Parameters(center[None]), members_of(sample)) for center in np.asarray(cloud.center)], axis=1
    )
    densities = np.exp(logs)
    expected = densities / densities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.asarray(shares_of(sample)).reshape(40, 3), expected, atol=1e-5)


def test_responsibilities_keep_their_digits_far_from_the_origin() -> None:
    centers = 0.01 * np.random.default_rng(0).normal(size=(2, 1000))
    population = compiled(mixture(2, 0.02))
    shares = [
        shares_of(draw(population, Parameters(jnp.asarray(centers + offset, jnp.float32)))) for offset in (0, 100)
    ]
    np.testing.assert_allclose(shares[0], shares[1], atol=2e-2)


@each_of_both
def test_any_part_of_a_population_can_be_rebuilt_alone(name: str, mirrored: bool, key: Array) -> None:
    population = made(name, mirrored)
    cloud = start(population, key)
    whole = np.asarray(draw(population, cloud).members())
    part = population.sample(jax.random.key(7), cloud, 3, jnp.array([11, 2]))
    signs = population.num_signs
    expected = np.concatenate([whole[11 * signs : 12 * signs], whole[2 * signs : 3 * signs]])
    np.testing.assert_array_equal(part.members(), expected)


@each
def test_generations_and_draws_have_noise_of_their_own(name: str, key: Array) -> None:
    population = made(name, True)
    cloud = start(population, key)
    noises = [np.asarray(noise_of(draw(population, cloud, generation=g))).ravel() for g in (0, 1)]
    everything = np.concatenate(noises)
    assert len(np.unique(everything)) > 0.99 * len(everything)


@each
def test_mirrored_members_lie_opposite_each_other(name: str, key: Array) -> None:
    population = made(name, True)
    cloud = start(population, key)
    sample = draw(population, cloud)
    middles = np.asarray(members_of(sample)).reshape(20, 2, -1).mean(axis=1)
    np.testing.assert_allclose(middles, np.asarray(cloud.center)[sample.component], atol=1e-6)


@each_of_both
def test_members_are_distributed_as_the_density_says(name: str, mirrored: bool, key: Array) -> None:
    """The mean and covariance of many members, against those of the (mixture of) normals."""
    population = made(name, mirrored)
    cloud = start(population, key)
    members = np.asarray(members_of(draw(population, cloud, 40_000)))
    scale = 0.3 if cloud.log_scale is None else np.exp(np.asarray(cloud.log_scale))
    centers = np.asarray(cloud.center)
    np.testing.assert_allclose(members.mean(axis=0), centers.mean(axis=0), atol=0.01)
    within = np.broadcast_to(scale**2, centers.shape).mean(axis=0)
    np.testing.assert_allclose(members.var(axis=0), within + centers.var(axis=0), rtol=0.05)


def test_components_that_start_at_one_point_are_drawn_apart(key: Array) -> None:
    """One point would mean one gradient for ever."""
    init = jax.jit(mixture(3, 0.3).init)
    together = np.asarray(init(key, np.ones((3, 2000), np.float32)).center)
    assert np.std(together[0] - together[1]) == pytest.approx(0.3 * 2**0.5, rel=0.1)
    apart = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(init(key, apart).center, apart)


def test_sigma_follows_its_schedule(key: Array) -> None:
    population = compiled(normal(optax.exponential_decay(0.5, 1, 0.5)))
    cloud = start(population, key)
    scales = [np.asarray(draw(population, cloud, generation=g).scale).item() for g in range(3)]
    np.testing.assert_allclose(scales, [0.5, 0.25, 0.125], rtol=1e-5)


def test_noise_in_bfloat16_gives_nearly_the_same_gradient() -> None:
    exact, rough = made("normal", True), compiled(normal(0.3, noise_dtype=jnp.bfloat16))
    cloud = Parameters(jnp.zeros((1, 300)))
    weights = jnp.asarray(np.random.default_rng(0).normal(size=400), jnp.float32)
    sample = draw(rough, cloud, 400)
    assert isinstance(sample.noise, Array)
    assert sample.noise.dtype == jnp.bfloat16
    widened = sample._replace(noise=noise_of(sample).astype(jnp.float32))
    gradient = np.asarray(exact.gradient(widened, weights).center)
    error = np.asarray(rough.gradient(sample, weights).center) - gradient
    assert np.linalg.norm(error) < 0.01 * np.linalg.norm(gradient)


@pytest.mark.parametrize("make", [normal, lambda **given: low_rank(SHAPES, 1, **given)])
def test_noise_is_of_floats(make: Any) -> None:
    with pytest.raises(ValueError, match="noise_dtype: a type of floats is expected, float32 or bfloat16, got int8"):
        draw(make(noise_dtype=jnp.int8), Parameters(jnp.zeros((1, 300))))


def test_log_scales_in_bfloat16_survive_weights_without_baseline(key: Array) -> None:
    """The large constant in such weights cancels within 1e-4 of it, not within bfloat16's 0.4 %."""
    gradients = []
    for population in map(compiled, (diagonal_normal(0.3), diagonal_normal(0.3, noise_dtype=jnp.bfloat16))):
        cloud = population.init(key, jnp.zeros((1, 4)))
        sample = population.sample(key, cloud, 0, population.draws(20_000))
        stretch = population.gradient(sample, jnp.full(20_000, 100.3)).log_scale
        assert stretch is not None
        gradients.append(np.asarray(stretch))
    np.testing.assert_allclose(gradients[1], gradients[0], atol=0.02)


@pytest.mark.parametrize(
    "make", [normal, diagonal_normal, lambda sigma: mixture(2, sigma), lambda sigma: low_rank(SHAPES, 1, sigma)]
)
def test_sigma_must_be_positive(make: Any) -> None:
    with pytest.raises(ValueError, match=r"sigma.*must be positive, got -0\.1"):
        make(-0.1)


def test_mirrored_members_need_an_even_number() -> None:
    with pytest.raises(ValueError, match=r"an even number.*got 7"):
        normal(0.1).draws(7)


def test_a_mixture_has_two_components_or_more() -> None:
    with pytest.raises(ValueError, match=r"two components or more.*got 1"):
        mixture(1)
