"""Checkpoints: a State as safetensors, which vouches for itself and for what was recorded before it."""

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

from evolvability.config.schema import Config, to_table
from evolvability.config.tables import flat
from evolvability.core.errors import RunFolderError
from evolvability.core.types import PyTree
from evolvability.runs.contents import state_in
from evolvability.runs.environment import jax_settings
from evolvability.runs.files import command_line
from evolvability.runs.rows import ROW_FILES
from evolvability.runs.sealed import (
    PART,
    UNREADABLE,
    Arrays,
    facts_in,
    from_json,
    keep_beside,
    to_bytes,
    to_json,
    write_whole,
)

CHECKPOINTS = "checkpoints"
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
    """Save a State in a run folder, with its configuration and what was recorded so far."""
    voucher = {
        "rows": [name for name in ROW_FILES if (path / name).is_file()],
        "recorded": {folder: spans(generations) for folder, generations in recorded.items()},
        "config": to_table(config),
        "jax": jax_settings(),
    }
    file = arrays_path(path / CHECKPOINTS, generation)
    # The voucher has a checksum of its own, since it is read more often than the arrays beside it.
    write_whole(file, to_bytes(named_arrays(state), {"generation": file.stem, "voucher": to_json(voucher)}))
    for old in checkpoint_generations(path)[:-kept]:
        arrays_path(path / CHECKPOINTS, old).unlink(missing_ok=True)


def rewind_checkpoints(path: Path, generation: int) -> None:
    """Remove checkpoints of later generations, and what a process killed in the middle of one left behind."""
    for old, file in own_files(path / CHECKPOINTS):
        if file.suffix != PART and old > generation and not has_checkpoint(path, old):
            keep_beside(file)
        if old > generation or file.suffix == PART:
            file.unlink()


def missing(path: Path, names: Sequence[str] = (*FOLDERS, *ROW_FILES)) -> list[tuple[int, Path]]:
    """Files of generations or rows that the newest checkpoint vouches for, and that are gone.

    Each with the first generation that is lost with it; names: of the folders and files that are looked at.
    """
    for generation in reversed(checkpoint_generations(path)):
        try:
            voucher = _voucher(path, generation)
            rows = [(0, path / name) for name in ROW_FILES if name in names and name in voucher["rows"]]
            found = {name: [range(*span) for span in voucher["recorded"][name]] for name in FOLDERS if name in names}
            number = sum(len(span) for own in found.values() for span in own)
        except (RunFolderError, *UNREADABLE):
            continue  # it is damaged: the one before tells
        if number > MAX_RECORDED:  # not written by us
            return []
        lost = {name: sorted({*chain(*own)}.difference(generations_in(path / name))) for name, own in found.items()}
        gone = [(one, arrays_path(path / name, one)) for name, own in lost.items() for one in own]
        return [(one, file) for one, file in (*rows, *gone) if not file.is_file()]
    return []


def _voucher(path: Path, generation: int) -> dict[str, Any]:
    return from_json(facts_in(arrays_path(path / CHECKPOINTS, generation))["voucher"])


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
    return generations_in(path / CHECKPOINTS)


def generations_in(folder: Path) -> list[int]:
    """The generations that a folder holds files of, oldest first; whatever else lies there is none of a run's."""
    return [generation for generation, file in own_files(folder) if file.suffix != PART]


def own_files(folder: Path) -> list[tuple[int, Path]]:
    """The files of generations in a folder, in order; whatever else lies there is none of a run's, and left alone."""
    # Names are padded to six digits, and longer from a million generations on.
    pattern = re.compile(rf"([0-9]{{6}}|[1-9][0-9]{{6,8}})\.safetensors({re.escape(PART)})?")
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(match[1]), file) for file in files if (match := pattern.fullmatch(file.name)) and file.is_file())


def arrays_path(folder: Path, generation: int) -> Path:
    """The file of a generation."""
    return folder / f"{generation:06d}.safetensors"


def load_checkpoint(path: Path, generation: int | None = None, *, before: int | None = None) -> tuple[int, Arrays]:
    """The newest intact checkpoint, or that of a generation. A damaged one is named and passed over.

    Of the newest ones, that is taken from which a generation ``before`` can be done again, where there is one.
    """
    available = checkpoint_generations(path)
    miss_last(path, available)
    if before is not None:
        available = [one for one in available if one <= before and has_checkpoint(path, one)] or available
    if generation is not None and generation not in available:
        raise RunFolderError(f"{path} has no checkpoint of generation {generation}; kept: {summary(available)}.")
    for candidate in reversed(available) if generation is None else [generation]:
        arrays = _intact(path, candidate)
        if arrays is not None:
            return candidate, arrays
        text = f"The checkpoint {arrays_path(path / CHECKPOINTS, candidate)} is damaged."
        if generation is not None:
            raise RunFolderError(text)
        warnings.warn(f"{text} The one before is used.", stacklevel=2)
    check_not_left_out(path)
    anew = command_line("train", "--config", path / "config.toml")
    raise RunFolderError(f"{path} has no intact checkpoint. Start the run anew with: {anew}")


def miss_last(path: Path, available: Sequence[int]) -> None:
    """Say that the last checkpoint is gone; a run that reached its end has always recorded its last generation."""
    try:
        last = int(_voucher(path, available[-1])["config"]["generations"]) if available else 0
    except (RunFolderError, *UNREADABLE):
        return  # it is damaged, which is said
    if available and available[-1] < last and arrays_path(path / FOLDERS[0], last - 1).is_file():
        text = f"{path} has no checkpoint of generation {last}, its last: it was removed, or the run was killed."
        warnings.warn(f"{text} That of generation {available[-1]} is used.", stacklevel=3)


def check_not_left_out(path: Path) -> None:
    """Refuse a folder without checkpoints; a run has them from its beginning."""
    if not (path / CHECKPOINTS).is_dir():
        text = f"{path} has no checkpoints: they were left out of an export, or lost. It cannot go on."
        raise RunFolderError(f"{text} What there is of it is shown by: {command_line('show', path)}")


def check_config(path: Path, generation: int, config: Config) -> None:
    """Refuse a configuration, or settings of JAX, that did not make a checkpoint."""
    voucher = _voucher(path, generation)
    made_by, made_with = dict(flat(voucher["config"])), dict(voucher.get("jax", {}))
    for name, value in jax_settings().items():
        if made_with.get(name, value) != value:
            text = (
                f"{path} was made with {name}={made_with[name]}, and now it is {value}: it would not go on as it began"
            )
            raise RunFolderError(f"{text}. Set that environment variable as it was.")
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


def _intact(path: Path, generation: int) -> Arrays | None:
    """A checkpoint's arrays, if they and its voucher are as they were written."""
    try:
        _voucher(path, generation)["config"].items()
        return state_in(arrays_path(path / CHECKPOINTS, generation))
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
