import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core.noise import rows
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.types import Sample
from evolvability.tasks.policies import Policy, mlp

SIZES = (5, 16, 16, 3)
POLICY = mlp(SIZES)
POPULATIONS = {
    "normal": normal(0.1),
    "not mirrored": normal(0.1, mirrored=False),
    "diagonal": diagonal_normal(0.1),
    "mixture": mixture(3, 0.1),
    "bfloat16": normal(0.1, noise_dtype=jnp.bfloat16),
    "rank 1": low_rank(POLICY.shapes, 1, 0.1),
    "rank 3, not mirrored": low_rank(POLICY.shapes, 3, 0.1, mirrored=False),  # the output's matrix has full noise
    "rank 2 bfloat16": low_rank(POLICY.shapes, 2, 0.1, noise_dtype=jnp.bfloat16),
    "diagonal bfloat16": diagonal_normal(0.1, noise_dtype=jnp.bfloat16),
}


def acted(sample: Sample, observations: Any) -> Any:
    return POLICY.act(POLICY.build(sample), observations)


def draw(population: Population, policy: Policy = POLICY, num_members: int = 12) -> Sample:
    def drawn(key: Array) -> Sample:
        centers = jax.vmap(policy.init)(jax.random.split(key, population.num_components))
        parameters = population.init(jax.random.key(2), centers)
        if parameters.log_scale is not None:  # every parameter a different one
            parameters = parameters._replace(log_scale=parameters.log_scale + jnp.linspace(-1, 1, policy.num_params))
        return population.sample(jax.random.key(1), parameters, 0, population.draws(num_members))

    return jax.jit(drawn)(jax.random.key(0))


def sample_of(parameters: Array, observation: Array) -> Array:
    """The network of one member, the plain way."""
    offset, hidden = 0, observation
    for layer, (num_in, num_out) in enumerate(itertools.pairwise(SIZES)):
        weight = parameters[offset : offset + num_in * num_out].reshape(num_in, num_out)
        offset += num_in * num_out
        hidden = hidden @ weight + parameters[offset : offset + num_out]
        offset += num_out
        hidden = jnp.tanh(hidden) if layer < len(SIZES) - 2 else hidden
    return hidden


@pytest.mark.parametrize("kind", POPULATIONS)
@pytest.mark.parametrize("library", ["jax", "numpy"])
def test_structured_policy_equals_networks_written_out(kind: str, library: str) -> None:
    sample = draw(POPULATIONS[kind])
    observations = jax.random.normal(jax.random.key(2), (sample.num_members, SIZES[0]))
    expected = jax.jit(lambda sample: jax.vmap(sample_of)(sample.members(), observations))(sample)
    given: Any = sample
    inputs: Any = observations
    if library == "numpy":
        given = jax.tree.map(np.asarray, sample)
        given = given._replace(noise=jax.tree.map(lambda leaf: leaf.astype(np.float32), given.noise))
        inputs = np.asarray(observations)
    actions = (acted if library == "numpy" else jax.jit(acted))(given, inputs)
    assert isinstance(actions, np.ndarray) == (library == "numpy")
    # With bfloat16 noise JAX rounds inputs to that noise too, a part in 256 of the mutations' effect.
    tolerance = 0.02 if "bfloat16" in kind else 1e-5
    np.testing.assert_allclose(actions, expected, atol=tolerance)


def test_noise_is_multiplied_in_the_type_it_is_kept_in() -> None:
    networks = POLICY.build(draw(POPULATIONS["bfloat16"]))
    assert {leaf.dtype for layer in networks.layers for leaf in jax.tree.leaves(layer.weight_noise)} == {
        jnp.dtype(jnp.bfloat16)
    }


def test_short_noise_is_the_long_noise_rounded() -> None:
    short, long = (rows(draw(each).noise) for each in (normal(noise_dtype=jnp.bfloat16), normal()))
    np.testing.assert_array_equal(short, long.astype(jnp.bfloat16))


def test_network_starts_with_unit_columns_and_a_small_output() -> None:
    layers = POLICY.build(draw(normal())).layers
    for layer, norm in zip(layers, (1.0, 1.0, 0.01), strict=True):
        np.testing.assert_allclose(jnp.linalg.norm(layer.weight[0], axis=0), norm, rtol=1e-5)
        np.testing.assert_array_equal(layer.bias, 0)
