"""What the files of a run folder must hold to be used: an intact one may come from somebody else, and hold anything."""

from pathlib import Path
from typing import Any

import numpy as np

from evolvability.config.schema import Config
from evolvability.config.tables import from_table
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.types import is_usable
from evolvability.runs.rows import Row
from evolvability.runs.sealed import UNREADABLE, Arrays, damaged, read_arrays, read_json

PACK = 1000
"""Rows that are packed together."""
OF_MEMBERS = ("fitness", "valid", "component")


def arrays_of(path: Path) -> Arrays:
    """The arrays in the file of a generation, which says by itself of which it is."""
    arrays, facts = read_arrays(path)
    if (found := facts.get("generation")) != path.stem:
        raise damaged(path, ValueError(f"it is that of generation {found}"))
    return arrays


def behaviors_in(path: Path, num_seeds: int) -> Arrays:
    """One generation's arrays, of the shapes that a run writes; who is not finite is not valid."""
    arrays = arrays_of(path)
    whole, *others = [np.shape(arrays.get(name, 0)) for name in ("behavior", *OF_MEMBERS)]  # () of what is missing
    if len(whole) != 3 or whole[0] != num_seeds or not whole[-1] or set(others) != {whole[:2]}:
        expected = f"{num_seeds} seeds' behavior, fitness, valid and component are expected"
        raise damaged(path, ValueError(expected))
    several: tuple[int, ...] = np.shape(arrays.get("episodes", arrays["behavior"][:, :, None]))
    if len(several) != 4 or not several[2] or (*several[:2], several[3]) != whole:
        raise damaged(path, ValueError(f"episodes of {whole[1]} members with {whole[2]} behaviors are expected"))
    finite = is_usable(arrays["behavior"]).all(axis=2)
    return arrays | {"valid": arrays["valid"].astype(bool) & finite}


def state_in(path: Path) -> Arrays:
    """A State, or what a generation was drawn around: centers (num_seeds, num_components, num_params) and keys."""
    arrays = arrays_of(path)
    center, key = arrays.get("parameters/center", np.zeros(0)), arrays.get("key", np.zeros(0))
    if (center.ndim, key.ndim, center.dtype.kind) != (3, 2, "f") or not center.size or len(center) != len(key):
        raise damaged(path, ValueError("centers and keys are expected"))
    return arrays


def environment_in(path: Path) -> dict[str, Any]:
    """Versions, devices and commit."""
    table = read_json(path)
    if not isinstance(table.get("packages"), dict) or not isinstance(table.get("devices"), list):
        raise damaged(path, ValueError("packages and devices are expected"))
    return {"python": None, "platform": None, "commit": None} | table | {"devices": [*map(str, table["devices"])]}


def origin_in(path: Path) -> dict[str, Any]:
    """What is recorded of the run that another started from."""
    table = read_json(path)
    try:
        from_table(table["config"], Config)
    except (ConfigError, *UNREADABLE):
        text = "the configuration of the run that this one started from is expected"
        raise damaged(path, ValueError(text)) from None
    return table


class Metrics(dict[str, np.ndarray[Any, Any]]):
    """Every metric by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""

    def __init__(self, path: Path, rows: list[Row], num_seeds: int) -> None:
        self.path = path
        try:
            super().__init__(metric_arrays(rows, num_seeds))
        except (ValueError, TypeError, OverflowError) as error:  # rows from elsewhere may hold anything
            raise damaged(path, error) from None

    def __missing__(self, name: str) -> np.ndarray[Any, Any]:
        raise RunFolderError(f"{self.path} has no metric '{name}'; there are: {', '.join(self) or 'none'}.")


def metric_arrays(rows: list[Row], num_seeds: int) -> Arrays:
    """Rows as arrays by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""
    names = set[str]().union(*rows) - {"seed"}
    if names <= {"generation"}:  # all rows are lost
        return {}
    columns = {name: _column([row.get(name) for row in rows]) for name in sorted(names)}
    # Rows lie generation after generation, each with its seeds in order.
    return {name: column.reshape(-1, num_seeds, *column.shape[1:]).swapaxes(0, 1) for name, column in columns.items()}


class PackedRows:
    """Rows of metrics, packed as they come: as dictionaries those of a long run would fill the memory."""

    def __init__(self, num_seeds: int, before: Arrays | None = None) -> None:
        self._num_seeds, self._parts, self._rows = num_seeds, [before] if before else [], list[Row]()

    def extend(self, rows: list[Row]) -> None:
        """Add whole generations."""
        self._rows += rows
        if len(self._rows) >= PACK:
            self._parts.append(metric_arrays(self._rows, self._num_seeds))
            self._rows = []

    def arrays(self) -> Arrays:
        """All of them, as `metric_arrays` has them."""
        parts = [*self._parts, metric_arrays(self._rows, self._num_seeds)] if self._rows else self._parts
        shapes = {name: values.shape[2:] for part in parts for name, values in sorted(part.items())}
        lost = [
            {name: np.full((*part["generation"].shape, *shapes[name]), np.nan) for name in shapes} for part in parts
        ]
        whole = [nan | part for nan, part in zip(lost, parts, strict=True)]
        return {name: np.concatenate([part[name] for part in whole], axis=1) for name in sorted(shapes)}


def _column(values: list[Any]) -> np.ndarray[Any, Any]:
    """One metric of all rows; a row may be lost, or lack a name that a later version added."""
    shape = next((np.shape(value) for value in values if value is not None), ())
    return np.array([np.full(shape, np.nan) if value is None else value for value in values], np.float64)
