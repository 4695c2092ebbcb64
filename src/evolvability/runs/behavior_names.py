"""What the behaviors of a run are called on axes and in tables; kept in its folder as ``behavior.json``."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from evolvability.core.errors import RunFolderError
from evolvability.runs.sealed import read_json, to_json, write_whole

NAMES_FILE = "behavior.json"
MAX_LETTERS = 60
"""Of a name: a run folder from somebody else could hold a book."""


def keep_names(path: Path, names: Sequence[str]) -> None:
    """Keep the names of all behavior dimensions in a run folder."""
    write_whole(path / NAMES_FILE, to_json({"names": list(names)}).encode())


def behavior_names(path: Path, number: int) -> list[str]:
    """The names of so many behavior dimensions: those kept in a run folder, or else numbers."""
    try:
        names = [str(name)[:MAX_LETTERS] for name in read_json(path / NAMES_FILE)["names"]]
        if len(names) == number:
            return names
        raise RunFolderError(f"{path / NAMES_FILE} has {len(names)} names for {number} behavior dimensions.")
    except (RunFolderError, KeyError, TypeError) as error:
        reason = error if isinstance(error, RunFolderError) else f"{path / NAMES_FILE} has no names: it is damaged."
        warnings.warn(f"{reason} Dimensions are called by numbers.", stacklevel=2)
    return [f"behavior {index}" for index in range(number)]
