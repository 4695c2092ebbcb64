"""Measures of evolvability, against closed forms and grids worked out by hand."""

import json
import math
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import ConfigError, Run, evolve, function_task
from evolvability.cli import main
from evolvability.core.populations import normal
from evolvability.runs import histograms
from evolvability.runs.export import export
from evolvability.runs.rows import Row
from evolvability.studies.comparison import quantity
from evolvability.studies.groups import group_runs
from evolvability.studies.measures import (
    MeasureScale,
    cells_of,
    coverage,
    measure_scale,
    measures,
    mutual_information,
    num_distinct,
    specialization,
    valid_behaviors,
    whole_populations,
)
from evolvability.studies.offspring import (
    kept_offspring,
    kept_sigmas,
    measure,
    offspring_of_run,
)
from tests.conftest import in_tiers

Array = np.ndarray[Any, Any]


def cloud(number: int, covariance: list[list[float]], seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    return generator.multivariate_normal(np.zeros(len(covariance)), covariance, size=number)


def grid(side: int) -> Array:
    """The middles of all cells of a box of half width 1."""
    middles = (np.arange(side) + 0.5) / side * 2 - 1
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def test_variance_and_distance_of_a_gaussian_cloud_are_the_closed_forms() -> None:
    found = measures(cloud(20_000, [[4.0, 0.0], [0.0, 4.0]]), measure_scale(10.0, radius=2.0))
    assert found.variance == pytest.approx(8, rel=0.03)
    assert found.distance == pytest.approx(2 * math.sqrt(math.pi / 2), rel=0.02)  # Rayleigh's mean
    assert found.degenerate == pytest.approx(1 - math.exp(-0.5), abs=0.01)  # and distribution


def test_every_cell_of_a_known_grid_is_covered_and_counted_as_distinct() -> None:
    by = measure_scale(1.0, cells=10, threshold=0.19)  # cells are 0.2 wide
    assert coverage(grid(10), by) == 1.0
    assert coverage(grid(10)[:25], by) == 0.25
    assert measures(grid(10), by).distinct == 100
    assert num_distinct(np.repeat(grid(10), 3, axis=0), 0.19) == 100
    assert num_distinct(grid(10), 0.21) < 100


def test_cells_include_the_border_of_the_box_and_nothing_outside() -> None:
    by = MeasureScale(reach=1.0, threshold=0.1, radius=0.1, cells=2)
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.1, 0.0]])
    assert cells_of(corners, by).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1], [-1, -1]]
    assert coverage(corners, by) == 1.0


def test_no_cell_is_lost_however_many_dimensions_there_are() -> None:
    behavior = np.random.default_rng(0).uniform(-1, 1, (2000, 20))  # 20 ** 20 cells: no integer of 64 bits holds them
    assert coverage(behavior, measure_scale(1.0)) * 20**20 == pytest.approx(2000)
    tells = np.full((200, 70), 0.5)
    tells[::2, -1] = -0.5
    assert specialization(tells, np.arange(200) % 2, measure_scale(1.0)) == pytest.approx(1)


def test_mutual_information_of_dependent_and_independent_labels() -> None:
    first = np.repeat([0, 1], 8)
    assert mutual_information(first, np.tile([0, 1, 2, 3], 4)) == pytest.approx(0, abs=1e-12)
    assert mutual_information(first, np.repeat([0, 1, 2, 3], 4)) == pytest.approx(1)


def test_specialization_is_one_for_species_apart_and_zero_for_species_alike() -> None:
    generator = np.random.default_rng(0)
    by = measure_scale(4.0)
    component = np.repeat(generator.integers(0, 2, 200), 2)
    clouds = generator.normal(size=(40, 400, 2))
    alike = [specialization(cloud, component, by, num_signs=2, shuffles=50) for cloud in clouds]
    assert np.mean(alike) == pytest.approx(0, abs=0.01)
    behavior = clouds[0]
    apart = specialization(behavior * [0.2, 1] + np.stack([4.0 * component - 2, 0 * component], 1), component, by)
    assert apart == pytest.approx(1, abs=0.01)
    few = specialization(behavior[:30] + 4.0 * component[:30, None] - 2, component[:30], by)
    assert few > 0.8
    half = np.where(generator.uniform(size=400) < 0.5, component, generator.integers(0, 2, 400))
    between = specialization(np.stack([half - 0.5, 0 * half], 1), component, by)
    assert 0.05 < between < 0.5


def test_a_scale_of_nothing_is_refused() -> None:
    for values in ({"threshold": 0.0}, {"radius": -1.0}, {"cells": 0}):
        with pytest.raises(ConfigError, match=f"{next(iter(values))} must be positive"):
            measure_scale(1.0, **values)
    with pytest.raises(ConfigError, match=r"reach .* nan"):
        measure_scale(math.nan)


# Of centers


def double(x: Any) -> Any:
    return 2.0 * x


def test_offspring_of_a_linear_task_have_the_variance_of_the_mutations() -> None:
    found = measure(function_task(double, jnp.zeros(3)), jnp.ones(3), sigma=0.5, number=4000)
    assert found.variance == pytest.approx(3.0, rel=0.05)
    with pytest.raises(ConfigError, match=r"2 parameters.* 3"):
        measure(function_task(double, jnp.zeros(3)), jnp.ones(2))
    with pytest.raises(ConfigError, match="got 1"):
        measure(function_task(double, jnp.zeros(3)), jnp.ones(3), number=1)


