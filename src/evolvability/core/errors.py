"""Errors a user can mend. The command line prints their text alone, without a traceback."""

import difflib
from collections.abc import Iterable


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
