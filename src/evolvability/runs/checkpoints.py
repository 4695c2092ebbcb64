"""Checkpoints: a State as safetensors, with a JSON beside it that vouches for it."""

import hashlib
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from evolvability.config.schema import Config, to_table
from evolvability.config.tables import flat
from evolvability.core.errors import RunFolderError
from evolvability.core.types import PyTree
from evolvability.runs.contents import is_state
from evolvability.runs.files import command_line
from evolvability.runs.rows import ROW_FILES
from evolvability.runs.sealed import PART, UNREADABLE, Arrays, damaged, keep_beside, read_json, to_json, write_whole

FOLDERS = ("behaviors", "centers")
"""Of a run folder, those with a file per recorded generation."""
MAY_CHANGE = {"generations", "checkpoint_seconds", "record_every", "record_centers", "max_invalid", "start_from"}
"""Settings of a run under way that do not change what comes next: how long it is, and what is kept."""
Recorded = Mapping[str, Sequence[int]]
"""By folder, ``behaviors`` and ``centers``: the generations of which it has a file."""
MAX_RECORDED = 1_000_000
KEPT = 3
"""How many checkpoints a run folder keeps: a damaged one has predecessors."""


def save_checkpoint(
    path: Path, generation: int, state: PyTree, config: Config, recorded: Recorded, *, kept: int = KEPT
) -> None:
    """Save a State in a run folder, and what was recorded so far. Its JSON is last: what has none is not there."""
    data = safetensors.numpy.save(named_arrays(state))
    stem = _stem(path, generation)
    write_whole(stem.with_suffix(".safetensors"), data)
    voucher = {
        "generation": generation,
        "sha256": hashlib.sha256(data).hexdigest(),
        "rows": [name for name in ROW_FILES if (path / name).is_file()],
        "recorded": {folder: spans(generations) for folder, generations in recorded.items()},
        "config": to_table(config),
    }
    write_whole(stem.with_suffix(".json"), to_json(voucher).encode())
    for old in checkpoint_generations(path)[:-kept]:
        for suffix in (".json", ".safetensors"):  # in this order: arrays without their JSON count for nothing
            _stem(path, old).with_suffix(suffix).unlink(missing_ok=True)


def rewind_checkpoints(path: Path, generation: int) -> None:
    """Remove checkpoints of later generations, and what a process killed in the middle of one left behind."""
    complete = checkpoint_generations(path)
    torn = [old for old in complete if old > generation and not has_checkpoint(path, old)]
    for old, file in own_files(path / "checkpoints"):  # .json before .safetensors
        if old in torn and file.suffix != PART:
            keep_beside(file)
        if old not in complete or old > generation or file.suffix == PART:
            file.unlink()


def missing(path: Path, names: Sequence[str] = (*FOLDERS, *ROW_FILES)) -> list[tuple[int, Path]]:
    """Files of generations or rows that the newest checkpoint vouches for, and that are gone; earlier ones do not tell.

    Each with the first generation that is lost with it; names: of the folders and files that are looked at.
    """
    for generation in reversed(checkpoint_generations(path)):
        try:
            voucher = read_json(_stem(path, generation).with_suffix(".json"))
            rows, recorded = [str(name) for name in voucher.get("rows", ())], voucher.get("recorded", {})
            found = {name: [range(*span) for span in recorded.get(name, ())] for name in FOLDERS if name in names}
            number = sum(len(span) for own in found.values() for span in own)
        except (RunFolderError, *UNREADABLE):
            continue  # it is damaged: the one before tells
        if number > MAX_RECORDED:  # not written by us
            return []
        lost = [(0, path / name) for name in ROW_FILES if name in names and name in rows]
        for name, own in found.items():
            gone = set(chain(*own)).difference(generations_in(path / name))
            lost += [(one, path / name / f"{one:06d}.safetensors") for one in sorted(gone)]
        return [(one, file) for one, file in lost if not file.is_file()]
    return []


def spans(generations: Sequence[int]) -> list[list[int]]:
    """Numbers in their order as the arguments of ranges: they are thousands, and mostly every tenth.

    >>> spans([0, 10, 20, 25])
    [[0, 21, 10], [25, 26, 1]]
    """
    found: list[list[int]] = []
    for number in generations:
        first, stop, step = found[-1] if found else (number, number, 1)
        if found and (stop == first + 1 or number == stop - 1 + step):
            found[-1] = [first, number + 1, number - stop + 1]
        else:
            found.append([number, number + 1, 1])
    return found


