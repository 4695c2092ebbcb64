"""Studies of several seeds: interrupted they go on, and they know which centers they looked at."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import Run, RunFolderError, evolve
from evolvability.config.schema import changed
from evolvability.runs.writer import RunWriter
from evolvability.studies.adaptation import adapt, load_adaptation
from evolvability.studies.adapters import AdaptationContext
from evolvability.studies.offspring import kept_generation, kept_offspring, offspring_of_run
from evolvability.studies.races import load_race, race
from evolvability.studies.result_files import is_current, keep, kept
from evolvability.tasks.base import Task


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("studied") / "run"
    options = {"num_steps": 10, "hidden": 4}
    evolve(
        "point", objective="max_variance", seeds=3, generations=2, population_size=8, task_options=options, output=path
    )
    return Run(path)


STUDIES: dict[str, tuple[Callable[[Run], Any], Callable[[Run], Any], Callable[[Run], int | None]]] = {
    "adapt": (
        lambda run: adapt(run, ["left", "right"], mutations=4, repeats=2),
        lambda run: load_adaptation(run, "right").repeated,
        lambda run: load_adaptation(run, "right").generation,
    ),
    "race": (
        lambda run: race(run, ["left", "right"], episodes=4, repeats=2),
        lambda run: load_race(run, "right", "mutations").repeated,
        lambda run: load_race(run, "right", "mutations").generation,
    ),
    "offspring": (
        lambda run: offspring_of_run(run, number=6, save=True),
        lambda run: np.concatenate(kept_offspring(run)),
        lambda run: kept_generation(run, run.config.population_options.sigma),
    ),
}


@pytest.mark.parametrize(
    "name", ["offspring", *(pytest.param(name, marks=pytest.mark.full) for name in ("adapt", "race"))]
)
def test_a_study_repeats_itself_and_says_of_which_centers_it_is(name: str, run: Run) -> None:
    study, result, generation = STUDIES[name]
    study(run)
    first = result(run)
    study(run)
    np.testing.assert_array_equal(result(run), first)
    assert generation(run) == 2
    assert not list(run.path.rglob("*.former"))  # the same result replaces nothing


@pytest.mark.parametrize("kind", ["races", "offspring"])
def test_a_result_is_read_as_it_was_kept_and_a_torn_one_is_told(kind: str, run: Run) -> None:
    value = np.array([[[0.5, np.nan]]] * len(run.seeds))
    own: dict[str, dict[str, Any]] = {
        "races": {"goal": "left", "adapter": "mutations", "episodes": np.array([0]), "repeated": value},
        "offspring": {"behavior": value},
    }
    table: dict[str, Any] = {"generation": 2, **own[kind]}
    keep(run, kind, "one result", {**table, "unknown": None})
    found = kept(run, kind, "one result")
    assert found.keys() == table.keys()
    assert all(found[name] == table[name] for name in found if isinstance(table[name], (str, int)))
    np.testing.assert_array_equal(found["repeated" if kind == "races" else "behavior"], value)
    (path,) = (run.path / kind).glob("one-result.*")
    path.write_bytes(b"{")
    with pytest.raises(RunFolderError, match="damaged"):
        kept(run, kind, "one result")
    path.unlink()
    with pytest.raises(RunFolderError, match=r"one-result.*ees something"):
        kept(run, kind, "one result", "ees something")


def test_a_study_of_earlier_centers_is_not_current(run: Run, tmp_path: Path) -> None:
    assert is_current(run, 2)
    assert is_current(run, None)  # an older version did not say
    assert not is_current(run, 1)
    shutil.copytree(run.path, tmp_path / "slim", ignore=shutil.ignore_patterns("checkpoints"))
    assert is_current(Run(tmp_path / "slim"), 1)  # a copy without centers


def test_a_race_mutates_by_the_sigma_that_training_ended_with(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run.path, tmp_path / "run")
    RunWriter(tmp_path / "run").write_config(changed(run.config, sigma=0.4, sigma_decay=0.5))
    seen: list[float] = []

    def noted(task: Task, evaluate: Any, sigma: float, *others: Any) -> AdaptationContext:
        seen.append(sigma)
        raise KeyboardInterrupt  # the rest of a race is not of interest here

    monkeypatch.setattr("evolvability.studies.races.AdaptationContext", noted)
    with pytest.raises(KeyboardInterrupt):
        race(Run(tmp_path / "run"), ["left"])
    assert seen == [pytest.approx(0.4 / 2**2)]  # after two generations
