"""What code a simulator consists of: workers import it from their own files, which may be others than the driver's."""

import hashlib
import importlib
import io
import pickle
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

INSTALLED = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
"""Where installed packages lie: those that matter are told apart by their versions."""
SIMULATORS = {"mujoco": "mujoco", "gymnasium": "gymnasium", "pybullet": "pybullet", "Box2D": "box2d"}
"""Modules that simulate, by the packages that they are of."""


class _Named(pickle.Unpickler):
    """Notes the modules that a pickle names, and so has imported where it is loaded."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> object:
        self.modules.add(module)
        found: object = super().find_class(module, name)
        return found


def code_of(pickled: bytes) -> dict[str, str]:
    """A checksum of the file of every module that a pickle names, and of those that these use, by the modules' names.

    Of installed packages there is none.
    """
    named = _Named(pickled)
    named.load()
    found: dict[str, str] = {}
    left = sorted(named.modules)
    while left:
        name = left.pop()
        if name not in found and (checksum := file_checksum(name)):
            found[name] = checksum
            left += _used_by(sys.modules[name])
    return found


def file_checksum(name: str) -> str:
    """That of a module's file; empty for what has none, or is an installed package's."""
    path = getattr(importlib.import_module(name), "__file__", None)
    if path is None or name == "__main__" or str(path).startswith(INSTALLED):
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def simulators_loaded() -> Iterable[str]:
    """The packages of simulators that this process has imported."""
    return [package for module, package in SIMULATORS.items() if module in sys.modules]


def _used_by(module: ModuleType) -> set[str]:
    """The modules that a module's names are of."""
    values = list(vars(module).values())
    names = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) for value in values
    }
    return {name for name in names if isinstance(name, str) and name in sys.modules}
