from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.types import Sample
from evolvability.tasks.engines.networks import fits, kernel_actor
from evolvability.tasks.families import family_of
from evolvability.tasks.policies import mlp

SIZES = (5, 16, 16, 4)
POLICY = family_of(mlp(SIZES[1:-1]), SIZES[0], SIZES[-1])


def draw(population: Population, key: Array) -> Sample:
    centers = jax.vmap(POLICY.init)(jax.random.split(key, population.num_components))
    parameters = population.init(key, centers)
    # 18 members: the last block of draws is not full.
    return population.sample(key, parameters, 0, population.draws(18))


def by_kernel(sample: Sample, observations: Array) -> Array:
    return kernel_actor(POLICY, sample)(observations)


def sample_of(sample: Sample, observations: Array) -> Any:
    members = np.asarray(sample.members())
    return np.stack([POLICY.apply(own, seen)[0] for own, seen in zip(members, np.asarray(observations), strict=True)])


@pytest.mark.parametrize(
    "population",
    [
        mixture(3, 0.1),
        pytest.param(diagonal_normal(0.1), marks=pytest.mark.full),
        pytest.param(normal(0.1), marks=pytest.mark.full),
        pytest.param(normal(0.1, mirrored=False, noise_dtype=jnp.bfloat16), marks=pytest.mark.full),
    ],
    ids=["mixture", "diagonal", "normal", "short and not mirrored"],
)
def test_kernel_acts_like_networks_written_out(population: Population) -> None:
    sample = draw(population, jax.random.key(0))
    observations = jax.random.normal(jax.random.key(1), (sample.num_members, SIZES[0]))
    np.testing.assert_allclose(by_kernel(sample, observations), sample_of(sample, observations), atol=1e-5)


def test_kernel_lets_no_nan_pass_as_a_number() -> None:
    sample = draw(mixture(3, 0.1), jax.random.key(0))
    broken = sample._replace(center=sample.center.at[:, 0].set(jnp.nan))  # one weight of the first layer
    assert np.isnan(by_kernel(broken, jnp.ones((sample.num_members, SIZES[0])))).all()


def test_kernel_keeps_seeds_apart() -> None:
    population = normal(0.1, noise_dtype=jnp.bfloat16)
    samples = jax.vmap(lambda key: draw(population, key))(jax.random.split(jax.random.key(0), 3))
    observations = jax.random.normal(jax.random.key(1), (3, 18, SIZES[0]))
    found = jax.jit(jax.vmap(by_kernel))(samples, observations)
    for seed in range(3):
        sample = jax.tree.map(lambda leaf, own=seed: leaf[own], samples)
        np.testing.assert_allclose(found[seed], sample_of(sample, observations[seed]), atol=1e-5)


def test_kernel_is_for_noise_in_rows_of_an_even_number_and_layers_that_fit() -> None:
    assert fits(POLICY, draw(normal(0.1), jax.random.key(0)))
    assert not fits(POLICY, draw(low_rank(POLICY.shapes, 1, 0.1), jax.random.key(0)))
    assert not fits(family_of(mlp((15,)), 5, 4), draw(normal(0.1), jax.random.key(0)))
    assert not fits(family_of(mlp((2000,)), 5, 4), draw(normal(0.1), jax.random.key(0)))
