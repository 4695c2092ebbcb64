"""Arguments that several commands have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from evolvability.core.errors import ConfigError
from evolvability.runs.folder import Run

RunPath = Annotated[Path, Positional, arg(metavar="RUN")]
RunPaths = Annotated[tuple[Path, ...], Positional, arg(metavar="RUN [RUN ...]")]
File = Annotated[Path | None, arg(metavar="FILE")]
Folder = Annotated[Path | None, arg(metavar="FOLDER")]
Count = Annotated[int, arg(metavar="N")]
Goals = Annotated[tuple[str, ...], arg(metavar="GOAL [GOAL ...]")]


def open_runs(paths: Sequence[Path]) -> list[Run]:
    """The run folders that a command was given, at least one."""
    if not paths:
        raise ConfigError("give at least one run folder.")
    return [Run(path) for path in paths]
