"""No text of any figure is clipped or covered, and no color bar is taller than a panel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from evolvability import Run
from evolvability.figures import comparison, curves
from evolvability.figures.registry import FIGURES
from evolvability.figures.style import new_figure, paper_style
from evolvability.runs.histograms import histogram_rows
from evolvability.runs.writer import RunWriter
from evolvability.studies.adaptation import Adaptation, save_adaptation
from evolvability.studies.comparison import compare_runs
from evolvability.studies.offspring import save_offspring
from evolvability.studies.races import Raced, own_adapter, save_race
from evolvability_paper.pictures import PICTURES
from tests.conftest import in_tiers
from tests.figures.legible import problems
from tests.figures.test_figures import real as real
from tests.figures.test_figures import shown_in
from tests.synthetic import config, made_up

SEEDS, GENERATIONS, MEMBERS = 3, 21, 24
METHODS = ("mean_fitness", "max_variance", "max_entropy")
DRAW = np.random.default_rng(0)


def robot(folder: Path, name: str, task: str, objective: str, origin: Any = None, **settings: Any) -> Run:
    """A run of a robot with all that figures show of one."""
    own = config(task, objective=objective, seeds=SEEDS, generations=GENERATIONS, population_size=MEMBERS, **settings)
    course = 60 * np.linspace(0, 1, GENERATIONS) * DRAW.uniform(0.8, 1.2, (SEEDS, 1))
    number = 1 if task == "cheetah" else 2
    cloud = 60 * DRAW.normal(size=(SEEDS, own.population_size, number))
    metrics = dict.fromkeys(("distance", "variance", "entropy", "fitness_mean", *curves.OF_MAML), course)
    metrics["center"] = course
    run = made_up(folder / name, own, cloud, component=DRAW.integers(0, 2, cloud.shape[:2]), origin=origin, **metrics)
    RunWriter(run.path).write_table("behavior.json", {"names": ["x (m)", "y (m)"][:number]})
    for generation in range(GENERATIONS):
        rows = histogram_rows(generation, list(run.seeds), list((generation + 1) / 21 * cloud))
        RunWriter(run.path).append("histograms.jsonl", rows)
    return run


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """What the paper has runs of."""
    folder = tmp_path_factory.mktemp("robots")
    runs = [robot(folder, f"{task}-{one}", task, one) for task in ("cheetah", "ant") for one in METHODS]
    maml = robot(folder, "maml", "cheetah", "maml")
    for run in [*runs[1:3], maml]:
        for sigma in (run.config.population_options.sigma, 0.25 * run.config.population_options.sigma):
            save_offspring(run, sigma, 40 * DRAW.normal(size=(SEEDS, 50, 1)))
        for goal in ("left", "right"):
            scores = 50 * DRAW.uniform(size=(SEEDS, 5, 4))
            save_adaptation(run, Adaptation(goal, 0.1, scores[:, :, 0], scores))
            save_race(run, Raced(goal, own_adapter(run), np.array([0, 10, 20, 30, 40]), scores))
    for objective in METHODS[1:]:
        start = config("ant", objective=objective)
        settings: dict[str, Any] = {"goal": "right", "start_from": f"runs/{objective}"}
        runs.append(robot(folder, f"further-{objective}", "ant", "mean_fitness", origin=start, **settings))
        runs.append(robot(folder, f"species-{objective}", "ant", objective, population="mixture"))
        settings = {"population": "mixture", "start_from": f"runs/{objective}"}
        runs.append(robot(folder, f"split-{objective}", "ant", objective, origin=start, **settings))
    for objective in METHODS:
        own = config("interference", objective=objective, seeds=2, generations=GENERATIONS)
        runs.append(made_up(folder / f"interference-{objective}", own, np.ones((2, 4, 1))))
        rows = [{"generation": k, "seed": seed, "center": [1 + k / 5]} for k in range(GENERATIONS) for seed in (0, 1)]
        RunWriter(runs[-1].path).append("metrics.jsonl", rows)
    return [*runs, maml]


@pytest.mark.parametrize("number", in_tiers(PICTURES, ["3", "6", "7", "S8", "race"]))
def test_figures_of_the_paper_are_legible(number: str, robots: list[Run]) -> None:
    with paper_style():
        assert problems(PICTURES[number].draw(robots)) == []


@pytest.mark.parametrize("name", FIGURES)
def test_figures_by_name_are_legible(name: str, real: dict[str, Run]) -> None:
    with paper_style():
        assert problems(FIGURES[name](shown_in(name, real))) == []


def test_further_evolution_and_comparisons_of_robots_are_legible(robots: list[Run]) -> None:
    ants = [run for run in robots if run.path.name.startswith(("further", "ant"))]
    with paper_style():
        assert problems(FIGURES["evolution"]([run for run in ants if run.config.objective == "mean_fitness"])) == []
        assert problems(comparison.figure(compare_runs(ants, "distance"))) == []
        assert problems(FIGURES["behaviors"](ants)) == []
        assert problems(FIGURES["curves"](ants)) == []


def test_what_is_clipped_covered_or_too_tall_is_found() -> None:
    drawing = Figure(figsize=(4, 4))
    drawing.text(0.9, 0.5, "over the edge")
    drawing.text(0.1, 0.1, "a text")
    drawing.text(0.12, 0.11, "another")
    assert problems(drawing) == ["'over the edge' leaves the figure", "'a text' lies over 'another'"]
    drawing = new_figure(3, 2)
    ax = drawing.subplots(1, 2)[0]
    mesh = ax.pcolormesh(np.ones((2, 2)))
    drawing.colorbar(mesh, cax=drawing.add_axes((0.9, 0.0, 0.05, 1.0), label="<colorbar>"))
    assert "a color bar is taller than every panel" in problems(drawing)
