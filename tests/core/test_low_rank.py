"""Noise of low rank: its moments, its gradients against closed forms, and that nothing large is ever written out."""

from collections.abc import Iterator
from functools import cache, partial
from math import prod
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from evolvability import (
    ConfigError,
    evolvability_es,
    evolve,
    function_task,
    low_rank,
    make_task,
    max_entropy,
    max_variance,
    sample_weights,
)
from evolvability.config.schema import layered
from evolvability.core.noise import Factors, LowRank, in_factors, num_numbers, rows
from evolvability.core.populations import normal
from evolvability.core.types import Parameters, Sample, make_outcome
from evolvability.training.evolution import Evolution
from evolvability.training.generation import start, step, whole

SHAPES = ((12, 8), (8,), (8, 3))
NUM_PARAMS = sum(map(prod, SHAPES))
SIGMA = 0.5


@cache
def compiled_gradient(rank: int) -> Any:
    return jax.jit(low_rank(SHAPES, rank, SIGMA).gradient)


def draw(rank: int, num_members: int, center: Array | float = 0.0) -> Sample:
    population = low_rank(SHAPES, rank, SIGMA)
    cloud = Parameters(jnp.broadcast_to(jnp.asarray(center), (1, NUM_PARAMS)))
    return jax.jit(population.sample)(jax.random.key(3), cloud, 0, population.draws(num_members))


def gradient(rank: int, sample: Sample, weights: Array) -> Array:
    center: Array = compiled_gradient(rank)(sample, weights).center[0]
    return center


@pytest.mark.parametrize("rank", [1, pytest.param(2, marks=pytest.mark.full)])
def test_second_moments_are_those_of_full_noise(rank: int) -> None:
    """Mean zero and the identity as covariance, whatever the rank: entries are dependent, but not correlated."""
    noise = np.asarray(rows(draw(rank, 80_000).noise))
    error = (3 + 6 / rank) ** 0.5 / len(noise) ** 0.5  # of a mean of products, at most: the root of a fourth moment
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=5 * error)
    np.testing.assert_allclose(noise.T @ noise / len(noise), np.eye(NUM_PARAMS), atol=5 * error)


def test_every_matrix_has_the_rank_and_vectors_have_full_noise() -> None:
    noise = draw(2, 8).noise
    assert isinstance(noise, LowRank)
    weight, bias, output = noise.blocks
    assert isinstance(weight, Factors)
    assert np.linalg.matrix_rank(rows(weight)).tolist() == [2] * 4
    assert isinstance(output, Factors)
    assert jnp.shape(bias) == (4, 8)  # type: ignore[arg-type]
    assert rows(output).shape == (4, 8, 3)


def test_gradient_of_a_linear_objective_is_exact_on_average() -> None:
    slope = jnp.linspace(-1, 2, NUM_PARAMS)
    sample = draw(1, 40_000, center=0.7)
    weights = jax.jit(lambda sample: sample.members() @ slope)(sample)
    found = np.asarray(gradient(1, sample, weights))
    pairs = np.asarray(weights).reshape(-1, 2) @ sample.sign / (2 * SIGMA)
    error = np.std(pairs[:, None] * np.asarray(jax.jit(rows)(sample.noise)), axis=0) / len(pairs) ** 0.5
    assert np.max(np.abs(found - slope) / error) < 4.5  # of 128 normal numbers
    assert np.linalg.norm(found - slope) < 0.15 * np.linalg.norm(slope)


def test_gradient_of_a_quadratic_objective_is_exact_on_average() -> None:
    """Mirrored pairs take the second order away, for noise of any rank as for full noise."""
    center = jnp.linspace(-1, 2, NUM_PARAMS)
    sample = draw(1, 40_000, center)
    found = gradient(1, sample, jnp.sum(sample.members() ** 2, axis=1) / 2)
    assert jnp.linalg.norm(found - center) < 0.15 * jnp.linalg.norm(center)


