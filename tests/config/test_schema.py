"""Configuration: layers, validation, and files that repeat a run."""

import ast
import dataclasses
import inspect
import itertools
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evolvability import Run
from evolvability.config.objective_text import parse_objective
from evolvability.config.schema import PRESETS, Config, from_table, idle_settings, layered, read_toml, to_toml
from evolvability.core.errors import ConfigError
from evolvability.runs.writer import RunWriter
from evolvability.tasks.registry import TASKS


def test_paper_hyperparameters_of_the_interference_task() -> None:
    variance, entropy = (layered("interference", objective=name) for name in ("max_variance", "max_entropy"))
    assert (variance.learning_rate, entropy.learning_rate) == (0.03, 0.1)
    for config in (variance, entropy):
        assert (config.sigma, config.population_size, config.bandwidth) == (0.5, 500, 1.0)
        assert (config.optimizer, config.mirrored, config.l2) == ("sgd", False, 0.0)


def test_released_code_preset_follows_the_decisions() -> None:
    config = layered("point", preset="released-code")
    assert config.behavior_shaping == "centered_ranks"
    assert config.l2 == 0.005
    assert 2 * config.bandwidth**2 == pytest.approx(1.0)  # exp(-d^2)


def test_released_code_brings_l2_to_networks_alone() -> None:
    assert layered("interference", preset="released-code").l2 == 0.0
    assert layered("module:name", preset="released-code").l2 == 0.0


def test_layers_win_in_order() -> None:
    assert layered("point").population_size == 256
    assert layered("point", preset="smoke").population_size == 64
    assert layered("point", preset="smoke", values={"population_size": 10}).population_size == 10


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_a_file_repeats_the_configuration(task: str, preset: str | None, tmp_path: Path) -> None:
    config = layered(task, preset=preset, values={"sigma": 1e-5, "objective": "mean_fitness + 0.1*max-entropy"})
    path = tmp_path / "config.toml"
    path.write_text(to_toml(config))
    assert from_table(read_toml(path)) == config
    assert tomllib.loads(path.read_text())["format"] == 1


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
        ({"population_size": 7}, "population_size .*even.*--no-mirrored.*7"),
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
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_that_makes_no_run_is_refused_with_a_reason(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        layered("point", values=values)


def test_settings_that_an_objective_does_not_heed_are_known() -> None:
    assert {"bandwidth", "learning_rate"}.isdisjoint(idle_settings("max_entropy+0.5*mean_fitness"))
    assert {"bandwidth", "maml", "threshold"} <= idle_settings("mean_fitness")
    assert {"learning_rate", "l2", "fitness_shaping"} <= idle_settings("maml")
    assert "maml" not in idle_settings("es_maml")
    assert {"bandwidth", "leave_one_out", "behavior_shaping"} <= idle_settings("qe_es")
    assert {"bandwidth", "leave_one_out", "behavior_shaping"}.isdisjoint(idle_settings("qe_es", "entropy"))


def test_an_odd_population_is_fine_without_mirrored_sampling() -> None:
    assert layered("point", values={"population_size": 7, "mirrored": False}).population_size == 7


def test_objectives_are_sums() -> None:
    assert parse_objective("mean_fitness+0.1*max_entropy") == [(1.0, "mean_fitness"), (0.1, "max_entropy")]
    assert parse_objective("1e-3*max_entropy+-2e+1*mean_fitness") == [(1e-3, "max_entropy"), (-20.0, "mean_fitness")]
    assert layered("point", objective="1e-3*max-entropy").objective == "1e-3*max_entropy"
    assert layered("point", objective="mean-fitness + 2*max-variance").objective == "mean_fitness+2*max_variance"


@pytest.mark.parametrize("cls", [Config, *(entry.options for entry in TASKS.values())])
def test_every_setting_has_its_sentence(cls: type) -> None:
    written = [ast.parse(inspect.getsource(part)).body[0] for part in cls.__mro__ if part is not object]
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


def test_the_engine_of_earlier_versions_is_read_as_the_one_that_took_its_place(tmp_path: Path) -> None:
    text = to_toml(layered("ant")).replace('engine = "auto"', 'engine = "mjx"\nmjx_implementation = "warp"')
    (tmp_path / "config.toml").write_text(text)
    assert from_table(read_toml(tmp_path / "config.toml")) == layered("ant")


def test_robots_of_earlier_runs_keep_the_body_that_they_had(tmp_path: Path) -> None:
    assert layered("ant").task_options.body == "paper"
    of_a_run = "".join(line for line in to_toml(layered("ant")).splitlines(True) if not line.startswith("body"))
    (tmp_path / "config.toml").write_text(of_a_run)
    assert from_table(read_toml(tmp_path / "config.toml")).task_options.body == "gymnasium"
    (tmp_path / "own.toml").write_text('task = "ant"\n[task_options]\nengine = "mujoco"\n')
    assert from_table(read_toml(tmp_path / "own.toml")).task_options.body == "paper"
