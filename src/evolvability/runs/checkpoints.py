"""Checkpoints: a State as safetensors, which vouches for itself and for what was recorded before it."""

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from evolvability.config.schema import Config, to_table
from evolvability.config.tables import flat
from evolvability.core.errors import RunFolderError
from evolvability.runs import sealed
from evolvability.runs.contents import CHECKPOINTS, FOLDERS, arrays_path, generations_in, state_in
from evolvability.runs.environment import jax_settings
from evolvability.runs.files import command_line
from evolvability.runs.sealed import UNREADABLE, Arrays

MAY_CHANGE = {"generations", "checkpoint_seconds", "record_every", "record_centers", "max_invalid", "start_from"}
"""Settings of a run under way that do not change what comes next: how long it is, and what is kept."""
Recorded = Mapping[str, Sequence[int]]
"""By folder, ``behaviors`` and ``centers``: the generations of which it has a file."""
MAX_RECORDED = 1_000_000
KEPT = 3
"""How many checkpoints a run folder keeps: a damaged one has predecessors."""


def save_checkpoint(
    path: Path, generation: int, state: Arrays, config: Config, recorded: Recorded, *, kept: int = KEPT
) -> None:
    """Save a State's arrays in a run folder, with its configuration and what was recorded so far."""
    voucher = {
        "recorded": {folder: spans(generations) for folder, generations in recorded.items()},
        "config": to_table(config),
        "jax": jax_settings(),
    }
    file = arrays_path(path / CHECKPOINTS, generation)
    # The voucher has a checksum of its own, since it is read more often than the arrays beside it.
    facts = {"generation": file.stem, "voucher": sealed.to_json(voucher)}
    sealed.write_whole(file, sealed.to_bytes(state, facts))
    for old in checkpoint_generations(path)[:-kept]:
        arrays_path(path / CHECKPOINTS, old).unlink(missing_ok=True)


class Voucher(NamedTuple):
    """What a checkpoint knows of its run, beside the State."""

    recorded: dict[str, list[range]]
    """By folder, the generations that were recorded, in spans."""
    settings: dict[str, Any]
    """Those of the run, and those of JAX that change bits."""
    last: int
    """The last generation that was asked for."""


def _voucher(path: Path, generation: int) -> Voucher | None:
    """That of a checkpoint; None where it is damaged, or was not written by us."""
    try:
        table = sealed.from_json(sealed.facts_in(arrays_path(path / CHECKPOINTS, generation))["voucher"])
        recorded = {name: [range(*span) for span in table["recorded"].get(name, ())] for name in FOLDERS}
        if sum(map(len, chain(*recorded.values()))) > MAX_RECORDED:
            return None
        settings = dict(flat(table["config"])) | table.get("jax", {})
        return Voucher(recorded, settings, int(settings["generations"]))
    except (RunFolderError, *UNREADABLE):
        return None


def _newest_voucher(path: Path) -> Voucher | None:
    """That of the newest checkpoint; of a damaged one, the one before tells."""
    return next(filter(None, (_voucher(path, one) for one in reversed(checkpoint_generations(path)))), None)


def missing(path: Path, folder: str) -> list[int]:
    """The generations whose files the newest checkpoint vouches for, in one of `FOLDERS`, and that are gone."""
    recorded = chain(*voucher.recorded[folder]) if (voucher := _newest_voucher(path)) else ()
    return sorted({*recorded}.difference(generations_in(path / folder)))


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


def checkpoint_generations(path: Path) -> list[int]:
    """The generations of the checkpoints in a run folder, oldest first."""
    return generations_in(path / CHECKPOINTS)


def load_checkpoint(path: Path, generation: int | None = None, *, lost: Collection[int] = ()) -> tuple[int, Arrays]:
    """The newest intact checkpoint, or that of a generation. A damaged one is named and passed over.

    With generations of which something was ``lost``: the newest from which all those can be done again that can be.
    """
    available = checkpoint_generations(path)
    miss_last(path, available)
    sound = [one for one in available if intact(path, one) is not None] if lost else []
    if again := [one for one in lost if sound and one >= sound[0]]:
        available = [one for one in sound if one <= min(again)]
    if generation is not None and generation not in available:
        raise RunFolderError(f"{path} has no checkpoint of generation {generation}; kept: {summary(available)}.")
    for candidate in reversed(available) if generation is None else [generation]:
        arrays = intact(path, candidate)
        if arrays is not None:
            return candidate, arrays
        text = f"The checkpoint {arrays_path(path / CHECKPOINTS, candidate)} is damaged."
        if generation is not None:
            raise RunFolderError(text)
        warnings.warn(f"{text} The one before is used.", stacklevel=2)
    if not available:
        text = f"{path} has no checkpoints: they were left out of an export, or lost. Nothing can go on from it."
        raise RunFolderError(f"{text} What there is of it is shown by: {command_line('show', path)}")
    anew = command_line("train", "--config", path / "config.toml")
    raise RunFolderError(f"{path} has no intact checkpoint. Start the run anew with: {anew}")


def miss_last(path: Path, available: Sequence[int]) -> None:
    """Say that the last checkpoint is gone; a run that reached its end has always recorded its last generation."""
    voucher = _newest_voucher(path) if available else None
    if voucher and available[-1] < voucher.last and arrays_path(path / FOLDERS[0], voucher.last - 1).is_file():
        text = (
            f"{path} has no checkpoint of generation {voucher.last}, its last: it was removed, or the run was killed."
        )
        warnings.warn(f"{text} That of generation {available[-1]} is used.", stacklevel=3)


def check_config(path: Path, config: Config, generation: int | None = None) -> None:
    """Refuse a configuration, or settings of JAX, that did not make a checkpoint; default: the newest."""
    voucher = _newest_voucher(path) if generation is None else _voucher(path, generation)
    made_by = voucher.settings if voucher else {}
    now = jax_settings()
    asked = now | dict(flat(json.loads(json.dumps(to_table(config)))))
    for name in sorted(made_by.keys() & asked.keys() - MAY_CHANGE):
        if made_by[name] != asked[name]:
            what = f"{name} is {asked[name]!r} now, but the run was made with {made_by[name]!r}. Set it back to go on"
            if name in now:
                raise RunFolderError(f"{path}: the environment variable {what}.")
            may = f"What may change: {', '.join(sorted(MAY_CHANGE))}."
            raise RunFolderError(f"{path / 'config.toml'} was edited: {what}. {may}")


def intact(path: Path, generation: int) -> Arrays | None:
    """A checkpoint's arrays, if they and its voucher are as they were written."""
    try:
        return state_in(arrays_path(path / CHECKPOINTS, generation)) if _voucher(path, generation) else None
    except RunFolderError:
        return None


def summary(generations: list[int]) -> str:
    """A list of generations in a few words."""
    if not generations:
        return "none"
    return ", ".join(map(str, generations)) if len(generations) <= 6 else f"{generations[0]} to {generations[-1]}"
