"""Runs whose objective, population and optimizer are objects: trained, written, resumed and shown like any other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from evolvability import (
    ConfigError,
    Outcome,
    Run,
    diagonal_normal,
    evolve,
    expect,
    function_task,
    max_entropy,
    max_variance,
    mixture,
    normal,
    resume,
)
from evolvability.cli import main
from evolvability.core.ramp import Ramp
from evolvability.core.stateful_objectives import weighted_sum
from evolvability.studies.groups import run_names
from evolvability.tasks.simulators import simulator_task

SMALL: dict[str, Any] = {"population_size": 16, "generations": 4, "progress": False}


def apart(outcome: Outcome, log_prob: jax.Array) -> jax.Array:
    """The mean absolute deviation."""
    mean = expect(outcome.behavior, log_prob, where=outcome.valid)
    return expect(jnp.abs(outcome.behavior - mean).sum(axis=1), log_prob, where=outcome.valid)


def arm(x: jax.Array) -> jax.Array:
    return jnp.stack([jnp.sin(x[0]), jnp.cos(x[1])])


TASK = function_task(arm, jnp.ones(2))


def test_objects_train_as_their_names_do() -> None:
    objects: dict[str, Any] = {"objective": max_variance(), "population": normal(0.3), "optimizer": optax.adam(0.05)}
    named: dict[str, Any] = {"objective": "max_variance", "sigma": 0.3, "learning_rate": 0.05}
    run, by_name = evolve(TASK, **objects, **SMALL), evolve(TASK, **named, **SMALL)
    np.testing.assert_array_equal(run.centers, by_name.centers)
    # What has a name is recorded by it: such a run needs no object again.
    assert replace(run.config, optimizer="adam", learning_rate=0.05) == by_name.config
    changed = replace(normal(0.3), num_signs=2)
    assert str(evolve(TASK, population=changed, **SMALL | {"generations": 1}).config.population) == "python:normal"


def test_an_objective_of_ones_own_is_climbed() -> None:
    run = evolve(TASK, objective=apart, optimizer=optax.adamw(0.1), sigma=0.1, **SMALL | {"generations": 30})
    assert run.metrics["objective"][0, -5:].mean() > 1.5 * run.metrics["objective"][0, 0]


def test_a_run_of_objects_is_written_resumed_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    species = mixture(2, lambda generation: jnp.float32(0.2) + 0 * generation)
    objects: dict[str, Any] = {"objective": apart, "population": species, "optimizer": optax.adamw(0.05)}
    values: dict[str, Any] = {**SMALL, **objects, "seeds": 2}
    evolve(TASK, output=tmp_path / "whole", **values)
    evolve(TASK, output=tmp_path / "part", **values | {"generations": 2})
    result = resume(tmp_path / "part", TASK, generations=4, progress=False, **objects)
    part, config = Run(tmp_path / "part"), Run(tmp_path / "whole").config
    np.testing.assert_array_equal(part.centers, Run(tmp_path / "whole").centers)
    assert (config.objective, config.population, config.optimizer) == ("python:apart", "python:mixture", "python:optax")
    assert (
        config.population_options.sigma,
        config.population_options.components,
        config.population_options.mirrored,
    ) == (0.2, 2, True)
    assert part.config == config
    main(["show", str(part.path)])
    shown = capsys.readouterr().out
    assert "python:apart" in shown
    assert "learning_rate" not in shown  # the object's own is not known
    assert run_names([config]) == ["apart"]
    assert Run(part.path, task=TASK, population=objects["population"]).mutations(3, of_seed=1).shape == (3, 2)
    # As `evolve` returns it, with the generations before.
    np.testing.assert_array_equal(result.metrics["variance"], Run(tmp_path / "whole").metrics["variance"])
    np.testing.assert_array_equal(result.centers, part.centers)
    assert result.mutations(3, of_seed=1).shape == (3, 2)
    # No command could give the objects.
    main(["resume", str(part.path)])
    shown = capsys.readouterr().out.replace("\n", " ")
    assert "task=..., objective=..., population=..., optimizer=..., generations=N)" in shown
    with pytest.raises(SystemExit, match="2"):
        main(["figure", "adaptation", str(part.path)])
    assert "task=..., population=...), from Python" in capsys.readouterr().err.replace("\n", " ")


def test_what_a_folder_does_not_hold_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects: dict[str, Any] = {"objective": apart, "population": replace(normal(0.2)), "optimizer": optax.sgd(0.05)}
    evolve("interference", output=tmp_path / "run", **SMALL | {"generations": 1}, **objects)
    for missing in objects:
        rest = {name: piece for name, piece in objects.items() if name != missing}
        with pytest.raises(ConfigError, match=rf"{missing}, python:\w+, was given from Python"):
            resume(tmp_path / "run", generations=2, **rest)
    again = ["train", "--config", str(tmp_path / "run" / "config.toml")]
    for command in (["resume", str(tmp_path / "run"), "--generations", "2"], again):
        with pytest.raises(SystemExit, match="2"):
            main(command)
        assert "python:apart, was given from Python" in capsys.readouterr().err.replace("\n", " ")
    with pytest.raises(ConfigError, match=r"population, python:normal.*Run\(path, population="):
        Run(tmp_path / "run").mutations()
    others = [("objective", max_variance()), ("population", normal(0.3)), ("population", diagonal_normal(0.2))]
    for name, other in others:
        with pytest.raises(ConfigError, match=f"{name}: the run has"):
            resume(tmp_path / "run", generations=2, **objects | {name: other})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": max_variance}, r"max_variance\(\).*function max_variance"),
        ({"objective": 3}, r"objective: .*got 3"),
        ({"population": normal}, r"normal\(0.1\).*function normal"),
        ({"optimizer": optax.adam}, r"optax.adam\(0.01\).*function adam"),
        ({"population": normal(0.1), "sigma": 0.2}, "sigma is a matter of the population"),
        ({"optimizer": optax.adam(0.1), "learning_rate": 0.2}, "learning_rate is a matter of the optimizer"),
        ({"objective": max_entropy(), "bandwidth": 2.0}, "bandwidth is a matter of the objective"),
        ({"objective": max_variance(), "bandwidth": 2.0}, "bandwidth is an option of max_entropy"),
        ({"population": normal(0.1), "population_size": 7}, "population_size must be even"),
        ({"objective": lambda outcome, log_prob: outcome.behavior}, r"one number is expected, got shape \(4, 2\)"),
        ({"objective": lambda outcome, log_prob: jnp.var(outcome.behavior)}, r"leaves log_prob out.*expect\(values"),
        ({"objective": lambda outcome: 0.0}, "The objective raised: TypeError"),
    ],
)
def test_what_is_no_piece_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evolve(TASK, **SMALL | settings)


def test_an_objective_with_a_schedule_can_be_given() -> None:
    fading = weighted_sum((Ramp(1.0, 0.0, 3), max_variance()), (1.0, apart))
    run = evolve(TASK, objective=fading, **SMALL)
    assert run.config.objective == "python:weighted_sum"


class Walk:
    """A simulator in ordinary Python."""

    def __call__(self, parameters: Any, seed: int) -> Any:
        return parameters.cumsum()[-1:]


@pytest.mark.full
def test_a_population_of_ones_own_reaches_workers() -> None:
    task = simulator_task(Walk, start=np.zeros(3))
    values: dict[str, Any] = {"population": replace(normal(0.4, mirrored=False)), "objective": apart, **SMALL}
    alone = evolve(task, **values)
    np.testing.assert_array_equal(evolve(task, workers=2, **values).centers, alone.centers)
