"""What is compiled for tests is not optimized, but in the full tier: compiling takes most of their time."""

import contextlib
import importlib
import os
from pathlib import Path

import pytest

os.environ.setdefault("WARP_CACHE_PATH", str(Path(__file__).parents[2] / ".pytest_cache" / "kernels"))


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr != "full":
        with contextlib.suppress(ImportError):
            importlib.import_module("warp").config.optimization_level = 0
