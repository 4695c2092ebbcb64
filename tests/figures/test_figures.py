"""Figures: their data against values worked out by hand, and their files."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from PIL import Image

from evolvability import ConfigError, Run, RunFolderError, UserError, evolve
from evolvability.config.schema import Config, layered
from evolvability.figures import behaviors, curves, evolution, interference
from evolvability.figures.bands import Line, Lines
from evolvability.figures.registry import FIGURES, draw_figure, save_figure
from evolvability.figures.style import line_styles, method_color, new_figure
from evolvability.runs.writer import RunWriter
from evolvability.studies.adaptation import Adaptation, save_adaptation
from evolvability.studies.groups import config_identity, run_names
from evolvability.studies.offspring import save_offspring
from evolvability.studies.races import Raced, save_race

Array = np.ndarray[Any, Any]
SUFFIXES = (".png", ".pdf", ".svg")


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    small: dict[str, Any] = {"generations": 5, "population_size": 20, "record_every": 2}
    evolve("interference", objective="max_variance", seeds=2, output=folder / "variance", **small)
    fitness = written(folder / "fitness", config(objective="mean_fitness", seeds=2), np.ones((2, 5)))
    with_behaviors(fitness, 4, np.linspace(-1, 1, 8).reshape(2, 4, 1))
    small["objective"] = "max_variance"
    evolve("point", task_options={"num_steps": 10, "hidden": 4}, output=folder / "point", **small)
    evolve("maze", task_options={"num_steps": 4, "hidden": 4}, output=folder / "maze", **small)
    scores = np.arange(6.0).reshape(2, 3)
    save_adaptation(Run(folder / "variance"), Adaptation("left", 0.0, scores, scores[:, :, None]))
    save_race(Run(folder / "variance"), Raced("left", "mutations", np.array([0, 1, 2]), scores[:, :, None]))
    save_offspring(Run(folder / "variance"), 0.5, np.linspace(-1, 1, 12).reshape(2, 6, 1))
    several = written(folder / "several", config(objective="max_covariance", episodes=3), np.ones((1, 5)))
    with_episodes(several, 4, np.linspace(-1, 1, 12).reshape(1, 4, 3, 1))
    return {path.name: Run(path) for path in folder.iterdir()}


def shown_in(name: str, real: dict[str, Run]) -> list[Run]:
    """Runs that a figure can show."""
    own = {"evolution": "fitness", "elites": "maze", "episodes": "several"}
    return [real[own[name]]] if name in own else [real["variance"], real["fitness"]]


def config(task: str = "interference", **values: Any) -> Config:
    return layered(task, values={"population_size": 4, **values})


def written(path: Path, config: Config, values: Array, **metrics: Array) -> Run:
    """A run folder whose metrics are all ``values``, (num_seeds, num_generations), but for those given."""
    path.mkdir()
    writer = RunWriter(path)
    writer.create(config)
    for generation in range(values.shape[1]):
        rows = []
        for k in range(config.seeds):
            row: dict[str, Any] = {"generation": generation, "seed": config.seed + k, "center": [values[k, generation]]}
            row |= dict.fromkeys(curves.METRICS, values[k, generation])
            row |= {name: _jsonable(array[k, generation]) for name, array in metrics.items()}
            rows.append(row)
        writer.append("metrics.jsonl", rows)
    return Run(path)


def with_behaviors(run: Run, generation: int, behavior: Array, valid: Array | None = None) -> Run:
    valid = np.ones(behavior.shape[:2], bool) if valid is None else valid
    arrays = {"behavior": behavior.astype(np.float32), "fitness": np.zeros(behavior.shape[:2], np.float32)}
    RunWriter(run.path).record(
        "behaviors", generation, arrays | {"valid": valid, "component": np.zeros(valid.shape, np.uint16)}
    )
    return run


def with_episodes(run: Run, generation: int, episodes: Array) -> Run:
    """episodes: (num_seeds, num_members, num_episodes, num_behaviors)."""
    shape = episodes.shape[:2]
    arrays = {"episodes": episodes.astype(np.float32), "behavior": episodes.mean(axis=2).astype(np.float32)}
    arrays |= {"fitness": np.zeros(shape, np.float32), "valid": np.ones(shape, bool)}
    arrays |= {"component": np.zeros(shape, np.uint16)}
    RunWriter(run.path).record("behaviors", generation, arrays)
    RunWriter(run.path).write_table(
        "behavior.json", {"names": [f"behavior {index}" for index in range(episodes.shape[3])]}
    )
    return run


def _jsonable(value: Any) -> Any:
    return None if np.any(np.isnan(value)) else value.tolist()


# Names and colors


def test_identity_ignores_seeds_and_length_alone() -> None:
    assert config_identity(config(seed=3, seeds=2, generations=7)) == config_identity(config(seed=0))
    assert config_identity(config(sigma=0.25)) != config_identity(config())
    assert config_identity(config(task_options={"start": 2.0})) != config_identity(config())


def test_identity_ignores_settings_that_change_nothing() -> None:
    maml = config_identity(config("navigation", objective="maml"))
    assert config_identity(config("navigation", objective="maml", learning_rate=0.5)) == maml
    assert config_identity(config("navigation", objective="maml", inner_rate=0.5)) != maml
    assert config_identity(config(bandwidth=0.5)) != config_identity(config())


def test_names_tell_terms_of_a_sum_apart() -> None:
    options = [{"max_entropy": {"bandwidth": width}} for width in (1.0, 2.0)]
    configs = [config(objective="mean_fitness+max_entropy", objective_options=own) for own in options]
    assert run_names(configs)[1] == "mean fitness + max entropy, max entropy bandwidth 2"


def test_names_tell_runs_of_one_method_apart_by_the_settings_that_differ() -> None:
    configs = [config(sigma=0.1), config(sigma=0.2, mirrored=True), config(objective="max_variance")]
    assert run_names(configs) == [
        "MaxEnt-EES, sigma 0.1, no mirrored",
        "MaxEnt-EES, sigma 0.2, mirrored",
        "MaxVar-EES",
    ]


def test_names_tell_tasks_and_their_options_apart() -> None:
    configs = [config(task_options={"start": 2.0}), config(), config("point")]
    assert run_names(configs) == [
        "interference, MaxEnt-EES, start 2",
        "interference, MaxEnt-EES, start 1",
        "point, MaxEnt-EES",
    ]


def test_methods_keep_their_colors_and_no_two_lines_look_alike() -> None:
    styles = line_styles(["mean_fitness", "max_entropy", *["max_entropy"] * 9])
    assert [style["color"] for style in styles[:2]] == [method_color("mean_fitness"), method_color("max_entropy")]
    assert len({tuple(style.values()) for style in styles}) == len(styles)


# Learning curves


def test_runs_that_differ_in_seeds_are_one_group_with_median_and_range(tmp_path: Path) -> None:
    first = written(tmp_path / "a", config(seeds=2), np.array([[1.0, 10.0], [2.0, 20.0]]))
    second = written(tmp_path / "b", config(seed=2), np.array([[6.0, 60.0]]))
    other = written(tmp_path / "c", config(sigma=0.25), np.array([[5.0, 50.0]]))
    data = curves.data_from_runs([first, second, other])
    assert [(line.name, line.num_seeds) for line in data.panels["variance"]] == [
        ("MaxEnt-EES, sigma 0.5", (3, 3)),
        ("MaxEnt-EES, sigma 0.25", (1, 1)),
    ]
    assert data.spans == "minimum to maximum"
    np.testing.assert_array_equal(data.band(data.panels["variance"][0]), [[1, 10], [2, 20], [6, 60]])


def test_band_is_the_interquartile_range_when_there_are_seeds_enough(tmp_path: Path) -> None:
    values = np.arange(5.0)[:, None] * [1.0, 3.0]
    data = curves.data_from_runs([written(tmp_path / "a", config(seeds=5), values)])
    assert data.spans == "interquartile range"
    np.testing.assert_array_equal(data.band(data.panels["entropy"][0]), [[1, 3], [2, 6], [3, 9]])


def test_a_line_with_few_seeds_makes_every_band_of_the_figure_the_whole_range() -> None:
    many, few = (
        Line(name, "max_entropy", np.zeros(1), np.arange(8.0)[:size, None]) for name, size in (("a", 8), ("b", 2))
    )
    assert Lines({"left": [many]}).band(many).high == pytest.approx(5.25)
    assert Lines({"left": [many], "right": [few]}).band(many).high == 7


def test_seeds_of_unequal_length_are_counted_as_far_as_they_go(tmp_path: Path) -> None:
    short = written(tmp_path / "short", config(seeds=2), np.array([[1.0], [2.0]]))
    long = written(tmp_path / "long", config(seed=2), np.array([[6.0, 60.0, 600.0]]))
    data = curves.data_from_runs([short, long])
    [line] = data.panels["variance"]
    assert line.num_seeds == (1, 3)
    np.testing.assert_array_equal(data.band(line).median, [2, 60, 600])
    np.testing.assert_array_equal(line.x, [0, 1, 2])


def test_a_seed_given_twice_counts_once(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / "part", config(generations=1), np.array([[1.0]])),
        written(tmp_path / "whole", config(generations=2), np.array([[1.0, 2.0]])),
    ]
    [line] = curves.data_from_runs(runs).panels["variance"]
    assert line.num_seeds == (1, 1)
    np.testing.assert_array_equal(line.values, [[1, 2]])


def test_long_runs_are_drawn_as_means_over_windows(tmp_path: Path) -> None:
    values = np.arange(2.0 * curves.MAX_POINTS)[None]
    data = curves.data_from_runs([written(tmp_path / "a", config(), values)])
    assert data.window == 2
    [line] = data.panels["variance"]
    np.testing.assert_array_equal(line.x, values[0, ::2] + 0.5)
    np.testing.assert_array_equal(line.values, values[:, ::2] + 0.5)


def test_a_metric_without_values_has_no_panel(tmp_path: Path) -> None:
    nothing = np.full((1, 3), np.nan)
    run = written(tmp_path / "a", config(), np.ones((1, 3)), fitness_mean=nothing, repeatability=nothing)
    titles = [ax.get_title(loc="left") for ax in curves.figure([run]).axes]
    assert len(titles) == 3  # neither fitness nor repeatability
    assert "mean fitness" not in " ".join(titles)


def test_a_run_without_a_generation_is_left_out_with_a_warning(tmp_path: Path) -> None:
    empty = written(tmp_path / "empty", config(), np.ones((1, 0)))
    run = written(tmp_path / "a", config(), np.ones((1, 2)))
    with pytest.warns(UserWarning, match="no generation is done yet: .*empty"):
        assert len(curves.data_from_runs([empty, run]).panels["variance"]) == 1
    with pytest.raises(RunFolderError, match="no generation is done yet"):
        curves.data_from_runs([empty])


# The interference figure


def test_traces_have_one_line_per_seed_and_their_median(tmp_path: Path) -> None:
    values = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 9.0]])
    runs = [
        written(tmp_path / "fitness", config(objective="mean_fitness"), np.array([[1.0, 1.0, 1.0]])),
        written(tmp_path / "variance", config(objective="max_variance", seeds=3), values),
    ]
    variance, fitness = interference.data_from_runs(runs)
    assert (variance.objective, fitness.objective) == ("max_variance", "mean_fitness")
    np.testing.assert_array_equal(variance.values, values)
    np.testing.assert_array_equal(variance.median, [1, 4])


def test_a_mixture_has_one_line_per_component(tmp_path: Path) -> None:
    center = np.array([[[1.0, 5.0], [2.0, 6.0]]])  # (num_seeds, num_generations, num_components)
    run = written(tmp_path / "a", config(population="mixture"), np.ones((1, 2)), center=center)
    [line] = interference.data_from_runs([run])
    np.testing.assert_array_equal(line.values, [[1, 2], [5, 6]])


def test_every_training_plot_shows_standard_es_for_comparison(tmp_path: Path) -> None:
    objectives = ("max_entropy", "mean_fitness", "max_variance")
    runs = [written(tmp_path / name, config(objective=name), np.ones((1, 2))) for name in objectives]

    def shown(*chosen: int) -> list[list[str]]:
        traces = interference.data_from_runs([runs[index] for index in chosen])
        return [[trace.objective for trace in panel] for panel in interference.panels(traces)]

    assert shown(0, 1, 2) == [["max_variance", "mean_fitness"], ["max_entropy", "mean_fitness"]]
    assert shown(0) == [["max_entropy"]]
    assert shown(1) == [["mean_fitness"]]


def test_the_dashed_line_is_at_the_most_evolvable_point_in_every_panel(real: dict[str, Run]) -> None:
    for ax in interference.figure([real["variance"], real["fitness"]]).axes:
        dashed = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
        assert [line.get_ydata()[0] for line in dashed] == pytest.approx([5 * np.pi / 2])  # type: ignore[index]


def test_interference_refuses_runs_of_another_task(real: dict[str, Run]) -> None:
    with pytest.raises(ConfigError, match="point is a run of 'point'"):
        interference.data_from_runs([real["variance"], real["point"]])


# Behaviors


def test_shares_of_every_generation_sum_to_one(real: dict[str, Run]) -> None:
    for name, num_dimensions in (("variance", 1), ("point", 2)):
        data = behaviors.data_from_runs([real[name]])
        assert data.rows[0].generations.tolist() == [0, 1, 2, 3, 4]  # recorded are 0, 2 and 4
        assert data.rows[0].shares.ndim == 1 + num_dimensions
        np.testing.assert_allclose(data.rows[0].shares.reshape(5, -1).sum(axis=1), 1)


def test_histograms_show_what_recorded_behaviors_would(real: dict[str, Run], tmp_path: Path) -> None:
    copied = Path(shutil.copytree(real["point"].path, tmp_path / "copy"))
    (copied / "histograms.jsonl").unlink()  # as in folders of earlier versions
    with_file, without = (behaviors.histograms_of(run, 0, 2) for run in (real["point"], Run(copied)))
    assert list(without) == [0, 2, 4]
    for generation, found in without.items():
        assert found.width == with_file[generation].width
        np.testing.assert_array_equal(found.counts, with_file[generation].counts)


def test_invalid_members_are_left_out(tmp_path: Path) -> None:
    run = written(tmp_path / "a", config(), np.ones((1, 1)))
    behavior, valid = np.array([[[0.0], [1.0], [1.0], [1e9]]]), np.array([[True, True, True, False]])
    data = behaviors.data_from_runs([with_behaviors(run, 0, behavior, valid)])
    assert data.edges[0][0] == 0
    assert 1 < data.edges[0][-1] < 1.1
    assert data.rows[0].shares[0, [0, -1]] == pytest.approx([1 / 3, 2 / 3])


def test_the_seed_shown_has_the_median_final_distance_on_a_line_that_of_its_weaker_side(tmp_path: Path) -> None:
    # Distances 4, 3, 1, 6, 2; of the weaker side 0, 1.5, 0.5, 0, 1.
    ends = np.array([[4.0, 4.0], [-3.0, 3.0], [-1.0, 1.0], [6.0, 6.0], [2.0, -2.0]])
    for points, seed in ((ends[:, :, None], 2), (np.stack([ends, 0 * ends], axis=-1), 1)):
        run = written(tmp_path / f"{points.shape[-1]}", config("own:task", seed=10, seeds=5), np.ones((5, 1)))
        with_behaviors(run, 0, points)
        row = behaviors.data_from_runs([run]).rows[0]
        assert (behaviors.representative([run])[1], row.seed) == (seed, 10 + seed)


def test_runs_that_differ_in_their_seeds_alone_are_one_row(tmp_path: Path) -> None:
    runs = [written(tmp_path / str(seed), config("own:task", seed=seed), np.ones((1, 1))) for seed in range(3)]
    for run, reach in zip(runs, (1.0, 3.0, 2.0), strict=True):
        with_behaviors(run, 0, np.array([[[reach, 0.0], [0.0, reach]]]))
    [row] = behaviors.data_from_runs(runs).rows
    assert row.seed == 2  # of median distance


def test_maps_share_square_limits_around_all_behaviors_and_the_origin(tmp_path: Path) -> None:
    configs = [config("own:task", sigma=sigma) for sigma in (0.1, 0.2)]
    runs = [written(tmp_path / str(own.population_options.sigma), own, np.ones((1, 1))) for own in configs]
    for run, corner in zip(runs, ((2.0, 3.0), (8.0, 4.0)), strict=True):
        with_behaviors(run, 0, np.array([[corner] * 4]))
    assert len(behaviors.data_from_runs(runs[:1]).edges[0]) < 30  # though all members are at one point, far from it
    x, y = behaviors.data_from_runs(runs).edges
    assert x[-1] - x[0] == pytest.approx(y[-1] - y[0])
    assert x[0] < 0 < 8 < x[-1]
    assert y[0] < 0 < 4 < y[-1]


def test_axes_are_named_after_the_task_but_no_foreign_code_is_imported(tmp_path: Path, real: dict[str, Run]) -> None:
    assert behaviors.data_from_runs([real["point"]]).labels == ["x", "y"]
    assert behaviors.data_from_runs([real["variance"]]).labels == ["f(x)"]
    foreign = written(tmp_path / "a", config("no_such_module:task"), np.ones((1, 1)))
    with_behaviors(foreign, 0, np.zeros((1, 4, 3)))
    assert behaviors.data_from_runs([foreign]).labels == ["behavior 0", "behavior 1"]


def test_axes_have_the_names_kept_in_the_folder_along_the_dimensions_asked_for(tmp_path: Path) -> None:
    run = written(tmp_path / "a", config("no_such_module:task"), np.ones((1, 1)))
    points = np.array([[[0.0, 7, 1], [0, 7, 3], [2, 7, 5], [2, 8, 5]]])
    with_behaviors(run, 0, points)
    RunWriter(run.path).write_table("behavior.json", {"names": ["x (m)", "heat", "z (m)"]})
    assert behaviors.data_from_runs([run]).labels == ["x (m)", "heat"]
    chosen = Run(run.path, [2, 0])
    np.testing.assert_array_equal(chosen.behaviors()["behavior"], points[..., [2, 0]])
    assert behaviors.data_from_runs([chosen]).labels == ["z (m)", "x (m)"]
    with pytest.raises(ConfigError, match=r"0 to 2.*'0,3'"):
        Run(run.path, [0, 3]).behaviors()
    (run.path / "behavior.json").write_text("{")  # damaged: as where there is none
    assert run.behavior_names == ["behavior 0", "behavior 1", "behavior 2"]


def test_dimensions_are_for_figures_of_behaviors(tmp_path: Path) -> None:
    run = written(tmp_path / "a", config("no_such_module:task"), np.ones((1, 1)))
    with pytest.raises(ConfigError, match=r"dimensions.*'curves'"):
        draw_figure("curves", [Run(run.path, [0, 1])], tmp_path / "a.png")


def test_a_seed_in_two_runs_counts_once_in_further_evolution(tmp_path: Path) -> None:
    settings = config("own:task", objective="mean_fitness", seeds=2)
    runs = [written(tmp_path / name, settings, np.ones((2, 2))) for name in "ab"]
    for run in runs:
        with_behaviors(run, 0, np.zeros((2, 4, 1)))
    assert len(evolution.data_from_runs(runs).panels["fitness"][0].values) == 2


def test_runs_of_unequal_length_fit_in_one_figure(tmp_path: Path) -> None:
    for num_behaviors in (1, 2):
        runs = []
        for length in (1, 3):
            run = written(tmp_path / f"{num_behaviors}-{length}", config("own:task"), np.ones((1, length)))
            for generation in range(length):
                with_behaviors(run, generation, np.random.default_rng(length).normal(size=(1, 4, num_behaviors)))
            runs.append(run)
        behaviors.figure(runs).draw_without_rendering()


def test_final_shows_the_last_generation_of_every_run_at_one_scale(tmp_path: Path) -> None:
    runs = []
    for index, objective in enumerate(("mean_fitness", "max_variance", "max_entropy", "max_entropy+max_variance")):
        run = written(tmp_path / str(index), config("point", objective=objective), np.ones((1, 2)))
        with_behaviors(run, 0, np.zeros((1, 4, 2)))
        runs.append(with_behaviors(run, 1, (index + 1) * np.array([[[1, 0], [0, 1], [-1, 0], [0, -1.0]]])))
    drawing = behaviors.final_figure(runs)
    drawing.draw_without_rendering()
    maps = [ax for ax in drawing.axes if ax.get_title("left")]
    assert [ax.get_title("left").split(",")[0] for ax in maps[:3]] == ["standard ES", "MaxVar-EES", "MaxEnt-EES"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in maps}) == 1
    assert drawing.get_suptitle() == "generation 1"
    for ax in maps:  # four members in four places
        shares = ax.collections[0].get_array()
        assert shares is not None
        assert np.ma.count(shares) == 4
        assert shares.sum() == pytest.approx(1)


def test_seeds_shows_every_seed_in_the_line_of_its_group(tmp_path: Path) -> None:
    """Three seeds of one method, in any order, and one of another, with a shorter line below."""
    runs = []
    for index, seed in enumerate((3, 10, 4)):
        run = written(tmp_path / str(index), config("point", objective="max_entropy", seed=seed), np.ones((1, 1)))
        runs.append(with_behaviors(run, 0, (index + 1) * np.array([[[1, 0], [0, 1], [-1, 0], [0, -1.0]]])))
    other = written(tmp_path / "other", config("point", objective="mean_fitness", seed=4), np.ones((1, 1)))
    runs.append(with_behaviors(other, 0, np.ones((1, 4, 2))))
    drawing = behaviors.seeds_figure(runs)
    drawing.draw_without_rendering()
    maps = [ax for ax in drawing.axes if ax.get_title("left")]
    assert [ax.get_title("left") for ax in maps] == ["seed 3", "seed 4", "seed 10", "seed 4"]
    names = [text.get_text() for ax in maps for text in ax.texts]
    assert names == ["MaxEnt-EES", "standard ES"]
    assert [bool(ax.get_xlabel()) for ax in maps] == [False, True, True, True]
    widths = []
    for ax in maps[:3]:
        shares = ax.collections[0].get_array()
        assert shares is not None
        widths.append(np.ptp(np.argwhere(np.ma.filled(shares, 0))))
    assert widths[0] < widths[2] < widths[1]  # each has its own behaviors


@pytest.mark.parametrize("number", [7, 8])
def test_many_seeds_stand_in_lines_about_equally_long(tmp_path: Path, number: int) -> None:
    run = written(tmp_path / "run", config("point", seeds=number), np.ones((number, 1)))
    drawing = behaviors.seeds_figure([with_behaviors(run, 0, np.ones((number, 3, 2)))])
    lines = [ax.get_subplotspec() for ax in drawing.axes if ax.get_title("left")]
    assert [spec.rowspan.start for spec in lines if spec is not None] == [0] * 4 + [1] * (number - 4)


def test_seeds_says_where_no_member_is_valid(tmp_path: Path) -> None:
    run = written(tmp_path / "run", config("point", seeds=2), np.ones((2, 1)))
    with_behaviors(run, 0, np.ones((2, 3, 2)), np.array([[True] * 3, [False] * 3]))
    said = [[text.get_text() for text in ax.texts] for ax in behaviors.seeds_figure([run]).axes if ax.get_title("left")]
    assert said == [["MaxEnt-EES"], ["no member is valid"]]


def test_the_seed_shown_has_the_median_weaker_side(tmp_path: Path) -> None:
    """By how far it goes, whatever share of the population goes there."""
    runs = []
    for seed, (left, share) in enumerate(((1.0, 10), (2.0, 90), (3.0, 50))):
        run = written(tmp_path / str(seed), config("cheetah", objective="max_entropy", seed=seed), np.ones((1, 1)))
        cloud = np.concatenate([np.full(share, -left), np.full(100 - share, 5.0)])[None, :, None]
        runs.append(with_behaviors(run, 0, cloud))
    assert behaviors.representative(runs)[0].config.seed == 1


def test_distance_is_that_of_every_group_of_runs(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / name, config(objective=name, seeds=2), np.ones((2, 3)), distance=np.full((2, 3), value))
        for name, value in (("max_entropy", 2.0), ("mean_fitness", 5.0))
    ]
    [ax] = curves.distance_figure(runs).axes
    heights = {str(line.get_label()): np.unique(line.get_ydata()).tolist() for line in ax.get_lines()}
    assert heights == {"MaxEnt-EES": [2.0], "standard ES": [5.0]}
    third = written(tmp_path / "third", config(objective="max_variance"), np.ones((1, 3)))
    [ax] = curves.distance_figure([*runs, third]).axes
    assert {str(line.get_label()) for line in ax.get_lines()} > {"MaxEnt-EES (2 seeds)", "MaxVar-EES (1 seed)"}


def test_behaviors_refuse_runs_that_cannot_be_compared(tmp_path: Path, real: dict[str, Run]) -> None:
    with pytest.raises(ConfigError, match="compared within one task"):
        behaviors.data_from_runs([real["variance"], real["point"]])
    with pytest.raises(RunFolderError, match="no recorded behaviors"):
        behaviors.data_from_runs([written(tmp_path / "a", config(), np.ones((1, 1)))])


# Files


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        pytest.param(name, suffix, marks=() if name == "distance" or suffix == ".svg" else pytest.mark.full)
        for name in ("interference", "curves", "behaviors", "final", "seeds", "distance")
        for suffix in SUFFIXES
    ],
)
def test_the_same_runs_give_the_same_file(name: str, suffix: str, real: dict[str, Run], tmp_path: Path) -> None:
    files = [draw_figure(name, shown_in(name, real), tmp_path / "new" / f"{k}{suffix}") for k in range(2)]
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith({".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix])
    assert len(first) > 5000


def test_a_palette_keeps_colors_and_size(real: dict[str, Run], tmp_path: Path) -> None:
    with Image.open(draw_figure("final", [real["point"]], tmp_path / "final.png")) as image:
        assert image.mode == "P"
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_two_dimensional_behaviors_are_drawn(real: dict[str, Run], tmp_path: Path) -> None:
    assert draw_figure("behaviors", [real["point"]], tmp_path / "maps.PNG").stat().st_size > 5000


def test_the_file_is_called_after_the_figure_unless_named(
    real: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert draw_figure("curves", [real["point"]]) == Path("curves.png")
    assert (tmp_path / "curves.png").is_file()


def test_drawing_neither_warns_nor_leaves_settings_behind(real: dict[str, Run], tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FIGURES:
            draw_figure(name, shown_in(name, real)[:1], tmp_path / f"{name}.svg")
    assert dict(matplotlib.rcParams) == before


def test_a_users_own_settings_change_nothing(real: dict[str, Run], tmp_path: Path) -> None:
    plain = draw_figure("curves", [real["point"]], tmp_path / "plain.svg").read_bytes()
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.grid": True}):
        assert draw_figure("curves", [real["point"]], tmp_path / "own.svg").read_bytes() == plain


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda runs: draw_figure("curvs", runs), ConfigError, "Unknown figure 'curvs'. Did you mean 'curves'"),
        (lambda runs: draw_figure("curves", []), ConfigError, "Give at least one run folder"),
        (lambda runs: draw_figure("curves", runs, Path("a.gif")), ConfigError, "'a.gif'. Write e.g. output='a.png'"),
        (lambda runs: draw_figure("curves", runs, Path("a")), ConfigError, "must end in .png, .pdf, .svg"),
    ],
)
def test_errors_say_what_to_do(
    call: Callable[[list[Run]], Path], error: type[Exception], text: str, real: dict[str, Run]
) -> None:
    with pytest.raises(error, match=text):
        call([real["point"]])


def test_a_file_that_cannot_be_written_is_named(real: dict[str, Run], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"a\.png cannot be written: .* Choose another place"):
        draw_figure("curves", [real["point"]], tmp_path / "file" / "a.png")


def test_draw_works_on_axes_of_ones_own(real: dict[str, Run]) -> None:
    ax = new_figure(3, 2).subplots()
    curves.draw(ax, curves.data_from_runs([real["point"]]), "entropy")
    assert len(ax.get_lines()) == 1


def test_names_with_dollars_are_no_formulas(tmp_path: Path) -> None:
    def draw() -> Figure:
        drawing = Figure(figsize=(3.0, 1.2))
        drawing.subplots().set(xlabel=r"cost ($\foo$)", title="$x^{", xscale="log", xlim=(1, 1000))
        return drawing

    text = save_figure(draw, tmp_path / "money.svg").read_text()
    assert r"<!-- cost ($\foo$) -->" in text
    assert r"<!-- $\mathdefault{10^{2}}$ -->" in text


@pytest.mark.parametrize("lowest", [1e-5, 1e-3, 0.3])
def test_a_color_bar_has_ticks_whatever_its_range(lowest: float) -> None:
    drawing = Figure(figsize=(3.0, 1.2))
    ax = drawing.add_subplot()
    mesh = ax.pcolormesh(np.array([[lowest, 1.0]]), norm=LogNorm(lowest, 1.0))
    behaviors._add_colorbar(drawing, mesh, ax)
    drawing.draw_without_rendering()
    (bar,) = ax.child_axes
    assert len([tick for tick in bar.get_yticks() if lowest <= tick <= 1]) >= 2
