"""What code a simulator consists of: workers import it from their own files, which may be others than the driver's."""

import ast
import hashlib
import importlib
import importlib.util
import io
import pickle
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = tuple(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
"""Where installed packages lie: they are known by their versions."""
PYTHON = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib"))
SIMULATORS = {"mujoco": "mujoco", "gymnasium": "gymnasium", "pybullet": "pybullet", "Box2D": "box2d"}
"""Modules that simulate, by the packages that they are of."""


class _Named(pickle.Unpickler):
    """Notes the modules that a pickle names, and so has imported where it is loaded."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        # Functions of a script travel whole, and the modules that they use by this function of cloudpickle's.
        is_module = module.startswith("cloudpickle") and name == "subimport"
        return self._module if is_module else super().find_class(module, name)

    def _module(self, name: str) -> Any:
        self.modules.add(name)
        return importlib.import_module(name)


def code_of(pickled: bytes) -> dict[str, str]:
    """What tells every module that a pickle names, and those that these import, from other versions of it."""
    named = _Named(pickled)
    named.load()
    found: dict[str, str] = {}
    left = sorted(named.modules)
    while left:
        name = left.pop()
        if name not in found and (mark := mark_of(name)):
            found[name] = mark
            left += _imported_by(name)
    return found


def mark_of(name: str) -> str:
    """A checksum of a module's file, or an installed package's version; empty for Python's own."""
    path = str(getattr(importlib.import_module(name), "__file__", None) or "")
    if path.startswith(PACKAGES):
        return _version(name.partition(".")[0])
    if not path or name == "__main__" or path.startswith(PYTHON):
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def simulators_loaded() -> Iterable[str]:
    """The packages of simulators that this process has imported."""
    return [package for module, package in SIMULATORS.items() if module in sys.modules]


@cache
def _version(package: str) -> str:
    """Of the distribution that a package of modules is of, which may have another name."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ", ".join(metadata.version(name) for name in metadata.packages_distributions().get(package, ()))


def _imported_by(name: str) -> set[str]:
    """The modules that a module's text imports anywhere, also inside of functions, and that are loaded here."""
    module = sys.modules[name]
    path = Path(str(module.__file__))
    if path.suffix != ".py" or str(path).startswith(PACKAGES):
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
            names.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
    # What this package imports is its own affair: its versions are compared as such.
    is_ours = name.partition(".")[0] == __package__.partition(".")[0]
    files = {one: str(getattr(sys.modules[one], "__file__", "")) for one in names & sys.modules.keys()}
    return {one for one, file in files.items() if not (is_ours and file.startswith(PACKAGES))}
