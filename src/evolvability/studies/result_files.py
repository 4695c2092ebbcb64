"""What studies found about a run, kept in its folder: one reader and one writer for all of them.

A result is a table of facts (a goal, a generation) and arrays. Small ones are JSON, for people to read; those with many
numbers are safetensors, with their facts in the metadata. docs/run-folder.md lists the files.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evolvability.core.errors import RunFolderError
from evolvability.runs.checkpoints import checkpoint_generations, write_whole
from evolvability.runs.files import slug
from evolvability.runs.folder import Run

HostArray = np.ndarray[Any, Any]
OneSeed = Callable[[int], dict[str, HostArray]]
"""From a seed's place among those of a run to what the study found about it."""


def write_result(path: Path, table: dict[str, Any]) -> None:
    """Write a table of facts and arrays, as JSON or safetensors: the file's suffix says which."""
    arrays = {name: np.array(value, order="C") for name, value in table.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in table.items() if name not in arrays and value is not None}
    if path.suffix == ".json":
        data = json.dumps(facts | {name: _to_lists(array) for name, array in arrays.items()}).encode()
    else:
        data = safetensors.numpy.save(arrays, {name: json.dumps(value) for name, value in facts.items()} or None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be written: {error.strerror or error}.") from None


def read_result(path: Path) -> dict[str, Any]:
    """What `write_result` wrote."""
    try:
        if path.suffix == ".json":
            return {name: _from_lists(value) for name, value in json.loads(path.read_text()).items()}
        with safetensors.safe_open(path, "numpy") as file:
            facts = {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
            return facts | {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise RunFolderError(f"{path} is damaged: {error}.") from None


def each_seed(run: Run, study: str, find: OneSeed, *, keep: bool = True) -> list[dict[str, HostArray]]:
    """What a study finds about every seed. Each is kept as soon as it is found, so an interrupted study resumes.

    In a run folder: ``unfinished/STUDY/SEED.safetensors``, until `finish` removes it.

    Args:
        run: the run.
        study: its name, with everything that decides what it finds.
        find: looks at one seed.
        keep: whether the name says it all: not where the caller brought a task of their own.
    """
    if not keep:
        return [find(index) for index in range(len(run.seeds))]
    found = []
    for index, seed in enumerate(run.seeds):
        path = _unfinished(run, study) / f"{seed}.safetensors"
        try:
            found.append(read_result(path))
        except RunFolderError:  # not there, or torn
            found.append(find(index))
            write_result(path, found[-1])
    return found


def finish(run: Run, studies: Sequence[str]) -> None:
    """Remove what was kept of studies whose results are in their own places now."""
    for study in studies:
        shutil.rmtree(_unfinished(run, study), ignore_errors=True)
    with suppress(OSError):  # there is none, or another study is not done
        (run.path / "unfinished").rmdir()


def is_current(run: Run, generation: int | None) -> bool:
    """Whether a study looked at the centers that a run has now; of older folders and of slim exports, yes."""
    known = checkpoint_generations(run.path)
    return generation is None or not known or generation == max(known)


def _unfinished(run: Run, study: str) -> Path:
    return run.path / "unfinished" / slug(study)


def _to_lists(values: HostArray) -> Any:
    """Nested lists, rounded to what float32 holds; what is not finite is null, which JSON has in its place."""
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