@pytest.mark.parametrize("rank", [1, pytest.param(2, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full)])
def test_variance_has_a_gradient_where_it_has_no_slope_which_falls_as_the_rank_rises(rank: int) -> None:
    """Of B = z00 + 2 z01 z10 the weight has 4 z00 z01 z10 in it, and E[z00 z01 z10 z11] is 1 / rank; it should be 0."""
    population, num_batches = low_rank(((12, 12),), rank, 0.02), 12

    @jax.jit
    def slope(key: Array) -> Array:
        sample = population.sample(key, Parameters(jnp.zeros((1, 144))), 0, population.draws(20_000))
        z = sample.members()
        weights, _ = sample_weights(max_variance(), make_outcome((z[:, 0] + 2 * z[:, 1] * z[:, 12])[:, None]))
        return population.gradient(sample, weights).center[0, 13]

    found = np.array([slope(key) for key in jax.random.split(jax.random.key(0), num_batches)])
    error = found.std(ddof=1) / num_batches**0.5
    assert abs(found.mean() - 4 / rank) < 4 * error + 0.01
    assert error < 0.1 * 4 / rank, "the bias drowns in noise"


@pytest.mark.parametrize("rank", [1, pytest.param(2, marks=pytest.mark.full)])
def test_gradient_of_a_cubic_objective_is_off_by_the_closed_form(rank: int) -> None:
    """At zero, sum z^3 has the expected gradient sigma^2 E[noise^4] = sigma^2 (3 + 6 / rank), full noise 3 sigma^2."""
    total = np.zeros(NUM_PARAMS)
    sample, cubes = draw(rank, 400_000), jax.jit(lambda part: jnp.sum(part.members() ** 3, axis=1))
    for chunk in range(8):  # in parts that fit into memory
        part = sample.of_draws(slice(chunk * 25_000, (chunk + 1) * 25_000))
        total += np.asarray(gradient(rank, part, cubes(part))) / 8 / SIGMA**2
    weight, bias = total[:96], total[96:104]
    assert float(weight.mean()) == pytest.approx(3 + 6 / rank, rel=0.06)
    assert float(bias.mean()) == pytest.approx(3, rel=0.15)


def test_noise_that_factors_would_not_make_smaller_is_full() -> None:
    assert [in_factors(shape, 4) for shape in SHAPES] == [True, False, False]
    with pytest.raises(ValueError, match="rank of 1 or more is expected, got 0"):
        low_rank(SHAPES, 0)


def test_a_task_without_matrices_is_refused() -> None:
    config = layered("interference", values={"population": "low_rank"})
    with pytest.raises(ConfigError, match=r"\(1,\).*Use normal"):
        Evolution(config)


def test_no_array_as_large_as_the_members_is_ever_made() -> None:
    """A whole generation, compiled: noise, episodes and gradient, with nothing of draws times parameters in it."""
    task = make_task("point", {"num_steps": 3, "hidden": 128})
    largest = partial(_largest_in_a_generation, task, population_size=512)
    num_params = sum(map(prod, task.shapes))
    assert largest(normal()) >= 256 * num_params
    assert largest(low_rank(task.shapes, 1)) < 256 * num_params / 8
    assert num_numbers(task.shapes, 1) < num_params / 10


def _largest_in_a_generation(task: Any, population: Any, population_size: int) -> int:
    algorithm = evolvability_es(population, max_entropy(), optax.adam(0.01), population_size=population_size)
    state = jax.eval_shape(partial(start, algorithm, task, 1), jax.random.key(0))
    program = jax.make_jaxpr(partial(step, algorithm, whole(algorithm, population, task)))(state)
    return max(sizes(program.jaxpr))


def sizes(program: Any) -> Iterator[int]:
    """Of every array in a program and the programs inside."""
    for equation in program.eqns:
        yield from (prod(variable.aval.shape) for variable in equation.outvars)
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from sizes(inner)


def test_mutations_of_a_function_s_matrices_are_low_rank_too() -> None:
    """Shapes come from the pytree that the task's author gave; the objective grows."""
    weights = {"a": 0.1 * jnp.ones((6, 5)), "b": jnp.ones(5)}
    task = function_task(lambda w: jnp.tanh(jnp.ones(6) @ w["a"] @ w["b"]), weights)
    assert task.shapes == ((6, 5), (5,))
    result = evolve(task, objective="max_variance", population="low_rank", rank=1, sigma=0.1, generations=40)
    variance = result.metrics["variance"][0]
    assert variance[-5:].mean() > 3 * variance[0]
