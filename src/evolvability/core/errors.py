"""Errors that a user can correct. The command line prints their text alone, without a traceback."""

import difflib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import metadata
from pathlib import Path
from typing import Any

MANY = 30
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


def described(error: BaseException) -> str:
    """An error of somebody's code in a few words: its type, and its text where it has one.

    >>> described(KeyError("leg")), described(KeyboardInterrupt())
    ("KeyError: 'leg'", 'KeyboardInterrupt')
    """
    return f"{type(error).__name__}: {text}" if (text := str(error).strip()) else type(error).__name__


_in_shell = ContextVar("_in_shell", default=False)


@contextmanager
def shell_words() -> Iterator[None]:
    """Inside, texts for people name settings as the command line does, and as Python does elsewhere."""
    token = _in_shell.set(True)
    try:
        yield
    finally:
        _in_shell.reset(token)


def in_words(python: str, shell: str) -> str:
    """Advice to whoever calls: from Python the one, from the command line the other."""
    return shell if _in_shell.get() else python


def given(**settings: Any) -> str:
    """Settings as the caller would write them.

    >>> given(goal="left", mirrored=False)
    "goal='left', mirrored=False"
    >>> with shell_words():
    ...     given(goal="left", mirrored=False)
    '--goal left --no-mirrored'
    """
    python = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return in_words(python, " ".join(_option(name.replace("_", "-"), value) for name, value in settings.items()))


def _option(name: str, value: Any) -> str:
    return f"--{'' if value else 'no-'}{name}" if isinstance(value, bool) else f"--{name} {value}"


def unknown(kind: str, name: str, available: Iterable[str], *, also: str = "") -> str:
    """The text for a name that does not exist: what may have been meant, and what there is, unless that is `MANY`.

    Examples:
        >>> unknown("task", "antt", ["ant", "cheetah"])
        "Unknown task 'antt'. Did you mean 'ant'? Available: ant, cheetah."
    """
    names = sorted(available)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    there_are = f"There are {len(names)}" if len(names) >= MANY else f"Available: {', '.join(names)}"
    return f"Unknown {kind} '{name}'.{hint} {there_are}{also}."


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
