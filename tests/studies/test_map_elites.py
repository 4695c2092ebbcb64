"""MAP-Elites archives: filled from recorded generations as a loop over all members would."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import ConfigError, Run, evolve, make_task
from evolvability.figures.registry import draw_figure
from evolvability.studies.map_elites import archive_scale, fill_archive, worst_fitness
from evolvability.studies.measures import measure_scale
from evolvability.studies.rebuild import members, parent_of
from tests.synthetic import config, made_up


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("elites") / "run"
    settings: dict[str, Any] = {"objective": "max_variance", "generations": 4, "population_size": 32, "seeds": 2}
    evolve("point", sigma=0.5, task_options={"num_steps": 8}, output=path, **settings)
    return Run(path)


def test_elites_are_the_best_of_each_cell(run: Run) -> None:
    by, worst = measure_scale(0.15, cells=7), worst_fitness([run])  # not all of it: some behaviors lie outside
    found = fill_archive(run, 1, by)
    best: dict[tuple[int, int], tuple[float, int, int]] = {}
    outside = 0
    for step, generation in enumerate(run.recorded):
        arrays = run.behaviors(generation)
        for member, (x, y) in enumerate(arrays["behavior"][1]):
            if max(abs(x), abs(y)) > 0.15:
                outside += 1
                continue
            cell = (int((x / 0.15 + 1) / 2 * 7), int((y / 0.15 + 1) / 2 * 7))
            one = (float(arrays["fitness"][1, member]), generation, member)
            if cell not in best or one[0] > best[cell][0]:
                best[cell] = one
        assert found.coverage[step] == pytest.approx(len(best) / 49)
        assert found.qd_score[step] == pytest.approx(sum(fitness - worst for fitness, *_ in best.values()), rel=1e-5)
    assert outside > 0
    assert np.isfinite(found.fitness).sum() == len(best)
    for cell, (fitness, generation, member) in best.items():
        assert found.fitness[cell] == pytest.approx(fitness)
        assert found.address[cell].tolist() == [generation, member]
    assert found.evaluations.tolist() == [32, 64, 96, 128]


def test_of_equally_fit_members_the_first_is_kept(tmp_path: Path) -> None:
    made = made_up(tmp_path / "run", config("own:task", generations=1, population_size=64), np.full((1, 64, 2), 0.5))
    found = fill_archive(made, 0, measure_scale(1.0, cells=2), worst=0.0)
    assert found.address[1, 1].tolist() == [0, 0]


@pytest.mark.parametrize("num_behaviors", [7, 15])  # of 15 the numbers of cells do not fit an integer
def test_an_archive_that_no_memory_holds_is_refused_before_it_is_filled(num_behaviors: int, tmp_path: Path) -> None:
    made = made_up(tmp_path / "run", config("own:task", generations=1), np.full((1, 64, num_behaviors), 0.5))
    with pytest.raises(ConfigError, match=rf"{num_behaviors} behavior dimensions.*dimensions=\[0, 1\]"):
        fill_archive(made, 0, archive_scale([made]))
    with pytest.raises(ConfigError, match=rf"has {num_behaviors}. Choose two: Run\(path, dimensions=\(0, 1\)\)"):
        draw_figure("elites", [made], tmp_path / "elites.svg")
    two = Run(made.path, dimensions=[0, 1])
    assert fill_archive(two, 0, archive_scale([two])).fitness.shape == (20, 20)


def test_an_elite_is_rebuilt_from_its_address(run: Run) -> None:
    found = fill_archive(run, 0, archive_scale([run]))
    place = np.unravel_index(np.nanargmax(found.fitness), found.fitness.shape)
    generation, member = found.address[place]
    task = make_task(run.config.task, run.config.task_options)
    brood = members(parent_of(run, task, int(generation)), [int(member)])
    outcome, _ = task.evaluate(brood.key, brood.sample, ())
    assert float(jnp.max(outcome.fitness[brood.wanted])) == pytest.approx(float(found.fitness[place]), rel=1e-4)


def test_the_figure_shows_every_run(run: Run, tmp_path: Path) -> None:
    assert draw_figure("elites", [run], tmp_path / "elites.svg").stat().st_size > 10_000
