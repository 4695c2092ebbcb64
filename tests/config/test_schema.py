"""Configuration: layers, validation, and files that repeat a run."""

import ast
import dataclasses
import inspect
import itertools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import Run
from evolvability.config.objective_text import parse_objective
from evolvability.config.schema import PRESETS, Config, changed, layered, read_toml, to_toml
from evolvability.config.tables import from_table
from evolvability.core.entries import POPULATIONS, ObjectiveEntry, PopulationEntry, loaded, option_names
from evolvability.core.errors import ConfigError
from evolvability.methods.registry import OBJECTIVES, BehaviorOptions
from evolvability.runs.writer import RunWriter
from evolvability.tasks.registry import TASKS, TaskEntry


def test_paper_hyperparameters_of_the_interference_task() -> None:
    variance, entropy = (layered("interference", objective=name) for name in ("max_variance", "max_entropy"))
    assert (variance.learning_rate, entropy.learning_rate) == (0.03, 0.1)
    assert entropy.objective_options.bandwidth == 1.0
    for config in (variance, entropy):
        assert (config.population_options.sigma, config.population_size) == (0.5, 500)
        assert (config.optimizer, config.population_options.mirrored, config.l2) == ("sgd", False, 0.0)


def test_released_code_preset_follows_the_decisions() -> None:
    config = layered("point", preset="released-code")
    assert config.objective_options.behavior_shaping == "centered_ranks"
    assert config.l2 == 0.005
    assert 2 * config.objective_options.bandwidth**2 == pytest.approx(1.0)  # exp(-d^2)


def test_released_code_brings_l2_to_networks_alone() -> None:
    assert layered("interference", preset="released-code").l2 == 0.0
    assert layered("module:name", preset="released-code").l2 == 0.0


def test_layers_win_in_order() -> None:
    assert layered("point").population_size == 256
    assert layered("point", preset="smoke").population_size == 64
    assert layered("point", preset="smoke", values={"population_size": 10}).population_size == 10


def test_a_preset_may_name_the_objective_and_an_objective_given_wins() -> None:
    config = layered("cheetah", preset="dependable")
    assert (config.objective, config.episodes, config.task_options.start_noise) == ("max_covariance", 2, 0.1)
    assert layered("cheetah", preset="dependable", objective="max_variance").objective == "max_variance"
    assert layered("cheetah", preset="dependable", values={"objective": "max_entropy"}).episodes == 2


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_a_file_repeats_the_configuration(task: str, preset: str | None, tmp_path: Path) -> None:
    config = layered(task, preset=preset, values={"sigma": 1e-5, "objective": "mean_fitness + 0.1*max-entropy"})
    path = tmp_path / "config.toml"
    path.write_text(to_toml(config))
    assert from_table(read_toml(path), Config) == config
    assert tomllib.loads(path.read_text())["format"] == 2


