"""A deterministic run: what it asks of the compiler, and what it refuses."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from evolvability import Run, evolve
from evolvability.training.driver import resume

TINY: dict[str, Any] = {"population_size": 16, "generations": 2, "deterministic": True}


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for a GPU, done here: the CPU's compiler takes the GPU's options, and has no use for them."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")


@pytest.mark.usefixtures("on_gpu")
def test_a_deterministic_run_is_written_resumed_and_the_same(tmp_path: Path) -> None:
    straight = evolve("point", **TINY)
    evolve("point", **{**TINY, "generations": 1}, output=tmp_path / "run")
    resume(tmp_path / "run", generations=2)
    np.testing.assert_array_equal(Run(tmp_path / "run").centers, straight.centers)
