"""Runs to explore, made once for all tests of the explorer."""

from collections.abc import Iterator

import pytest

from evolvability import Run, evolve
from evolvability.config.schema import layered
from tests.explorer.serving import serving


@pytest.fixture(scope="session")
def ant_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Twenty ants, of which every generation's center was kept but that of the middle one."""
    path = tmp_path_factory.mktemp("runs") / "ant"
    options = {"num_steps": 150, "hidden": 16}
    values = {"generations": 3, "population_size": 20, "seeds": 2, "checkpoint_seconds": 1e6, "task_options": options}
    evolve("ant", layered("ant", values=values), output=path)
    (path / "centers" / "000001.safetensors").unlink()
    return Run(path)


@pytest.fixture(scope="session")
def lucky_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ants in two episodes each, from start states that differ."""
    path = tmp_path_factory.mktemp("runs") / "lucky"
    options = {"num_steps": 100, "hidden": 16, "start_noise": 0.1}
    values = {"generations": 1, "population_size": 12, "sigma": 0.5, "episodes": 2, "task_options": options}
    evolve("ant", layered("ant", values=values | {"objective": "max_covariance"}), output=path)
    return Run(path)


@pytest.fixture(scope="session")
def pattern_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "interference"
    values = {"generations": 30, "population_size": 64, "record_every": 10}
    evolve("interference", layered("interference", values=values), output=path)
    return Run(path)


@pytest.fixture(scope="session")
def served(ant_run: Run) -> Iterator[str]:
    with serving(ant_run) as address:
        yield address
