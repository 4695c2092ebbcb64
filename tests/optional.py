"""Packages that not every platform has a wheel of: what needs them skips there, and says why."""

from importlib.util import find_spec

import pytest

from evolvability.core.errors import install_line


def needs(package: str, extra: str) -> pytest.MarkDecorator:
    """Marks a test, or all of a module as its `pytestmark`."""
    missing = find_spec(package) is None
    return pytest.mark.skipif(
        missing, reason=f"{package} is not installed. Where it has a wheel: {install_line(extra)}"
    )


BOX2D, PYBULLET = needs("Box2D", "box2d"), needs("pybullet", "bullet")
