"""Configuration: layers, validation, and files that repeat a run."""

import ast
import dataclasses
import inspect
import itertools
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evolvability.config.schema import PRESETS, Config, from_table, layered, parse_objective, read_toml, to_toml
from evolvability.core.errors import ConfigError
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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sigma": -1.0}, r"sigma must be positive, got -1\.0"),
        ({"sigma": float("nan")}, "sigma must be a finite number"),
        ({"population_size": 7}, r"population_size must be even.*mirrored.*got 7"),
        ({"population_size": 0}, "population_size must be 2 or more, got 0"),
        ({"population_size": 2.5}, r"population_size: a value of type int is expected, got 2\.5"),
        ({"sigmaa": 1.0}, r"Unknown configuration key 'sigmaa'. Did you mean 'sigma'\?"),
        ({"objective": "max_entropi"}, r"Unknown objective 'max_entropi'. Did you mean 'max_entropy'\?"),
        ({"objective": "x*max_entropy"}, "'x' in 'x.max_entropy' is neither a number nor a schedule"),
        ({"objective": "max_entropy+"}, "a term is missing in 'max_entropy.'"),
        ({"objective": "maml+0.5*max_entropy"}, "maml is a method of its own, and no term of a sum"),
        ({"objective": "nan*max_entropy"}, "'nan' in 'nan.max_entropy' is neither a number nor a schedule"),
        ({"objective": max}, "objective: a text such as 'max_entropy' is expected"),
        ({"optimizer": "sdg"}, r"Unknown optimizer 'sdg'. Did you mean 'sgd'\? Available: adabelief, adam"),
        ({"population": "mixture", "components": 1}, "components must be 2 or more for a mixture, got 1"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"generations": 0}, "generations must be 1 or more"),
        ({"max_invalid": 1.5}, "max_invalid must be between 0 and 1"),
        ({"task_options": {"hiden": 3}}, r"Unknown configuration key 'task_options.hiden'. Did you mean"),
        ({"task_options": {"num_steps": 0}}, "num_steps must be 1 or more, got 0"),
        ({"mirrored": "yes"}, "mirrored: a value of type bool is expected, got 'yes'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_that_makes_no_run_is_refused_with_a_reason(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        layered("point", values=values)


def test_an_odd_population_is_fine_without_mirrored_sampling() -> None:
    assert layered("point", values={"population_size": 7, "mirrored": False}).population_size == 7


def test_objectives_are_sums() -> None:
    assert parse_objective("mean_fitness+0.1*max_entropy") == [(1.0, "mean_fitness"), (0.1, "max_entropy")]
    assert parse_objective("1e-3*max_entropy+-2e+1*mean_fitness") == [(1e-3, "max_entropy"), (-20.0, "mean_fitness")]
    assert layered("point", objective="1e-3*max-entropy").objective == "1e-3*max_entropy"
    assert layered("point", objective="mean-fitness + 2*max-variance").objective == "mean_fitness+2*max_variance"


@pytest.mark.parametrize("cls", [Config, *(entry.options for entry in TASKS.values())])
def test_every_knob_has_its_sentence(cls: type) -> None:
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
