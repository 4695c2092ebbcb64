"""Tasks of the user's own, and what happens when they misbehave."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import Task, TaskError, evolve, function_task, make_task
from evolvability.config.build import build_population
from evolvability.config.schema import layered
from evolvability.core.entries import POPULATIONS
from evolvability.core.errors import ConfigError, UserError
from evolvability.core.populations import normal
from evolvability.core.types import Parameters, Sample, sample_of
from evolvability.runs.picking import evaluator
from evolvability.tasks.interference import pattern
from evolvability.tasks.own_code import imported
from evolvability.tasks.registry import TASKS
from tests.optional import PYBULLET


def members_of(start: Any, num_members: int = 6) -> Sample:
    return sampled(jnp.asarray(start), np.arange(num_members // 2))


@jax.jit
def sampled(start: Array, draws: Array) -> Sample:
    return normal(0.1).sample(jax.random.key(0), Parameters(start[None]), 0, draws)


TINY: dict[str, Any] = {"num_steps": 5, "hidden": 16, "env": "CartPole-v1"}
"""Options that make a task small, each for tasks that have it."""


def tiny_task(name: str) -> Task:
    if name.endswith("-bullet"):
        pytest.importorskip("pybullet", reason=PYBULLET.kwargs["reason"])
    own = {field.name for field in dataclasses.fields(TASKS[name].options)}
    file = {"model": "inverted_pendulum"} if name == "robot" else {}
    return make_task(name, {option: value for option, value in TINY.items() if option in own} | file)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_returns_what_it_announces(name: str) -> None:
    task = tiny_task(name)
    sample = members_of(task.init(jax.random.key(0)))
    outcome, _ = evaluator(task)(jax.random.key(1), sample, task.memory)
    assert outcome.behavior.shape == (6, len(task.behavior))
    assert outcome.fitness.shape == outcome.valid.shape == outcome.num_steps.shape == (6,)
    assert bool(outcome.valid.all())


# Quick are every population with one task, and a robot with the population that is kept in the most parts.
PAIRS = [
    pytest.param(
        name,
        population,
        marks=() if name == "point" or (name, population) == ("cheetah", "low_rank") else pytest.mark.full,
    )
    for name in TASKS
    for population in POPULATIONS
]


@pytest.mark.parametrize(("name", "population"), PAIRS)
def test_every_task_works_with_every_population(name: str, population: str) -> None:
    """Members in the parts that a population keeps them in do what they do written out."""
    task = tiny_task(name)
    config = layered(name, offers={"population": population, "rank": 1, "sigma": 0.1, "noise_dtype": "float32"})
    if population == "low_rank" and not any(len(shape) > 1 for shape in task.shapes):
        with pytest.raises(ConfigError, match=r"\(1,\)"):  # one parameter: there is no matrix, and that is said
            build_population(config, task.shapes)
        return
    drawn = build_population(config, task.shapes)

    def both(key: Array) -> tuple[Sample, Sample]:
        centers = jax.vmap(task.init)(jax.random.split(key, drawn.num_components))
        sample = drawn.sample(jax.random.key(1), drawn.init(jax.random.key(2), centers), 0, drawn.draws(8))
        return sample, sample_of(sample.members())

    key, evaluate = jax.random.key(3), evaluator(task)
    (in_parts, _), (in_full, _) = (evaluate(key, sample, task.memory) for sample in jax.jit(both)(jax.random.key(0)))
    assert bool(in_parts.valid.all())
    np.testing.assert_allclose(in_parts.behavior, in_full.behavior, atol=1e-4)
    np.testing.assert_allclose(in_parts.fitness, in_full.fitness, atol=1e-4)


@pytest.mark.parametrize("name", ["point", "maze", "navigation"])
def test_noise_of_low_rank_is_full_where_a_network_is_small(name: str) -> None:
    task = tiny_task(name)
    values = {"sigma": 0.1, "noise_dtype": "float32"}
    low, full = (
        build_population(layered(name, values=values | {"population": population}), task.shapes)
        for population in ("low_rank", "normal")
    )
    parameters = low.init(jax.random.key(0), task.init(jax.random.key(0))[None])
    one, other = (
        jax.jit(lambda draws, drawn=drawn: drawn.sample(jax.random.key(1), parameters, 0, draws).members())(
            drawn.draws(8)
        )
        for drawn in (low, full)
    )
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_interference_is_the_formula() -> None:
    x = np.linspace(-10, 20, 50)
    np.testing.assert_allclose(pattern(jnp.asarray(x)), 5 * np.sin(x / 5) * np.sin(20 * x), atol=1e-3)


def test_point_moves_as_a_loop_over_written_out_networks_says() -> None:
    task = make_task("point", {"num_steps": 20, "hidden": 4})
    sample = members_of(task.init(jax.random.key(3)), 4)
    outcome, _ = jax.jit(task.evaluate)(jax.random.key(0), sample, ())
    for member, final in zip(np.asarray(sample.members(), np.float64), outcome.behavior, strict=True):
        w1, b1, w2, b2, w3, b3 = np.split(member, np.cumsum([16, 4, 16, 4, 8]))
        position, velocity = np.zeros(2), np.zeros(2)
        for _ in range(20):
            hidden = np.tanh(np.concatenate([position, velocity]) @ w1.reshape(4, 4) + b1)
            push = np.tanh(hidden @ w2.reshape(4, 4) + b2) @ w3.reshape(4, 2) + b3
            velocity = velocity + 0.1 * (push / max(1, np.linalg.norm(push)) - velocity)
            position = position + 0.1 * velocity
        np.testing.assert_allclose(final, position, atol=1e-5)


def test_python_and_jax_functions_give_the_same_run() -> None:
    def on_device(params: Any) -> Any:
        return jnp.stack([jnp.sin(params["a"]), params["b"][0] ** 2])

    def on_host(params: Any) -> list[float]:
        return [float(np.sin(float(params["a"]))), float(np.asarray(params["b"])[0]) ** 2]

    start = {"a": 0.5, "b": np.ones(2)}
    tasks = [function_task(function, start) for function in (on_device, on_host)]
    assert [task.on_host for task in tasks] == [False, True]
    settings: dict[str, Any] = {"objective": "max_variance", "generations": 4, "population_size": 16, "sigma": 0.1}
    results = [evolve(task, seeds=2, **settings) for task in tasks]
    np.testing.assert_allclose(results[0].centers, results[1].centers, rtol=1e-4)
    assert results[1].center["b"].shape == (2,)


def test_a_function_that_writes_its_parameters_as_text_is_called_on_the_host() -> None:
    for function in (lambda x: float(f"{x[0]:.3f}"), lambda x: float(str(x[0]))):  # as for a simulator's command line
        task = function_task(function, jnp.ones(2))
        assert task.on_host
        outcome, _ = task.evaluate(jax.random.key(0), members_of(jnp.ones(2)), ())
        np.testing.assert_allclose(outcome.behavior[:, 0], members_of(jnp.ones(2)).members()[:, 0], atol=1e-3)


def test_fitness_comes_from_a_function_of_its_own_or_with_the_behavior() -> None:
    separate = function_task(lambda x: x, jnp.ones(2), fitness=lambda x: x.sum())
    together = function_task(lambda x: (x, x.sum()), jnp.ones(2), returns_fitness=True)
    fitness = [
        task.evaluate(jax.random.key(0), members_of(jnp.ones(2)), ())[0].fitness for task in (separate, together)
    ]
    np.testing.assert_array_equal(fitness[0], fitness[1])
    assert separate.has_fitness
    assert not function_task(lambda x: x, jnp.ones(2)).has_fitness


def raises(x: Any) -> Any:
    raise KeyError("leg")


@pytest.mark.parametrize("on_host", [True, False])
@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        (lambda x: jnp.ones((2, 3)), r"\(2, 3\)"),
        (lambda x: jnp.ones((1, 2))[None], r"\(1, 1, 2\)"),
        (raises, "KeyError: 'leg'"),
    ],
    ids=["matrix", "tensor", "raises"],
)
def test_a_function_that_no_generation_can_be_made_of_is_named(behavior: Any, message: str, on_host: bool) -> None:
    with pytest.raises(TaskError, match=message):
        function_task(behavior, jnp.ones(2), on_host=on_host)


@pytest.mark.parametrize("make", [tuple, list, jnp.stack], ids=["tuple", "list", "array"])
@pytest.mark.parametrize("on_host", [True, False])
def test_a_position_may_be_returned_as_a_tuple_a_list_or_an_array(make: Any, on_host: bool) -> None:
    task = function_task(lambda x: make([x[0], 2 * x[1]]), jnp.ones(2), on_host=on_host)
    sample = members_of(jnp.ones(2))
    outcome, _ = task.evaluate(jax.random.key(0), sample, ())
    np.testing.assert_allclose(outcome.behavior, sample.members() * jnp.array([1.0, 2.0]), rtol=1e-6)
    assert not task.has_fitness


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((1.0, np.ones(3)), r"fitness.*\(3,\)"),
        (1.0, "got float"),
    ],
)
def test_a_fitness_that_is_not_one_number_is_named(returned: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        function_task(lambda x: returned, jnp.ones(2), returns_fitness=True, on_host=True)


def test_a_member_that_raises_is_named() -> None:
    calls = []

    def fragile(x: Any) -> float:
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError("joint broke")
        return float(x[0])

    task = function_task(fragile, jnp.ones(2), on_host=True)
    with pytest.raises(TaskError, match="member 3: RuntimeError: joint broke"):
        evolve(task, objective="max_variance", generations=1, population_size=16)


def test_a_member_that_changes_shape_is_named() -> None:
    calls = []

    def fickle(x: Any) -> Any:
        calls.append(1)
        return np.ones(2 if len(calls) < 4 else 3)

    task = function_task(fickle, jnp.ones(2), on_host=True)
    with pytest.raises(TaskError, match=r"member 2 has shape \(3,\)"):
        evolve(task, objective="max_variance", generations=1, population_size=16)


def test_some_nan_members_are_counted_and_left_out() -> None:
    task = function_task(lambda x: jnp.where(x[0] > 1.08, jnp.nan, x[0]), jnp.ones(1), on_host=False)
    result = evolve(task, generations=3, population_size=100, sigma=0.1)
    invalid = result.metrics["num_invalid"][0]
    assert 5 < invalid[0] < 45
    assert np.isfinite(result.centers).all()
    assert np.isfinite(result.metrics["variance"]).all()


def test_too_many_nan_members_stop_the_run_with_a_reason() -> None:
    task = function_task(lambda x: x[0] * jnp.nan, jnp.ones(1))
    with pytest.raises(UserError, match=r"16 of 16 .*generation 0.*max_invalid"):
        evolve(task, objective="max_variance", generations=3, population_size=16)


def test_an_objective_without_fitness_to_climb_is_refused() -> None:
    task = function_task(lambda x: x, jnp.ones(1))
    with pytest.raises(ConfigError, match="has no fitness"):
        evolve(task, objective="mean_fitness")


def test_a_task_is_found_by_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hill.py").write_text(
        "import jax.numpy as jnp\nfrom evolvability import function_task\n"
        "def task():\n    return function_task(lambda x: x**2, jnp.ones(2), name='hill')\n"
        "def raises():\n    raise KeyError('leg')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert make_task("hill:task").name == "hill"
    for wrong in ("hill:nothing", "hill:raises", "nowhere:task"):
        with pytest.raises(ConfigError, match=f"'{wrong}'.*module:name"):
            make_task(wrong)


def test_an_unknown_task_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'pointt'.*'point'.*interference"):
        make_task("pointt")


def test_the_working_folder_is_looked_into_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    (tmp_path / "sched.py").write_text("raise SystemError('not of Python')")  # a module of Python's own
    (tmp_path / "only_here.py").write_text("import sched\nfound = sched.scheduler")
    monkeypatch.delitem(sys.modules, "sched", raising=False)
    assert imported("only_here:found", "anything").__module__ == "sched"
