"""Sweeps: what is planned, what is skipped, what goes on, what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import ConfigError, Run, RunFolderError, UserError, evolve
from evolvability.studies.sweeps import Planned, conduct, plan

TABLE: dict[str, Any] = {
    "task": "interference",
    "population_size": 10,
    "generations": 3,
    "seeds": 3,
    "sweep": {"objective": ["max_variance", "max_entropy"]},
}


def test_a_plan_is_every_combination_with_each_objectives_own_defaults() -> None:
    sweep = {"objective": ["max_variance", "max_entropy"], "task_options": {"start": [1.0, 2.0]}}
    planned = plan({**TABLE, "sweep": sweep})
    assert [run.name for run in planned] == [
        "max_variance_start-1.0",
        "max_variance_start-2.0",
        "max_entropy_start-1.0",
        "max_entropy_start-2.0",
    ]
    assert [run.config.learning_rate for run in planned] == [0.03, 0.03, 0.1, 0.1]
    assert [run.config.task_options.start for run in planned] == [1.0, 2.0, 1.0, 2.0]


def test_seeds_run_in_one_batch_where_they_fit() -> None:
    assert [run.config.seeds for run in plan({**TABLE, "seeds_per_run": 3})] == [3, 3]
    parts = plan({**TABLE, "seeds": 5, "seed": 10, "seeds_per_run": 2, "sweep": {}})
    assert [(run.name, run.config.seed, run.config.seeds) for run in parts] == [
        ("seeds-10-11", 10, 2),
        ("seeds-12-13", 12, 2),
        ("seeds-14-14", 14, 1),
    ]


def test_a_sweep_skips_what_is_done_and_goes_on_with_what_was_begun(tmp_path: Path) -> None:
    planned = plan(TABLE)
    first = {**TABLE, "objective": "max_variance", "output": tmp_path / "max_variance"}
    del first["sweep"]
    evolve(first.pop("task"), **first)
    before = (tmp_path / "max_variance" / "metrics.jsonl").stat().st_mtime_ns
    assert [replace(run, folder=tmp_path).status() for run in planned] == ["done", "new"]
    runs = conduct(planned, tmp_path)
    assert [run.is_complete for run in runs] == [True, True]
    assert (tmp_path / "max_variance" / "metrics.jsonl").stat().st_mtime_ns == before
    longer = plan({**TABLE, "generations": 5})
    assert [replace(run, folder=tmp_path).status() for run in longer] == ["begun", "begun"]
    assert [run.metrics["variance"].shape for run in conduct(longer, tmp_path)] == [(3, 5), (3, 5)]


def test_a_folder_of_another_configuration_is_not_taken_for_done(tmp_path: Path) -> None:
    conduct(plan(TABLE)[:1], tmp_path)
    with pytest.raises(RunFolderError, match=r"sigma is 0.5 .* 0.25"):
        conduct(plan({**TABLE, "sigma": 0.25}), tmp_path)


def test_a_run_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    good = plan(TABLE)[0]
    bad = plan({**TABLE, "start_from": "nowhere", "sweep": {}})[0]
    with pytest.raises(UserError, match=r"1 of 2 .*\nbad: nowhere"):
        conduct([Planned("bad", bad.config), good], tmp_path)
    assert Run(tmp_path / good.name).is_complete


def test_a_run_may_start_from_one_before_it(tmp_path: Path) -> None:
    conduct(plan(TABLE)[:1], tmp_path)
    starts = ["", str(tmp_path / "max_variance")]
    table = {**TABLE, "objective": "mean_fitness", "sweep": {"start_from": starts}}
    random, seeded = conduct(plan(table), tmp_path)
    assert [random.path.name, seeded.path.name] == ["from-random", "from-max_variance"]
    trained = Run(tmp_path / "max_variance").centers
    np.testing.assert_array_equal(seeded.metrics["center"][:, 0], trained[:, 0])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sweep": {}}, "task = "),
        ({**TABLE, "sweep": {"sigma": 0.1}}, "sweep.sigma: .* 0.1"),
        ({**TABLE, "sweep": {"sigma": []}}, r"sweep.sigma: .* \[\]"),
        ({**TABLE, "sweep": {"sigmma": [1.0]}}, "Did you mean 'sigma'"),
        ({**TABLE, "sweep": {"sigma": [0.1, 0.1]}}, "'sigma-0.1'"),
        ({**TABLE, "seeds_per_run": 0}, "seeds_per_run .* 0"),
        ({**TABLE, "sweep": {"task_options": {"strat": [1.0]}}}, "task_options.start"),
    ],
)
def test_a_sweep_that_cannot_be_planned_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(table)
