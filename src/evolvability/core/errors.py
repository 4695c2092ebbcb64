"""Errors that a user can correct. The command line prints their text alone, without a traceback."""

import difflib
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

CLONE = Path(__file__).parents[3]  # the repository, if the package runs from a clone of it


class UserError(Exception):
    """Something the user can put right; the text says what was expected, what came, and what to do."""


class ConfigError(UserError, ValueError):
    """A configuration that no run can be made of."""


class TaskError(UserError, ValueError):
    """A task's own function did something that no generation can be made of."""


class ClusterError(UserError):
    """Workers cannot be had, or not any more. What was finished before is kept."""


class RunFolderError(UserError):
    """A run folder that cannot be written, read or resumed."""


def unknown(kind: str, name: str, available: Iterable[str], *, also: str = "") -> str:
    """The text for a name that does not exist: what may have been meant, and what there is.

    Examples:
        >>> unknown("task", "antt", ["ant", "cheetah"])
        "Unknown task 'antt'. Did you mean 'ant'? Available: ant, cheetah."
    """
    names = sorted(available)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"Unknown {kind} '{name}'.{hint} Available: {', '.join(names)}{also}."


def missing_extra(purpose: str, package: str | None, extra: str, *, note: str = "") -> ConfigError:
    """The error for a package that only some uses need, and that is not installed; an extra of this project brings it.

    Examples:
        >>> str(missing_extra("The engine fused", "mujoco", "locomotion"))  # doctest: +ELLIPSIS
        "The engine fused needs the package 'mujoco' (extra 'locomotion'), which is not installed. Install it with: ..."
    """
    text = f"{purpose} needs the package '{package}' (extra '{extra}'), which is not installed. {note}".rstrip()
    return ConfigError(f"{text} Install it with: {install_line(extra)}")


def install_line(extra: str) -> str:
    """The command that installs an extra for the Python that is running.

    No index has this project, so that its name alone installs nothing: the clone's path is named, or, for a package
    that was installed from a wheel, what the extra consists of.
    """
    if (CLONE / "pyproject.toml").is_file():
        return f"{sys.executable} -m pip install -e '{CLONE / 'physics'}' -e '{CLONE}[{extra}]'"
    lines = [line.partition(";") for line in metadata.requires("evolvability-es") or ()]
    wanted = [f"'{name.strip()}'" for name, _, condition in lines if f'extra == "{extra}"' in condition]
    return f"{sys.executable} -m pip install {' '.join(wanted)}"
