"""What studies found about a run, kept in its folder as ``KIND/NAME``: one reader and one writer for all of them.

A result is a table of facts (a goal, a generation) and arrays. Those of a few numbers are JSON, for people to read;
those of many are safetensors, with their facts in the metadata. docs/run-folder.md lists the files.
"""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.core.errors import RunFolderError
from evolvability.runs import sealed
from evolvability.runs.checkpoints import checkpoint_generations
from evolvability.runs.files import command_line, slug, writing
from evolvability.runs.folder import Run

ADAPTATIONS, RACES, OFFSPRING = "adaptations", "races", "offspring"
AS_JSON = (ADAPTATIONS, RACES)
FORMER = ".former"
"""Ends the name under which a result is kept that another one replaces."""
HOLDS: dict[str, dict[str, int | None]] = {
    ADAPTATIONS: {"goal": None, "start_noise": 0, "scores": 2, "repeated": 3, "generation": 0}
    | {"episodes": 0, "circumstances": None},
    RACES: {"goal": None, "adapter": None, "episodes": 1, "repeated": 3, "generation": 0}
    | dict.fromkeys(("fixed", "drawn", "drawn_fixed"), 3),
    OFFSPRING: {"behavior": 3, "generation": 0, "own": 0},
}
"""What a result of each kind holds: texts, and numbers with so many axes; of three or two, the first is of seeds."""
MAY_LACK = {
    ADAPTATIONS: {"generation", "episodes", "circumstances"},
    RACES: {"generation", "fixed", "drawn", "drawn_fixed"},
    OFFSPRING: {"generation", "own"},
}
"""What not every result of a kind holds."""

HostArray = np.ndarray[Any, Any]


def keep(run: Run, kind: str, name: str, table: dict[str, Any]) -> None:
    """Keep a result; a fact that is None is left out."""
    path = _path(run, kind, name)
    arrays = {key: value for key, value in table.items() if isinstance(value, np.ndarray)}
    facts = {key: value for key, value in table.items() if key not in arrays and value is not None}
    if kind in AS_JSON:
        data = sealed.to_json(facts | {key: _to_lists(array) for key, array in arrays.items()}).encode()
    else:
        data = sealed.to_bytes(arrays, {key: json.dumps(value) for key, value in facts.items()})
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not _is_same(path, data, arrays, facts):
            beside = sealed.keep_beside(path, FORMER)
            text = f"{path} held another result, of other settings or other centers. It is kept as {beside.name}."
            warnings.warn(text, stacklevel=3)
        sealed.write_whole(path, data)


def _is_same(path: Path, data: bytes, arrays: dict[str, HostArray], facts: dict[str, Any]) -> bool:
    """Whether a file has this result. Not by its bytes alone: safetensors writes texts in any order."""
    if path.suffix == ".json":
        return path.read_bytes() == data
    try:
        found, texts = sealed.read_arrays(path)
    except RunFolderError:  # damaged
        return False
    known = {key: json.loads(value) for key, value in texts.items()}
    same = (np.array_equal(found[key], array, equal_nan=True) for key, array in arrays.items() if key in found)
    return known == facts and found.keys() == arrays.keys() and all(same)


def kept(run: Run, kind: str, name: str, command: str = "") -> dict[str, Any]:
    """The result of a name; where there is none, the error says which there are, and the command that makes it."""
    path = _path(run, kind, name)
    if not path.is_file():
        known = ", ".join(kept_names(run, kind)) or "none"
        raise RunFolderError(f"{run.path} has no {kind}/{path.name}; there are: {known}. Make it: {command}")
    try:
        if kind in AS_JSON:
            table = {key: _from_lists(value) for key, value in sealed.read_json(path).items()}
        else:
            arrays, facts = sealed.read_arrays(path)
            table = {key: json.loads(value) for key, value in facts.items()} | arrays
        _check(table, kind, len(run.seeds))
    except (ValueError, RecursionError) as error:
        raise sealed.damaged(path, error) from None
    return table


def how_to_make(runs: Sequence[Run], function: str, command: str, *options: str) -> str:
    """How to make what is not kept yet: by a command, or by a function of a study where a run needs objects."""
    for run in runs:
        if objects := [name for name in run.config.from_python if name in ("task", "population")]:
            given = ", ".join(f"{name}=..." for name in objects)
            return f"evolvability.studies.{function} of Run({str(run.path)!r}, {given}), from Python"
    return command_line(command, *(run.path for run in runs), *options)


def kept_names(run: Run, kind: str) -> list[str]:
    """The names of all results of a kind, as their files have them."""
    suffix = _path(run, kind, "any").suffix
    return sorted(path.stem for path in (run.path / kind).glob(f"*{suffix}"))


def is_current(run: Run, generation: int | None) -> bool:
    """Whether a study looked at the centers that a run has now; of older folders and of slim exports, yes."""
    known = checkpoint_generations(run.path)
    return generation is None or not known or generation == max(known)


def _check(table: dict[str, Any], kind: str, num_seeds: int) -> None:
    """Refuse a table that a study did not write: one from elsewhere may hold anything."""
    for name in table.keys() | (HOLDS[kind].keys() - MAY_LACK[kind]):
        value, axes = table.get(name), HOLDS[kind].get(name, -1)
        if axes is None:
            fits = isinstance(value, str)
        else:
            array = np.asarray(value)
            fits = array.dtype.kind in "fiu" and array.ndim == axes and bool(array.size)
            fits = fits and (axes < 2 or len(array) == num_seeds)
        if not fits:
            raise ValueError(f"'{name}' is not what was written")


def _path(run: Run, kind: str, name: str) -> Path:
    return run.path / kind / (slug(name) + (".json" if kind in AS_JSON else ".safetensors"))


def _to_lists(values: HostArray) -> Any:
    """Nested lists, rounded to what float32 holds; null stands for what is not finite, which JSON cannot say."""
    if values.ndim:
        return [_to_lists(part) for part in values]
    if np.issubdtype(values.dtype, np.integer):
        return int(values)
    return float(f"{values:.7g}") if np.isfinite(values) else None


def _from_lists(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    array = np.array(value)
    return array.astype(np.float64) if array.dtype == object else array  # null becomes nan
