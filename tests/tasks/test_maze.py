"""The maze: walls that hold, and who finds the way around them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import Run, evolve
from evolvability.config.schema import layered
from evolvability.figures.registry import save_figure
from evolvability.tasks.maze import HALF_WIDTH, LEVEL, REACHED, UPRIGHT, maze, moved
from evolvability.tasks.options import MazeOptions
from examples.maze import figure
from tests.tasks.test_tasks import members_of


def crosses(start: np.ndarray, end: np.ndarray) -> bool:
    """Whether a straight line from start to end meets a wall."""
    for axis, walls in ((0, UPRIGHT), (1, LEVEL)):
        for place, low, high in walls:
            if start[axis] == end[axis] or not 0 <= (share := (place - start[axis]) / (end[axis] - start[axis])) <= 1:
                continue
            if low <= start[1 - axis] + share * (end[1 - axis] - start[1 - axis]) <= high:
                return True
    return False


def test_walls_hold_and_open_ground_does_not() -> None:
    """Each step is one along x and one along y, and neither meets a wall; one that is free is taken as it is."""
    generator = np.random.default_rng(0)
    position = generator.uniform(-2.4, 2.4, size=(500, 2)).astype(np.float32)
    step = generator.normal(scale=0.5, size=(500, 2)).astype(np.float32)
    after = np.asarray(moved(jnp.asarray(position), jnp.asarray(step)))
    stopped = 0
    for here, there, wish in zip(position, after, step, strict=True):
        corner = np.array([there[0], here[1]])
        assert not crosses(here, corner)
        assert not crosses(corner, there)
        for axis, begin in ((0, here), (1, corner)):
            wanted = begin.copy()
            wanted[axis] += wish[axis]
            taken = there[axis] == pytest.approx(wanted[axis], abs=1e-6)
            assert taken != crosses(begin, wanted)
            stopped += not taken
    assert stopped > 50
    assert np.abs(after).max() < HALF_WIDTH


def test_replays_end_where_evaluation_says() -> None:
    task = maze(MazeOptions(num_steps=12, hidden=4))
    sample = members_of(3 * task.init(jax.random.key(0)) + 0.5)
    result, _ = jax.jit(task.evaluate)(jax.random.key(0), sample, ())
    assert task.stage is not None
    assert task.stage.replay is not None
    motion = task.stage.replay(jax.random.key(0), sample, ())
    np.testing.assert_allclose(motion.path[:, -1], result.behavior, atol=1e-6)
    np.testing.assert_allclose(result.fitness, -np.linalg.norm(motion.path[:, -1] - [2, 0], axis=1), rtol=1e-5)
    assert motion.path.shape == (6, 13, 2)


@pytest.fixture(scope="module", params=[1, pytest.param(10, marks=pytest.mark.full)], ids="{} seeds".format)
def run_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """The run of an objective, made when it is asked for."""

    @cache
    def made(objective: str, **settings: Any) -> Run:
        path = tmp_path_factory.mktemp("maze") / objective
        settings |= {"objective": objective, "seeds": request.param, "record_every": 20, "record_centers": False}
        evolve("maze", layered("maze", values=settings), output=path)
        return Run(path)

    return made


def num_solved(run: Run) -> int:
    return int(np.any(run.metrics["fitness_max"] > -REACHED, axis=1).sum())


@pytest.mark.full
def test_plain_es_ends_at_the_bottom_of_the_trap(run_of: Callable[[str], Run]) -> None:
    run = run_of("mean_fitness")
    assert num_solved(run) == 0
    best = run.metrics["fitness_max"][:, -1]
    assert np.abs(best + 1).max() < 0.05  # the bottom is 1 away from the goal


@pytest.mark.parametrize("objective", ["ns_es", pytest.param("qe_es", marks=pytest.mark.full)])
def test_novelty_and_quality_evolvability_find_the_goal(objective: str, run_of: Callable[[str], Run]) -> None:
    run = run_of(objective)
    assert num_solved(run) == run.config.seeds


def test_the_figure_shows_who_solved_it(run_of: Callable[..., Run], tmp_path: Path) -> None:
    runs = [run_of("mean_fitness", generations=20), run_of("ns_es")]
    solved, seeds = num_solved(runs[0]), runs[1].config.seeds
    drawing = figure(runs)
    titles = [ax.get_title("left").partition(" ")[2] for ax in drawing.axes]
    assert titles == [f"standard ES: {solved} of {seeds} solved", f"NS-ES: {seeds} of {seeds} solved"]
    dots = np.asarray(drawing.axes[1].collections[0].get_offsets())
    assert len(dots) > 100
    assert np.abs(dots).max() < HALF_WIDTH
    assert save_figure(lambda: figure(runs), tmp_path / "maze.svg").stat().st_size > 20_000
