"""Normal numbers are JAX's own, bit for bit, however many are drawn together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability.core.normals import standard_normal


@pytest.mark.parametrize(("num_keys", "length"), [(1, 1), (3, 17), (64, 1001), (5, 74_246)])
def test_they_are_jax_own(num_keys: int, length: int) -> None:
    keys = jax.random.split(jax.random.key(num_keys), num_keys)
    drawn = jax.jit(lambda keys: standard_normal(keys, length))(keys)
    expected = jax.jit(jax.vmap(lambda key: jax.random.normal(key, (length,))))(keys)
    np.testing.assert_array_equal(drawn, expected)


def test_a_row_is_the_same_whatever_is_drawn_beside_it() -> None:
    draw = jax.jit(lambda keys: standard_normal(keys, 1003))
    keys = jax.random.split(jax.random.key(1), 37)
    together = draw(keys)
    for some in (slice(0, 1), slice(5, 12), slice(30, 37)):
        np.testing.assert_array_equal(together[some], draw(keys[some]))


def test_they_are_normal() -> None:
    drawn = standard_normal(jax.random.split(jax.random.key(7), 200), 5000)
    assert abs(float(drawn.mean())) < 4e-3
    assert abs(float(drawn.var()) - 1) < 6e-3
    assert abs(float(jnp.mean(drawn**4)) - 3) < 0.04