SIGMA = 0.25
LEARNED: dict[str, dict[str, Any]] = {
    "decay": {"sigma": 0.5, "sigma_decay": 0.5},
    "diagonal": {"sigma": 0.5, "population": "diagonal_normal", "optimizer": "sgd", "learning_rate": 0.05},
    "object": {"population": normal(lambda generation: 0.5 * 0.5**generation)},
}


@pytest.mark.parametrize("case", in_tiers(LEARNED, ["decay", "diagonal"]))
def test_offspring_have_the_sigma_that_was_asked_for_and_are_filed_by_the_one_they_have(
    case: str, tmp_path: Path
) -> None:
    settings = LEARNED[case]
    task = function_task(double, jnp.zeros(3))
    evolve(task, objective="max_variance", generations=3, population_size=8, output=tmp_path / "run", **settings)
    given = settings["population"] if case == "object" else None
    run = Run(tmp_path / "run", task=task, population=given)
    (asked,) = offspring_of_run(run, number=2000, sigma=SIGMA, save=True)
    np.testing.assert_allclose(asked.behavior.std(axis=0), 2 * SIGMA, rtol=0.1)
    (own,) = offspring_of_run(run, number=2000, save=True)
    (sigma,) = set(kept_sigmas(run)) - {SIGMA}
    assert sigma == pytest.approx(float(own.behavior.std(axis=0).mean()) / 2, rel=0.1)
    assert case == "diagonal" or sigma == pytest.approx(0.5**4)
    assert sigma != pytest.approx(0.5, rel=0.001)
    np.testing.assert_array_equal(kept_offspring(run)[0], own.behavior)  # which is what is looked at by default
    np.testing.assert_array_equal(kept_offspring(run, SIGMA)[0], asked.behavior)
    with pytest.raises(ConfigError, match="positive and finite, got 0"):
        offspring_of_run(run, sigma=0.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "run"
    evolve("interference", generations=2, population_size=10, seeds=2, output=path)
    return Run(path)


@pytest.mark.parametrize("task", in_tiers(["interference", "point"], ["point"]))  # one dimension and two
def test_an_export_of_some_members_covers_as_much_as_the_run(task: str, tmp_path: Path) -> None:
    evolve(task, generations=2, population_size=400, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    slim = Run(export(run, tmp_path / "slim", behaviors=1, members=20, histograms=1, centers=False))
    whole, some = valid_behaviors(run, 0)[0], valid_behaviors(slim, 0)[0]
    np.testing.assert_array_equal(whole_populations(run)[0], whole)
    reach = measure_scale(float(np.abs(whole).max()))
    found = measures(whole_populations(slim)[0], reach)
    assert coverage(some, reach) < 0.9 * coverage(whole, reach)
    assert found.coverage == pytest.approx(coverage(whole, reach), rel=0.05)
    assert found.variance == pytest.approx(measures(whole, reach).variance, rel=0.01)
    (slim.path / "histograms.jsonl").unlink()  # of an earlier version
    np.testing.assert_array_equal(whole_populations(Run(slim.path))[0], some)


def test_histograms_are_read_once_for_all_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evolve("interference", generations=2, population_size=40, seeds=3, output=tmp_path / "run")
    slim = Run(export(Run(tmp_path / "run"), tmp_path / "slim", behaviors=1, members=10, histograms=1, centers=False))
    parse, parsed = histograms.from_row, []

    def counting(row: Row) -> histograms.Histogram | None:
        parsed.append(row)
        return parse(row)

    monkeypatch.setattr(histograms, "from_row", counting)
    assert [len(cloud) for cloud in whole_populations(slim)] == [40, 40, 40]
    assert len(parsed) == 3  # one per seed: of the one generation that has histograms
    quantity(group_runs([slim])[0], "coverage")  # looks for a reach, then measures by it
    assert len(parsed) == 3 * 3


def test_a_run_and_its_slim_export_are_measured_alike(run: Run, tmp_path: Path) -> None:
    whole = offspring_of_run(run, number=50)
    slim = offspring_of_run(Run(export(run, tmp_path / "copy")), number=50)
    assert len(whole) == 2
    np.testing.assert_array_equal(whole[1].behavior, slim[1].behavior)


def test_measure_is_a_one_line_question_about_any_center(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "measures.json"
    main(["measure", str(run.path), "--mutations", "200", "--reach", "5", "--output", str(output)])
    assert "coverage" in capsys.readouterr().out
    table = json.loads(output.read_text())
    ((first, second),) = table["measures"].values()
    assert table["scale"]["reach"] == 5
    mine = measure("interference", np.array([7.85]), number=200, by=measure_scale(5.0))  # the most evolvable point
    assert mine.variance > 1.5 * max(first["variance"], second["variance"])
    assert mine.coverage == 1.0


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_measured_is_refused(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "got 0" in refusal(capsys, "measure", str(run.path), "--mutations", "0")
    np.save(tmp_path / "two.npy", np.zeros(2))
    assert "not a run folder" in refusal(capsys, "measure", str(tmp_path / "two.npy"))
    with pytest.raises(ConfigError, match="The center has 2 parameters"):
        measure("interference", np.zeros(2))
