"""What the commands that train have in common."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """Where the run goes, and what it starts from."""

    output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The run folder; runs/TASK-OBJECTIVE-N unless given."""
    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """A named set of values, from `ees list`; options given here win over it."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A TOML file of values, such as a run folder's config.toml; options given here win over it."""
    quiet: bool = False
    """Print nothing but the result."""


def lookup(arguments: Sequence[str], option: str) -> str | None:
    """The value of one option, before the rest is parsed."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        if argument == option:
            return following
        if argument.startswith(option + "="):
            return argument.removeprefix(option + "=")
    return None