def has_checkpoint(path: Path, generation: int) -> bool:
    """Whether a run folder has an intact checkpoint of a generation."""
    return _intact(path, generation) is not None


def checkpoint_generations(path: Path) -> list[int]:
    """The generations of the checkpoints in a run folder, oldest first."""
    return generations_in(path / "checkpoints", ".json")


def generations_in(folder: Path, suffix: str = ".safetensors") -> list[int]:
    """The generations that a folder holds files of, oldest first; whatever else lies there is none of a run's."""
    return [generation for generation, file in own_files(folder) if file.suffix == suffix]


def own_files(folder: Path) -> list[tuple[int, Path]]:
    """The files of generations in a folder, in order; whatever else lies there is none of a run's, and left alone."""
    # Names are padded to six digits, and longer from a million generations on.
    pattern = re.compile(rf"([0-9]{{6}}|[1-9][0-9]{{6,8}})\.(json|safetensors)({re.escape(PART)})?")
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(match[1]), file) for file in files if (match := pattern.fullmatch(file.name)) and file.is_file())


def load_checkpoint(path: Path, generation: int | None = None, *, before: int | None = None) -> tuple[int, Arrays]:
    """The newest intact checkpoint, or that of a generation. A damaged one is named and passed over.

    Of the newest ones, that is taken from which a generation ``before`` can be done again, where there is one.
    """
    available = checkpoint_generations(path)
    if before is not None:
        available = [one for one in available if one <= before and has_checkpoint(path, one)] or available
    if generation is not None and generation not in available:
        raise RunFolderError(f"{path} has no checkpoint of generation {generation}; kept: {summary(available)}.")
    for candidate in reversed(available) if generation is None else [generation]:
        arrays = _intact(path, candidate)
        if arrays is not None:
            return candidate, arrays
        text = f"The checkpoint {_stem(path, candidate)}.safetensors is damaged."
        if generation is not None:
            raise RunFolderError(text)
        warnings.warn(f"{text} The one before is used.", stacklevel=2)
    check_not_left_out(path)
    anew = command_line("train", "--config", path / "config.toml")
    raise RunFolderError(f"{path} has no intact checkpoint. Start the run anew with: {anew}")


def check_not_left_out(path: Path) -> None:
    """Refuse an export without centers; a run of one's own has the folder from its beginning."""
    if not (path / "checkpoints").is_dir():
        shown = command_line("show", path)
        raise RunFolderError(f"{path} is an export without centers, which were left out: it cannot go on. See {shown}")


def check_config(path: Path, generation: int, config: Config) -> None:
    """Refuse a configuration that did not make a checkpoint; checkpoints of earlier versions do not tell."""
    voucher = _stem(path, generation).with_suffix(".json")
    table = read_json(voucher).get("config", {})
    if not isinstance(table, dict):
        raise damaged(voucher, ValueError("a configuration is expected"))
    made_by = dict(flat(table))
    asked = dict(flat(json.loads(json.dumps(to_table(config)))))
    for name in sorted(made_by.keys() & asked.keys() - MAY_CHANGE):
        if made_by[name] != asked[name]:
            raise RunFolderError(
                f"{path / 'config.toml'} was edited: {name} is {asked[name]!r} there, but the run was made with "
                f"{made_by[name]!r}. Set it back to go on. What may change: {', '.join(sorted(MAY_CHANGE))}."
            )


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
        expected = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
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


def _stem(path: Path, generation: int) -> Path:
    return path / "checkpoints" / f"{generation:06d}"


def _intact(path: Path, generation: int) -> Arrays | None:
    """A checkpoint's arrays, if its voucher fits them."""
    stem = _stem(path, generation)
    try:
        voucher = read_json(stem.with_suffix(".json"))
        # Into memory at once: what is loaded is what was checked.
        data = stem.with_suffix(".safetensors").read_bytes()
        if (voucher["generation"], voucher["sha256"]) != (generation, hashlib.sha256(data).hexdigest()):
            return None
        arrays = safetensors.numpy.load(data)
        return arrays if is_state(arrays) else None
    except (RunFolderError, *UNREADABLE):
        return None


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def summary(generations: list[int]) -> str:
    """A list of generations in a few words."""
    if not generations:
        return "none"
    return ", ".join(map(str, generations)) if len(generations) <= 6 else f"{generations[0]} to {generations[-1]}"
