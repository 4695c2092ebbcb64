"""Code of the user's own, by the name ``module:name``."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evolvability.core.errors import ConfigError, UserError


def imported(text: str, expected: str, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``module:name`` leads to; the module may lie in the working directory.

    Args:
        text: the name.
        expected: what it should be, for the error's text.
        use: what is done with it; an error in that is told alike.
    """
    module, _, name = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:  # as `python -m` would do: a module beside the user's shell
        sys.path.insert(0, folder)
    try:
        return use(getattr(importlib.import_module(module.removesuffix(".py")), name))
    except UserError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise ConfigError(
            f"'{text}' could not be imported: {type(error).__name__}: {error}. Expected module:name, {expected}."
        ) from error
