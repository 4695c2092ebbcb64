"""Hidden layers by the kernel equal those that JAX's own products make, in one order of sums."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability.core.populations import Population, low_rank, mixture, normal
from evolvability.core.types import Sample
from evolvability.tasks.policies import mlp

layers = pytest.importorskip("evolvability.tasks.engines.fused.layers")

POLICY = mlp((7, 16, 24, 3))  # 7 inputs: no whole number of rows at a time
POPULATIONS = {
    "normal": normal(0.3),
    "not mirrored": normal(0.3, mirrored=False),
    "mixture": mixture(2, 0.3),
    "bfloat16": normal(0.3, noise_dtype=jnp.bfloat16),
    "rank 1": low_rank(POLICY.shapes, 1, 0.3),  # which the kernel leaves to JAX
}


def drawn(population: Population, seed: Any) -> Sample:
    centers = jax.vmap(POLICY.init)(jax.random.split(jax.random.key(seed), population.num_components))
    return population.sample(jax.random.key(seed), population.init(jax.random.key(2), centers), 0, population.draws(12))


@pytest.mark.parametrize("kind", POPULATIONS)
def test_the_kernel_makes_what_matrix_products_make(kind: str) -> None:
    sample = jax.jit(lambda: drawn(POPULATIONS[kind], 0))()
    exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if leaf.dtype == jnp.bfloat16 else leaf, sample)
    observations = jax.random.normal(jax.random.key(2), (sample.num_members, 7))
    made, expected = jax.jit(
        lambda: (
            POLICY.act(POLICY.build(sample), observations, layers.streamed_layer),
            POLICY.act(POLICY.build(exact), observations),
        )
    )()
    # The last layer, of three outputs, is JAX's: it rounds what it multiplies with bfloat16 noise.
    np.testing.assert_allclose(made, expected, atol=5e-3 if kind == "bfloat16" else 3e-6)


def test_seeds_are_batched() -> None:
    observations = jax.random.normal(jax.random.key(2), (12, 7))

    def acted(seed: Any) -> Any:
        return POLICY.act(POLICY.build(drawn(POPULATIONS["bfloat16"], seed)), observations, layers.streamed_layer)

    together = jax.jit(jax.vmap(acted))(jnp.arange(3))
    for seed in range(3):
        np.testing.assert_allclose(together[seed], jax.jit(acted)(seed), atol=1e-5)
