"""Members rebuilt from their addresses do again what was recorded of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import Run, evolve
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.runs.export import export
from evolvability.studies.rebuild import (
    center,
    evaluate,
    fresh,
    fresh_one,
    members,
    parent_of,
    replay,
    watchable_task,
)
from evolvability.training.driver import resume
from tests.optional import BOX2D

SMALL: dict[str, dict[str, Any]] = {
    "point": {"task_options": {"num_steps": 20}},
    "interference": {},
    "cheetah": {
        "task_options": {"num_steps": 40, "hidden": 16, "start_noise": 0.1, "observation_share": 0.5},
        "population": "low_rank",
        "rank": 2,
    },
    "gymnasium": {
        "task_options": {"env": "BipedalWalker-v3", "behavior": "body:hull.xy", "num_steps": 20, "hidden": 4}
    },
    "ant": {"task_options": {"num_steps": 120, "hidden": 16, "observation_share": 0.5}, "noise_dtype": "bfloat16"},
}


def small_run(folder: Path, task: str, **values: Any) -> Run:
    output = folder / task
    settings = (
        {"objective": "max_variance", "generations": 3, "population_size": 30, "seeds": 2}
        | {"checkpoint_seconds": 1e6, "record_every": 1}
        | SMALL[task]
        | values
    )
    evolve(task, layered(task, values=settings), output=output)
    return Run(output)


MARKS: dict[str, Any] = {
    "gymnasium": [BOX2D, pytest.mark.full],
    **dict.fromkeys(("ant", "interference", "point"), pytest.mark.full),
}


@pytest.mark.parametrize("task", [pytest.param(task, marks=MARKS.get(task, ())) for task in SMALL])
def test_rebuilt_members_behave_as_recorded(task: str, tmp_path: Path) -> None:
    """Also when others are evaluated beside them than in training, and with start states that differ."""
    run = small_run(tmp_path, task)
    made = watchable_task(run)
    assert run.rebuildable == [0, 1, 2, 3]
    for generation in (0, 2):
        for seed in (0, 1):
            parent = parent_of(run, made, generation, seed)
            motion = replay(made, parent, members(parent, [17, 4, 5]))
            recorded = run.behaviors(generation)["behavior"][seed][[17, 4, 5]]
            # What an engine on CPU cores computes is the same to the bit; of XLA, other shapes are other programs.
            np.testing.assert_allclose(motion.behavior, recorded, rtol=0, atol=0 if made.on_host else 1e-5)
            if motion.pictures is None and motion.path.shape[1] > 1:
                last = motion.path[np.arange(len(recorded)), motion.num_frames - 1]  # an ant may have fallen before
                way = (last - motion.path[:, 0])[:, : recorded.shape[1]]
                np.testing.assert_allclose(way, recorded, atol=1e-5)


@pytest.mark.parametrize("population", ["mixture", pytest.param("diagonal_normal", marks=pytest.mark.full)])
def test_members_of_every_population_are_rebuilt(population: str, tmp_path: Path) -> None:
    run = small_run(tmp_path, "point", population=population)
    task = watchable_task(run)
    parent = parent_of(run, task, 2, 1)
    brood = members(parent, [0, 9, 22])
    recorded = run.behaviors(2)["behavior"][1][[0, 9, 22]]
    np.testing.assert_allclose(evaluate(task, parent, brood).behavior, recorded, rtol=0, atol=1e-5)
    component = np.asarray(brood.sample.member_components())[brood.wanted]
    np.testing.assert_array_equal(component, run.behaviors(2)["component"][1][[0, 9, 22]])


@pytest.mark.full
def test_fresh_mutations_keep_their_place_in_an_endless_row(tmp_path: Path) -> None:
    run = small_run(tmp_path, "cheetah")
    task = watchable_task(run)
    parent = parent_of(run, task, 3)
    row = np.asarray(evaluate(task, parent, fresh(parent, 1)).behavior)
    assert len(np.unique(row)) == len(row)
    np.testing.assert_array_equal(replay(task, parent, fresh_one(parent, 23)).behavior[0], row[3])
    assert not np.isin(row, run.behaviors(2)["behavior"]).any()


@pytest.mark.full
def test_center_is_unmutated(tmp_path: Path) -> None:
    run = small_run(tmp_path, "interference", population="mixture", components=3)
    task = watchable_task(run)
    parent = parent_of(run, task, 1)
    x = np.asarray(parent.parameters.center)[:, 0]
    expected = 5 * np.sin(x / 5) * np.sin(20 * x)
    np.testing.assert_allclose(np.asarray(evaluate(task, parent, center(parent)).behavior)[:, 0], expected, atol=1e-5)


def test_a_run_without_centers_says_which_generations_can_be_rebuilt(tmp_path: Path) -> None:
    run = small_run(tmp_path, "point", record_centers=False)
    assert run.rebuildable == [0, 2, 3]  # of checkpoints, and of the last generation, which is always kept
    assert [file.name for file in (run.path / "centers").iterdir()] == ["000002.safetensors"]
    with pytest.raises(RunFolderError, match=r"generation 1 .*: 0, 2, 3"):
        run.drawn_around(1)


def test_a_run_that_goes_on_without_centers_loses_none_that_it_had(tmp_path: Path) -> None:
    run = small_run(tmp_path, "point")
    config = (run.path / "config.toml").read_text().replace("record_centers = true", "record_centers = false")
    (run.path / "config.toml").write_text(config)
    with pytest.warns(UserWarning, match="edited"):
        resume(run.path, generations=6)
    kept = sorted(int(file.stem) for file in (run.path / "centers").iterdir())
    assert kept == [0, 1, 2, 5]


def test_resuming_records_the_centers_again_that_an_uninterrupted_run_has(tmp_path: Path) -> None:
    whole = small_run(tmp_path / "whole", "point", generations=5)
    part = small_run(tmp_path / "part", "point", generations=3)
    (part.path / "centers" / "000004.safetensors").write_bytes(b"of a life that was killed")
    resume(part, generations=5)
    for generation in range(5):
        found, expected = part.drawn_around(generation), whole.drawn_around(generation)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)


def test_slim_exports_keep_the_last_recorded_generations_center(tmp_path: Path) -> None:
    run = small_run(tmp_path, "point")
    copy = Run(export(run, tmp_path / "copy", behaviors=2))
    assert copy.rebuildable == [2, 3]
    assert Run(export(run, tmp_path / "half", behaviors=2, half=True)).rebuildable == [3]


def test_an_offspring_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    run = small_run(tmp_path, "point")
    with pytest.raises(ConfigError, match=r"0 to 29.* 30"):
        members(parent_of(run, watchable_task(run), 0), [0, 30])
