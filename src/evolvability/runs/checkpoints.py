"""Checkpoints: a State as safetensors, with a JSON beside it that vouches for it."""

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from evolvability.core.errors import RunFolderError
from evolvability.core.types import PyTree

KEPT = 3
"""How many checkpoints a run folder keeps: a damaged one has predecessors."""

Arrays = dict[str, np.ndarray[Any, Any]]


def save_checkpoint(path: Path, generation: int, state: PyTree) -> None:
    """Save a State in a run folder. Its JSON is written last: what has none is not there."""
    data = safetensors.numpy.save(named_arrays(state))
    stem = _stem(path, generation)
    write_whole(stem.with_suffix(".safetensors"), data)
    voucher = {"generation": generation, "sha256": hashlib.sha256(data).hexdigest()}
    write_whole(stem.with_suffix(".json"), json.dumps(voucher).encode())
    for old in checkpoint_generations(path)[:-KEPT]:
        remove_checkpoint(path, old)


def remove_checkpoint(path: Path, generation: int) -> None:
    """Remove a checkpoint, its voucher first."""
    for suffix in (".json", ".safetensors"):
        _stem(path, generation).with_suffix(suffix).unlink(missing_ok=True)


def remove_orphans(path: Path) -> None:
    """Remove what a process killed in the middle of a checkpoint left behind."""
    vouched = set(checkpoint_generations(path))
    for file in (path / "checkpoints").iterdir():
        if not file.stem.isdigit() or int(file.stem) not in vouched:
            file.unlink()


def has_checkpoint(path: Path, generation: int) -> bool:
    """Whether a run folder has an intact checkpoint of a generation."""
    return _intact_bytes(_stem(path, generation)) is not None


def checkpoint_generations(path: Path) -> list[int]:
    """The generations of the checkpoints in a run folder, oldest first."""
    return sorted(int(voucher.stem) for voucher in (path / "checkpoints").glob("*.json") if voucher.stem.isdigit())


def load_checkpoint(path: Path, generation: int | None = None) -> tuple[int, Arrays]:
    """The newest intact checkpoint, or that of a generation. A damaged one is named and passed over."""
    available = checkpoint_generations(path)
    if generation is not None and generation not in available:
        raise RunFolderError(f"{path} has no checkpoint of generation {generation}; kept: {summary(available)}.")
    for candidate in reversed(available) if generation is None else [generation]:
        try:
            return candidate, _verified_arrays(_stem(path, candidate))
        except RunFolderError as error:
            if generation is not None:
                raise
            warnings.warn(f"{error} The one before is used.", stacklevel=2)
    raise RunFolderError(
        f"{path} has no intact checkpoint. Start the run anew with: ees train --config {path}/config.toml"
    )


def named_arrays(tree: PyTree) -> Arrays:
    """A pytree's leaves by their path; random keys as their bits."""
    return {_name(path): np.ascontiguousarray(_bits(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def restore(template: PyTree, arrays: Arrays) -> PyTree:
    """A pytree like ``template`` (shapes are enough) filled with named arrays."""

    def fill(path: Any, leaf: Any) -> Any:
        name = _name(path)
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        expected = jax.eval_shape(jax.random.key_data, leaf) if is_key else leaf
        found = arrays.get(name)
        if found is None or found.shape != expected.shape or found.dtype != expected.dtype:
            got = "nothing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise RunFolderError(
                f"The checkpoint does not fit the configuration: {name} should be {expected.dtype}"
                f"{list(expected.shape)}, got {got}. Was config.toml edited?"
            )
        return jax.random.wrap_key_data(jnp.asarray(found)) if is_key else jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(fill, template)


def write_whole(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file so that a reader sees all of it or none, even if the process is killed."""
    temporary = path.with_suffix(path.suffix + ".part")
    with temporary.open("wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def _stem(path: Path, generation: int) -> Path:
    return path / "checkpoints" / f"{generation:06d}"


def _intact_bytes(stem: Path) -> bytes | None:
    """A checkpoint's arrays as they lie on disk, if its voucher fits them."""
    try:
        voucher = json.loads(stem.with_suffix(".json").read_text())
        data = stem.with_suffix(".safetensors").read_bytes()
        return data if hashlib.sha256(data).hexdigest() == voucher["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _verified_arrays(stem: Path) -> Arrays:
    data = _intact_bytes(stem)
    if data is None:
        raise RunFolderError(f"The checkpoint {stem.with_suffix('.safetensors')} is damaged.")
    return safetensors.numpy.load(data)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _bits(leaf: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def summary(generations: list[int]) -> str:
    """A list of generations in a few words."""
    if not generations:
        return "none"
    return ", ".join(map(str, generations)) if len(generations) <= 6 else f"{generations[0]} to {generations[-1]}"
