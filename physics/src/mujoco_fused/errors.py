"""What this package raises, and checks of what it is given."""

from typing import Any

import mujoco
import numpy as np


class FusedError(Exception):
    """Anything that this package raises of its own accord."""


class UnsupportedModelError(FusedError, ValueError):
    """A model has something that is not compiled."""

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        """What is not supported, one sentence each."""
        super().__init__("This model cannot be compiled: " + " ".join(reasons))


class MissingPackageError(FusedError, ImportError):
    """Something is asked for that another package does, which is not installed."""

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs the package '{package}', which is not installed: pip install {install}.")


class ShapeError(FusedError, ValueError):
    """An array does not have the shape that a model asks for."""


def check_model(model: Any) -> None:
    """Raise an error for what is not a model."""
    if not isinstance(model, mujoco.MjModel):
        kind = type(model).__name__
        raise FusedError(f"Expected a mujoco.MjModel, got a {kind}. Files are read by mujoco.MjModel.from_xml_path.")


def check_number(name: str, number: Any) -> None:
    """Raise an error for what is not a whole number, or is too small."""
    if not isinstance(number, (int, np.integer)) or number < 1:
        raise FusedError(f"'{name}' is {number!r}, expected a whole number of 1 or more.")


def several(name: str, given: Any) -> tuple[Any, ...]:
    """What is given as a tuple; one text is not several, and would be taken letter by letter."""
    if isinstance(given, str):
        raise FusedError(f"'{name}' is the text {given!r}, expected several names: ({given!r},).")
    return tuple(given)
