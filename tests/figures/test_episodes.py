"""The figure of each mutation's episodes: its data against values worked out by hand, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from evolvability import ConfigError, Run, RunFolderError
from evolvability.figures import curves
from evolvability.figures.episodes import MAX_MUTATIONS, data_from_runs, figure
from evolvability.figures.registry import draw_figure
from evolvability.figures.style import paper_style
from evolvability.runs.writer import RunWriter
from tests.figures.legible import problems
from tests.figures.test_figures import config, with_behaviors, with_episodes, written


def test_mutations_are_sorted_by_their_mean_and_those_that_go_both_ways_counted(tmp_path: Path) -> None:
    run = written(tmp_path / "run", config(episodes=2), np.ones((1, 1)))
    with_episodes(run, 0, np.array([[[[3], [5]], [[-2], [1]], [[-6], [-7]], [[1], [2]]]]))
    (luck,) = data_from_runs([run])
    assert luck.episodes[:, :, 0].tolist() == [[-6, -7], [-2, 1], [1, 2], [3, 5]]
    assert luck.both_ways == 1 / 4
    assert luck.distance == pytest.approx(27 / 8)
    assert luck.repeatability.within**2 == pytest.approx((2 + 4.5 + 0.5 + 0.5) / 4)


def test_in_two_dimensions_mutations_are_sorted_by_direction_and_both_ways_means_apart(tmp_path: Path) -> None:
    run = written(tmp_path / "run", config("point", episodes=2), np.ones((1, 1)))
    with_episodes(run, 0, np.array([[[[0, -1], [0, -2]], [[1, 1], [-1, 1]], [[1, 2], [-1, 0.4]], [[1, 0], [1, 0.1]]]]))
    (luck,) = data_from_runs([run])
    assert luck.episodes[:, 0].tolist() == [[1, 0], [1, 1], [1, 2], [0, -1]]
    assert luck.both_ways == 1 / 4  # a right angle is not apart
    along = data_from_runs([Run(run.path, dimensions=[1])])[0]
    assert along.episodes.shape[2] == 1


def test_of_many_mutations_some_are_drawn_and_all_are_counted(tmp_path: Path) -> None:
    means = np.random.default_rng(0).normal(size=(1, 500, 1, 1))
    run = written(tmp_path / "run", config(episodes=2, population_size=500), np.ones((1, 1)))
    with_episodes(run, 0, means + np.array([[0.1], [-0.1]]))
    (luck,) = data_from_runs([run])
    assert len(luck.episodes) == MAX_MUTATIONS[1]
    assert luck.episodes.mean(axis=1).min() == pytest.approx(means.min(), rel=1e-5)
    assert luck.both_ways == pytest.approx(np.mean(np.abs(means) < 0.1))


def test_a_run_with_one_episode_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run = with_behaviors(written(tmp_path / "run", config(), np.ones((1, 1))), 0, np.ones((1, 4, 1)))
    with pytest.raises(ConfigError, match=r"luck from skill. Train with episodes=2.*ees measure .*--episodes 4"):
        draw_figure("episodes", [run], tmp_path / "figure.png")


def test_episodes_that_do_not_fit_their_members_are_refused(tmp_path: Path) -> None:
    run = written(tmp_path / "run", config(episodes=2), np.ones((1, 1)))
    with_episodes(run, 0, np.ones((1, 4, 2, 1)))
    for generation, shape in enumerate([(1, 4, 2), (1, 3, 2, 1), (1, 4, 2, 2), (1, 4, 0, 1)], start=1):
        arrays = run.behaviors(0) | {"episodes": np.zeros(shape, np.float32)}
        RunWriter(run.path).record("behaviors", generation, arrays)
        with pytest.raises(RunFolderError, match="episodes of 4 members with 1 behaviors are expected"):
            run.behaviors(generation)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_figure_is_legible(number: int, tmp_path: Path) -> None:
    draws = np.random.default_rng(0).normal(size=(3, 1, 60, 3, number))
    names = ("max_variance", "max_entropy", "max_covariance", "max_information")
    runs = [written(tmp_path / name, config("ant", objective=name, episodes=3), np.ones((1, 1))) for name in names]
    for run in runs:
        with_episodes(run, 0, 30 * draws[0] + draws[1])
    with paper_style():
        assert problems(figure(runs)) == []


def test_curves_of_runs_with_a_fitness_and_episodes_have_a_panel_for_each_metric(tmp_path: Path) -> None:
    run = written(tmp_path / "run", config(episodes=2), np.ones((1, 3)))
    with paper_style():
        drawing = curves.figure([run])
    shown = [ax for ax in drawing.axes if ax.axison]
    assert len(shown) == len(curves.METRICS) == 5
    assert [bool(ax.get_xlabel()) for ax in shown] == [False, False, True, True, True]
    assert problems(drawing) == []