@pytest.mark.parametrize("text", ["runs/🐜", 'runs/"a\\b"', "runs/größe\n"])
def test_any_character_in_a_text_is_read_back(text: str, tmp_path: Path) -> None:
    config = layered("point", values={"start_from": text})
    RunWriter(tmp_path).write_config(config)
    assert Run(tmp_path).config == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sigma": -1.0}, r"sigma .*-1\.0"),
        ({"sigma": float("nan")}, "sigma .*finite"),
        ({"population_size": 7}, "population_size .*even.*mirrored=False.*7"),
        ({"population_size": 0}, "population_size .*2 or more.*0"),
        ({"population_size": 2}, "population_size .*4 or more for mirrored.*2"),
        ({"population_size": 2.5}, r"population_size: .*int.*2\.5"),
        ({"sigmaa": 1.0}, r"Unknown configuration key 'sigmaa'. Did you mean 'sigma'\?"),
        ({"objective": "max_entropi"}, r"Unknown objective 'max_entropi'. Did you mean 'max_entropy'\?"),
        ({"objective": "x*max_entropy"}, "'x' in 'x.max_entropy' is neither"),
        ({"objective": "max_entropy+"}, "a term is missing in 'max_entropy.'"),
        ({"objective": "maml+0.5*max_entropy"}, "maml .*cannot be a term"),
        ({"objective": "nan*max_entropy"}, "'nan' in 'nan.max_entropy' is neither"),
        ({"objective": max}, "objective: a text"),
        ({"optimizer": "sdg"}, r"Unknown optimizer 'sdg'. Did you mean 'sgd'\? Available: adabelief, adam"),
        ({"population": "mixture", "components": 1}, "components .*2 or more.*1"),
        ({"learning_rate": 0.0}, "learning_rate .*positive"),
        ({"generations": 0}, "generations .*1 or more"),
        ({"max_invalid": 1.5}, "max_invalid .*between 0 and 1"),
        ({"task_options": {"hiden": 3}}, r"Unknown configuration key 'task_options.hiden'. Did you mean"),
        ({"task_options": {"num_steps": 0}}, "num_steps .*1 or more.*0"),
        ({"mirrored": "yes"}, "mirrored: .*bool.*'yes'"),
        ({"population": "nromal"}, r"Unknown population 'nromal'. Did you mean 'normal'\?"),
        ({"population": 3}, "population: a text"),
        (
            {"rank": 2},
            "rank is an option of low_rank. This run has the objective max_entropy and the population normal",
        ),
        ({"objective": "max_variance", "bandwidth": 2.0}, "bandwidth is an option of max_entropy"),
        ({"objective": "max_entropy+max_variance", "bandwidth": 2.0}, "bandwidth: of which term .*--max-entropy.band"),
        (
            {"objective": "max_entropy+max_variance", "objective_options": {"bandwidth": 2.0}},
            "options: a table per term .*bandwidth",
        ),
        ({"objective_options": {"bandwith": 2.0}}, "Unknown configuration key 'objective_options.bandwith'"),
        ({"objective_options": 3}, "A table of options is expected, got 3"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_that_makes_no_run_is_refused_with_a_reason(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        layered("point", values=values)


def test_settings_of_every_run_that_an_objective_leaves_aside_are_known() -> None:
    assert {"learning_rate", "l2", "times"} <= layered("navigation", objective="maml").idle
    assert layered("point", objective="max_entropy+0.5*mean_fitness").idle == set()
    names = {field.name for field in dataclasses.fields(Config)}
    assert layered("navigation", objective="maml").idle <= names


def test_an_option_has_one_name_in_all_of_a_run() -> None:
    """By it alone options are given, on the command line and from Python."""
    settings = {field.name for field in dataclasses.fields(Config)}
    of_objectives = {name for entry in OBJECTIVES.values() for name in option_names(entry.options)}
    of_populations = {name for entry in POPULATIONS.values() for name in option_names(entry.options)}
    assert not settings & (of_objectives | of_populations)
    assert not of_objectives & of_populations


def test_options_go_into_the_table_of_what_has_them() -> None:
    config = layered("point", values={"bandwidth": 2, "sigma": 0.1})
    assert (config.objective_options.bandwidth, config.population_options.sigma) == (2.0, 0.1)
    same = layered("point", values={"objective_options": {"bandwidth": 2}, "population_options": {"sigma": 0.1}})
    assert same == config
    assert layered("point", values={"objective_options": config.objective_options, "sigma": 0.1}) == config
    assert layered("point", objective="0.5*max_entropy", values={"bandwidth": 2}).options["bandwidth"] == 2


def test_every_term_of_a_sum_has_options_of_its_own() -> None:
    options = {"max_entropy": {"behavior_shaping": "none"}, "max_variance": {"behavior_shaping": "robust"}}
    config = layered("point", objective="max_entropy+max_variance", values={"objective_options": options})
    assert config.objective_options["max_entropy"].behavior_shaping == "none"
    assert config.options["max_variance.behavior_shaping"] == "robust"


def test_a_preset_reaches_the_options_that_there_are() -> None:
    ranked = layered("point", objective="max_variance+mean_fitness", preset="released-code")
    assert ranked.objective_options["max_variance"].behavior_shaping == "centered_ranks"
    assert layered("point", objective="mean_fitness", preset="released-code").l2 == 0.005


def test_options_go_along_with_another_objective_as_far_as_it_has_them() -> None:
    entropy = layered("point", values={"behavior_shaping": "robust", "bandwidth": 2.0, "sigma": 0.1})
    variance = changed(entropy, objective="max_variance", population="mixture", components=3)
    assert variance.objective_options == BehaviorOptions("robust")
    assert (variance.options["sigma"], variance.options["components"]) == (0.1, 3)
    several = changed(entropy, objective="max_variance+max_entropy")
    assert several.objective_options["max_entropy"] == entropy.objective_options
    assert changed(several, objective="max_entropy") == changed(entropy)
    with pytest.raises(ConfigError, match="bandwidth is an option of max_entropy"):
        changed(entropy, objective="max_variance", bandwidth=1.0)


@pytest.mark.parametrize("entry", [*OBJECTIVES.values(), *POPULATIONS.values()], ids=[*OBJECTIVES, *POPULATIONS])
def test_an_entry_leads_to_a_factory_that_takes_its_options(entry: ObjectiveEntry | PopulationEntry) -> None:
    taken = inspect.signature(loaded(entry.factory)).parameters
    own = {*option_names(entry.options)} - {"sigma_decay", "sigma_min"}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return  # it hands them on
    if entry.factory == ".methods.maml:maml":
        own = {"options"}
    assert own <= taken.keys()
    assert entry.summary


def test_an_odd_population_is_fine_without_mirrored_sampling() -> None:
    assert layered("point", values={"population_size": 7, "mirrored": False}).population_size == 7


def test_objectives_are_sums() -> None:
    assert parse_objective("mean_fitness+0.1*max_entropy") == [(1.0, "mean_fitness"), (0.1, "max_entropy")]
    assert parse_objective("1e-3*max_entropy+-2e+1*mean_fitness") == [(1e-3, "max_entropy"), (-20.0, "mean_fitness")]
    assert layered("point", objective="1e-3*max-entropy").objective == "1e-3*max_entropy"
    assert layered("point", objective="mean-fitness + 2*max-variance").objective == "mean_fitness+2*max_variance"


ENTRIES: list[TaskEntry | ObjectiveEntry | PopulationEntry] = [
    *TASKS.values(),
    *OBJECTIVES.values(),
    *POPULATIONS.values(),
]
OPTIONS: set[type] = {Config, *(entry.options for entry in ENTRIES)}


@pytest.mark.parametrize("cls", sorted(OPTIONS, key=str))
def test_every_setting_has_its_sentence(cls: type) -> None:
    # Options of robots that come with the package are made by a function, of those of any robot.
    written_out = [part for part in cls.__mro__ if part.__module__ not in ("builtins", "types")]
    written = [ast.parse(inspect.getsource(part)).body[0] for part in written_out]
    explained = {
        field.target.id
        for part in written
        for field, text in itertools.pairwise(part.body)  # type: ignore[attr-defined]
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(field.target, ast.Name)
    }
    assert explained == {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("cls", sorted(OPTIONS, key=str))
def test_no_setting_is_a_number_that_compiled_programs_cannot_count_to(cls: type) -> None:
    given: dict[str, Any] = {"task": "point"} if cls is Config else {}
    for name in [field.name for field in dataclasses.fields(cls) if type(field.default) is int]:
        for value in (2**31, np.int64(2**31), 2.0**31):
            with pytest.raises(ConfigError, match=rf"^{name} must be .*, got 2147483648"):
                cls(**given, **{name: value})


def test_units_in_words_are_bounded_too() -> None:
    with pytest.raises(ConfigError, match="hidden must be 1 or more"):
        layered("point", values={"task_options": {"hidden": "3000000000,4"}})


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(to_toml(layered("ant")).replace("format = 2", "format = 1"))
    with pytest.raises(ConfigError, match="has format 1, not format 2"):
        read_toml(tmp_path / "config.toml")
