"""A pytree's leaves as arrays by name, which files can hold, and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolvability.core.errors import RunFolderError
from evolvability.core.types import PyTree
from evolvability.runs.sealed import Arrays

KEY_WORDS = 2  # of JAX's threefry, the one kind of random keys that runs have


def named_arrays(tree: PyTree) -> Arrays:
    """A pytree's leaves by their path; random keys as their bits."""

    def bits(leaf: Any) -> Any:
        # A key's own type is JAX's alone: no file format has it.
        return jax.random.key_data(leaf) if _is_key(jnp.asarray(leaf)) else leaf

    leaves = jax.tree_util.tree_leaves_with_path(tree)
    # safetensors wants contiguous arrays. A scalar would get an axis by this, but a seed axis is there already.
    return {_name(path): np.ascontiguousarray(bits(leaf)) for path, leaf in leaves}


def restore(template: PyTree, arrays: Arrays) -> PyTree:
    """A pytree like ``template`` (shapes are enough) filled with named arrays."""

    def fill(path: Any, leaf: Any) -> Any:
        name = _name(path)
        expected = jax.ShapeDtypeStruct((*leaf.shape, KEY_WORDS), np.uint32) if _is_key(leaf) else leaf
        found = arrays.get(name)
        # Strictly, without broadcasting or casting: the next generation's bits depend on these.
        if found is None or found.shape != expected.shape or found.dtype != expected.dtype:
            got = "nothing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise RunFolderError(
                f"The checkpoint does not fit the configuration: {name} should be {expected.dtype}"
                f"{list(expected.shape)}, got {got}. Was config.toml edited?"
            )
        return jax.random.wrap_key_data(jnp.asarray(found)) if _is_key(leaf) else jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(fill, template)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
