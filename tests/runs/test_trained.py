"""Runs that start from others, goals, and slim exports: what carries over, what does not, what is refused."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import Config, ConfigError, Run, RunFolderError, evolve, function_task, make_outcome, make_task
from evolvability.config.schema import layered
from evolvability.runs.export import export, folder_size
from evolvability.tasks.goals import goal_named, with_goal
from evolvability.training.driver import resume, train
from tests.conftest import shared_evolution

SMALL: dict[str, Any] = {"population_size": 16, "generations": 3, "seeds": 2, "seed": 4}
OPTIONS = {"num_steps": 5, "hidden": 4}


def point(**values: Any) -> Config:
    return layered("point", values={**SMALL, "task_options": OPTIONS, **values})


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "parent"
    train(shared_evolution(point()), path)
    return Run(path)


def arm(x: jax.Array) -> jax.Array:
    return jnp.stack([jnp.sin(x[0]), jnp.cos(x[1])])


# Starting from a run


def test_each_seed_starts_at_its_own_trained_center_with_a_fresh_optimizer(parent: Run) -> None:
    state = shared_evolution(point(start_from=str(parent.path), objective="mean_fitness")).start()
    np.testing.assert_array_equal(state.parameters.center, parent.centers)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(state.optimizer))
    assert state.generation.tolist() == [0, 0]
    alone = shared_evolution(point(start_from=str(parent.path), seed=5, seeds=1)).start()
    np.testing.assert_array_equal(alone.parameters.center, parent.centers[1:])


def test_noise_is_not_that_of_training(parent: Run) -> None:
    first, second = shared_evolution(point()), shared_evolution(point(start_from=str(parent.path)))
    assert not np.array_equal(jax.random.key_data(first.start().key), jax.random.key_data(second.start().key))


def test_observation_statistics_carry_over(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"generations": 1, "population_size": 4, "output": tmp_path / "parent"}
    options = {"num_steps": 3, "hidden": 4, "observation_share": 1.0}
    evolve("cheetah", task_options=options, **settings)
    config = replace(Run(tmp_path / "parent").config, start_from=str(tmp_path / "parent"))
    memory = shared_evolution(config).start().memory
    np.testing.assert_array_equal(memory.mean, Run(tmp_path / "parent").checkpoint()["memory/mean"])
    assert memory.count.tolist() == [12.0]


def test_new_species_start_at_independent_samples_of_the_trained_population(parent: Run) -> None:
    split = point(start_from=str(parent.path), population="mixture", components=40)
    centers = np.asarray(shared_evolution(split).start().parameters.center)
    steps = (centers - parent.centers) / parent.config.population_options.sigma
    assert centers.shape[:2] == (2, 40)
    np.testing.assert_allclose(steps.std(), 1, atol=0.03)  # 6,080 numbers: a standard error of 0.01
    between = np.corrcoef(steps[0])[~np.eye(40, dtype=bool)]
    assert np.abs(between).max() < 0.5  # 76 parameters: a standard error of 0.12


def test_learned_scales_carry_over(tmp_path: Path) -> None:
    config = layered("interference", values=SMALL | {"population": "diagonal_normal"})
    train(shared_evolution(config), tmp_path / "parent")
    child = shared_evolution(replace(config, start_from=str(tmp_path / "parent")))
    learned = Run(tmp_path / "parent").checkpoint()["parameters/log_scale"]
    np.testing.assert_array_equal(child.start().parameters.log_scale, learned)
    assert np.all(learned != np.float32(np.log(config.population_options.sigma)))


def test_a_run_records_where_it_came_from_and_resumes_without_it(parent: Run, tmp_path: Path) -> None:
    export(parent, tmp_path / "origin")
    whole = shared_evolution(point(start_from=str(tmp_path / "origin"), generations=4))
    train(whole, tmp_path / "whole")
    train(shared_evolution(replace(whole.config, generations=2)), tmp_path / "part")
    (tmp_path / "origin").rename(tmp_path / "elsewhere")
    resume(tmp_path / "part", generations=4)
    np.testing.assert_array_equal(Run(tmp_path / "part").centers, Run(tmp_path / "whole").centers)
    origin = Run(tmp_path / "part").origin
    assert origin is not None
    assert origin["run"] == str(tmp_path / "origin")
    assert (origin["generation"], origin["config"]["objective"]) == (3, "max_entropy")
    assert parent.origin is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": 5, "seeds": 2}, "4 to 5, but not 6"),
        ({"task_options": {"num_steps": 5, "hidden": 5}}, "has 50 parameters"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(parent: Run, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        shared_evolution(point(start_from=str(parent.path), **values)).start()


def test_a_run_of_another_task_is_no_start(parent: Run) -> None:
    with pytest.raises(ConfigError, match=r"'point'.*'interference'"):
        shared_evolution(layered("interference", values={"start_from": str(parent.path), "seed": 4})).start()


# Goals


def test_goals_are_directions_points_and_fitness() -> None:
    task = make_task("point")
    seen = make_outcome(jnp.array([[3.0, 4.0], [-1.0, 0.0]]), jnp.array([7.0, 8.0]))
    expected: dict[str, list[float]] = {
        "right": [3, -1],
        "left": [-3, 1],
        "90": [4, 0],
        "-90": [-4, 0],
        "point:3,1": [-3, -(17**0.5)],
    }
    for text, scores in expected.items():
        np.testing.assert_allclose(goal_named(text, task)(seen), scores, atol=1e-6)
    np.testing.assert_array_equal(goal_named("fitness", task)(seen), [7, 8])


def test_a_goal_gives_any_task_a_fitness_to_climb() -> None:
    task = function_task(arm, jnp.zeros(2))
    assert not task.has_fitness
    assert with_goal(task, "left").has_fitness
    result = evolve(task, objective="mean_fitness", goal="left", generations=30, population_size=32, sigma=0.1)
    assert arm(result.centers[0, 0])[0] < -0.2


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        ("interference", "90", "'90' in task 'interference'.*right .0. or left .180."),
        ("point", "up", "got 'up'"),
        ("point", "nan", "got 'nan'"),
        ("point", "point:1", "has 2 behavior dimension.* names a point in 1"),
        ("point", "point:1,far", "got 'point:1,far'"),
    ],
)
def test_a_goal_that_does_not_exist_is_refused(task: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        goal_named(text, make_task(task))


def test_fitness_of_a_task_without_is_no_goal() -> None:
    with pytest.raises(ConfigError, match="has no fitness"):
        goal_named("fitness", function_task(arm, jnp.zeros(2)))
    with pytest.raises(ConfigError, match="got 'upp'"):
        point(goal="upp")


# Slim exports


def test_a_slim_export_reads_like_the_run_and_can_be_started_from(parent: Run, tmp_path: Path) -> None:
    copy = Run(export(parent, tmp_path / "copy", behaviors=2))
    assert copy.is_complete
    assert copy.config == parent.config
    assert copy.rows == parent.rows
    assert copy.recorded == [0, 2]
    np.testing.assert_array_equal(copy.centers, parent.centers)
    assert not [name for name in copy.checkpoint() if name.startswith("optimizer")]
    assert folder_size(copy.path) < folder_size(parent.path)
    state = shared_evolution(point(start_from=str(copy.path))).start()
    np.testing.assert_array_equal(state.parameters.center, parent.centers)


def test_centers_in_half_precision_differ_by_far_less_than_a_mutation(parent: Run, tmp_path: Path) -> None:
    copy = Run(export(parent, tmp_path / "copy", half=True))
    assert copy.checkpoint()["parameters/center"].dtype == np.float16
    assert copy.centers.dtype == np.float32
    assert np.abs(copy.centers - parent.centers).max() < 0.01 * parent.config.population_options.sigma


def test_an_export_for_a_small_archive_keeps_some_members_and_histograms_and_no_center(
    parent: Run, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was left out on purpose is not called damaged
        slim = Run(export(parent, tmp_path / "slim", behaviors=1, members=3, histograms=2, centers=False))
        assert slim.metrics.keys() == parent.metrics.keys()
        kept, whole = slim.histograms(), parent.histograms()
    last = parent.recorded[-1]
    np.testing.assert_array_equal(slim.behaviors()["behavior"], parent.behaviors(last)["behavior"][:, :3])
    assert kept.keys() == {(generation, seed) for generation in (0, last) for seed in parent.seeds}
    np.testing.assert_array_equal(kept[last, 4].counts, whole[last, 4].counts)
    with pytest.raises(RunFolderError, match="left out"):
        slim.parents()
    with pytest.raises(ConfigError, match=r"members.*1 or more.*got 0"):
        export(parent, tmp_path / "none", members=0)


def test_a_slim_export_says_that_it_cannot_be_made_longer(parent: Run, tmp_path: Path) -> None:
    copy = export(parent, tmp_path / "copy")
    with pytest.raises(RunFolderError, match=rf"ees train --config {copy}/config.toml --start-from {copy}"):
        resume(copy, generations=9)
    with pytest.raises(RunFolderError, match="exists already"):
        export(parent, copy)
