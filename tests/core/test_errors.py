"""Messages that say what to do."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from evolvability.core import errors
from evolvability.core.errors import install_line, missing_extra


def test_in_a_clone_the_hint_names_the_clone_and_the_extra() -> None:
    clone = Path(__file__).parents[2]
    assert install_line("bullet") == f"{sys.executable} -m pip install -e '{clone / 'physics'}' -e '{clone}[bullet]'"


def test_elsewhere_the_hint_names_what_the_extra_consists_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No index has the project itself."""
    needed = ["jax>=0.10", 'mujoco>=4; extra == "locomotion"', 'pytest>=8; extra == "dev"']
    monkeypatch.setattr(errors, "CLONE", tmp_path)
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    assert install_line("locomotion").endswith(" -m pip install 'mujoco>=4'")


def test_the_hint_comes_last_so_that_it_can_be_copied() -> None:
    text = str(missing_extra("A walk", "legs", "bullet", note="Legs are rare."))
    assert text.startswith("A walk needs the package 'legs' (extra 'bullet'), which is not installed. Legs are rare. ")
    assert text.endswith(install_line("bullet"))
