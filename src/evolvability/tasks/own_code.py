"""Code of the user: found by the name ``module:name``, its errors reported as ones that the user can correct."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evolvability.core.errors import ConfigError, TaskError, UserError, described


@contextlib.contextmanager
def explain_errors(what: str, kind: type[UserError] = TaskError, advice: str = "") -> Iterator[None]:
    """Whatever is raised inside, as an error of a kind: what happened, the error itself, and what to do.

    >>> with explain_errors("The simulator raised"):
    ...     {}["leg"]
    Traceback (most recent call last):
    evolvability.core.errors.TaskError: The simulator raised: KeyError: 'leg'
    """
    try:
        yield
    # Already an error of its own words; and Ctrl-C.
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # no code ends this program but its own, least of all with success
        raise kind(f"{what}: {described(error)}{advice}") from error


def imported(text: str, expected: str, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``module:name`` leads to, after ``use``; the module may lie in the working directory.

    An error in either is reported alike, with what was expected of the name.
    """
    module, _, name = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:  # last, as on workers: a user's numbers.py is not Python's
        sys.path.append(folder)
    with explain_errors(f"'{text}' could not be imported", ConfigError, f". Expected module:name, {expected}."):
        return use(getattr(importlib.import_module(module.removesuffix(".py")), name))
