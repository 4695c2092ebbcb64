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
    if path.startswith(INSTALLED):  # the parts of a package, and modules that are its own business, come with it
        return "" if "." in name or name.startswith("_") else version_of(name)
    if name == "__main__" or path.startswith(PYTHON) or not Path(path).is_file():  # none, or gone by now
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]


@cache
def version_of(package: str) -> str:
    """The version of an installed package, or where that has another name, of its module."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if version := getattr(sys.modules[package], "__version__", None):
            return str(version)
    owners = _distributions().get(package, ())  # after reading what every package consists of: most of a second
    return ",".join(sorted({metadata.version(name) for name in owners}))
