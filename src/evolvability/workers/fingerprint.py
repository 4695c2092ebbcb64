"""What code a process runs. A worker that runs other code than the driver's would give other results without a word."""

import hashlib
import sys
import sysconfig
from collections.abc import Collection
from functools import cache
from importlib import metadata
from pathlib import Path

INSTALLED = tuple(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
"""Where installed packages lie: they are known by their versions."""
PYTHON = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib"))
_distributions = cache(metadata.packages_distributions)  # by the names of their modules


def code_here(known: Collection[str] = ()) -> dict[str, str]:
    """What tells the modules that are loaded here, but for the ``known``, from other versions of them."""
    return {name: mark for name in [*sys.modules] if name not in known and (mark := _mark_of(name))}


def _mark_of(name: str) -> str:
    """A checksum of a module's file, or an installed package's version; empty for Python's own, and for a script."""
    path = str(getattr(sys.modules.get(name), "__file__", None) or "")
    if path.startswith(INSTALLED):
        return "" if "." in name else version_of(name)
    if name == "__main__" or path.startswith(PYTHON) or not Path(path).is_file():  # none, or gone by now
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]


@cache
def version_of(package: str) -> str:
    """The version of an installed package, whose modules may have another name than it has."""
    found = {metadata.version(name) for name in _distributions().get(package, ())}
    return ",".join(sorted(found)) or str(getattr(sys.modules[package], "__version__", ""))
