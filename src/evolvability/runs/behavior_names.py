"""What the behaviors of a run are called on axes and in tables; kept in its folder as ``behavior.json``."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from evolvability.config.schema import Config
from evolvability.core.errors import RunFolderError, UserError
from evolvability.runs.sealed import read_json, to_json, write_whole
from evolvability.tasks.registry import TASKS, make_task, own_code

NAMES_FILE = "behavior.json"
MAX_LETTERS = 60
"""Of a name: a run folder from somebody else could hold a book."""


def keep_names(path: Path, names: Sequence[str]) -> None:
    """Keep the names of all behavior dimensions in a run folder."""
    write_whole(path / NAMES_FILE, to_json({"names": list(names)}).encode())


def behavior_names(path: Path, config: Config, number: int) -> list[str]:
    """The names of so many behavior dimensions: those kept, or else those that the task has now, or else numbers.

    Examples:
        >>> from evolvability.config.schema import layered
        >>> behavior_names(Path("older"), layered("point"), 2), behavior_names(Path("older"), layered("own:task"), 1)
        (['x', 'y'], ['behavior 0'])
    """
    names = _kept(path)
    if len(names) != number:
        names = _of_task(config)
    return names if len(names) == number else [f"behavior {index}" for index in range(number)]


def _kept(path: Path) -> list[str]:
    if not (path / NAMES_FILE).is_file():
        return []
    try:
        return [str(name)[:MAX_LETTERS] for name in read_json(path / NAMES_FILE)["names"]]
    except (RunFolderError, KeyError, TypeError) as error:
        warnings.warn(f"{error} Dimensions are called as the task calls them now, or by numbers.", stacklevel=2)
        return []


def _of_task(config: Config) -> list[str]:
    """For folders made before names were kept."""
    # Only tasks of this package are made: somebody's own, named in a run folder, would be code to execute.
    arguments = getattr(
        config.task_options, "env_arguments", "{}"
    )  # those of a folder from elsewhere are not passed on either
    is_file = bool(getattr(config.task_options, "model", ""))  # nor is a robot's
    if config.task in TASKS and not own_code(config.task, config.task_options) and arguments == "{}" and not is_file:
        with suppress(ImportError, UserError):  # its simulator may not be installed here
            return list(make_task(config.task, config.task_options).behavior)
    return []
