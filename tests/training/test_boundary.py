"""Errors at the boundary of the user's own code: each says what was expected, what came, and what to do."""

import ast
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import evolvability
from evolvability import AskTell, Outcome, Task, TaskError, evolve, function_task, make_outcome, normal, simulator_task
from evolvability.cli import main
from evolvability.core.errors import ConfigError, UserError
from tests.patience import PATIENCE

SMALL: dict[str, Any] = {
    "generations": 1,
    "population_size": 8,
    "objective": "max_variance",
    "progress": False,
}


def task_of(result: Callable[[Any, Any], Any], *, on_host: bool = False, **more: Any) -> Task:
    """A task that returns something from ``(members, memory)``."""

    def evaluate(key: Any, sample: Any, memory: Any) -> Any:
        members = sample.members()
        return result(np.asarray(members) if on_host else members, memory)

    return Task("mine", ("x",), lambda key: jnp.zeros(3), evaluate, on_host=on_host, **more)


def outcome_with(behavior: Any) -> Outcome:
    return make_outcome(jnp.zeros((8, 1)))._replace(behavior=behavior)


WRONG: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a dict": (
        lambda members, memory: ({"x": members[:, :1]}, memory),
        r"'mine': evaluate must return an Outcome first, got a dict with the keys 'x'\. make_outcome",
    ),
    "a dict of behaviors": (
        lambda members, memory: (outcome_with({"x": members[:, 0]}), memory),
        r"behaviors of shape \(8, 1\), a row per member, got a dict with the keys 'x'",
    ),
    "nothing": (lambda members, memory: None, r"the pair \(Outcome, memory\), got None"),
    "no behavior": (
        lambda members, memory: (make_outcome(None), memory),  # type: ignore[arg-type]
        r"behavior must have the shape \(num_members, num_behaviors\), got None",
    ),
    "a number per member": (
        lambda members, memory: (make_outcome(members[:, 0]), memory),
        r"got an array of shape \(8,\)\. .*behavior\[:, None\]",
    ),
    "a number per member, in an Outcome": (
        lambda members, memory: (outcome_with(members[:, 0]), memory),
        r"\(8, 1\), a row per member, got an array of shape \(8,\)\. .*behavior\[:, None\]",
    ),
    "half of the members": (
        lambda members, memory: (make_outcome(members[:4, :1]), memory),
        r"\(8, 1\), a row per member, got an array of shape \(4, 1\)",
    ),
    "more dimensions than names": (
        lambda members, memory: (make_outcome(members), memory),
        r"must name each of the 3 behavior dimensions that evaluate returns, got \('x',\)",
    ),
    "no memory": (
        lambda members, memory: make_outcome(members[:, :1]),
        r"the pair \(Outcome, memory\), got an Outcome\. .*return outcome, memory",
    ),
    "another memory": (
        lambda members, memory: (make_outcome(members[:, :1]), None),
        r"a memory as Task\(memory=...\) has it, \{n: array\(\)\}, got None",
    ),
    "fitness of another size": (
        lambda members, memory: (make_outcome(members[:, :1])._replace(fitness=jnp.zeros(3)), memory),
        r"a fitness of shape \(8,\), got an array of shape \(3,\)",
    ),
    "an error": (lambda members, memory: memory["leg"], r"'mine': evaluate raised: KeyError: 'leg'"),
}


@pytest.mark.parametrize("on_host", [False, True], ids=["in JAX", "in Python"])
@pytest.mark.parametrize("what", WRONG)
def test_what_a_task_returns_is_checked(what: str, on_host: bool, tmp_path: Path) -> None:
    result, message = WRONG[what]
    with pytest.raises(TaskError, match=message):
        evolve(task_of(result, on_host=on_host, memory={"n": jnp.zeros(())}), output=tmp_path / "run", **SMALL)


def test_a_task_in_jax_is_checked_before_anything_is_compiled_or_written(tmp_path: Path) -> None:
    calls: list[Any] = []

    def once(members: Any, memory: Any) -> Any:
        calls.append(members)
        return make_outcome(members), memory

    with pytest.raises(TaskError, match="must name each"):
        evolve(task_of(once), output=tmp_path / "run", **SMALL)
    assert len(calls) == 1
    assert not (tmp_path / "run").exists()


def test_a_function_is_not_a_task() -> None:
    def landing(cannon: Any) -> Any:
        return cannon

    with pytest.raises(ConfigError, match=r"got a function\. Make one of it: function_task\(landing, start="):
        evolve(landing, **SMALL)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="the name of one, is expected, got None"):
        evolve(None, **SMALL)  # type: ignore[arg-type]


def simulated(behavior: Callable[[Any], Any], start: Any) -> Task:
    return simulator_task(lambda: lambda parameters, seed: behavior(parameters), start)


@pytest.mark.parametrize("make", [function_task, simulated])
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: {"a": x[0]}, r"got a dict with the keys 'a'\. Leave out the names.*behavior_names"),
        (lambda x: None, "got None"),
        (lambda x: "far", "got a str"),
    ],
)
def test_a_behavior_is_a_number_or_a_vector(make: Any, result: Any, message: str) -> None:
    with pytest.raises(TaskError, match=f"must be a number or a vector.*{message}"):
        make(result, np.zeros(3))


def test_members_that_all_do_the_same_are_told_of() -> None:
    same = function_task(lambda x: 0 * x[:1] + 2.0, jnp.zeros(3), behavior_names=["x"])
    with pytest.warns(UserWarning, match=r"all 8 members did the same \(x = 2\).*depend on the parameters"):
        evolve(same, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evolve(function_task(lambda x: x, jnp.zeros(3)), **SMALL)
        # A task that is only about fitness may have no behavior worth a word.
        fit = function_task(lambda x: 0 * x[:1], jnp.zeros(3), fitness=lambda x: x.sum())
        evolve(fit, **SMALL | {"objective": "mean_fitness"})


def test_a_goal_is_a_text_or_a_function() -> None:
    run = evolve("point", **SMALL)
    with pytest.raises(ConfigError, match=r"A goal is right, left, .*got 90\. Write it as a text: '90'"):
        run.pick(90)  # type: ignore[arg-type]


def test_a_loop_that_is_told_nothing_but_nan_says_so() -> None:
    loop = AskTell(jnp.zeros(3), population_size=8, objective="max_variance")
    loop.ask()
    with pytest.raises(TaskError, match=r"none of the 8 mutations has a finite behavior, of 1e\+15 at most"):
        loop.tell(np.full((8, 2), np.nan))
    loop.tell(np.arange(16.0).reshape(8, 2))  # nothing was lost
    loop.ask()
    with pytest.raises(TaskError, match=r"behaviors of 2 dimension\(s\) are expected, as before, got 3"):
        loop.tell(np.ones((8, 3)))


def test_a_loop_takes_sigma_and_learning_rate() -> None:
    settings: dict[str, Any] = {"population_size": 64, "objective": "mean_fitness"}
    small, large = (AskTell(jnp.zeros(30), sigma=size, learning_rate=size, **settings) for size in (0.1, 1.0))
    drawn = [np.asarray(loop.ask()) for loop in (small, large)]
    assert drawn[1].std() == pytest.approx(10 * drawn[0].std(), rel=1e-4)
    small.tell(drawn[0], fitness=drawn[0][:, 0])
    large.tell(drawn[1], fitness=drawn[1][:, 0])
    # Adam's first step is its step size.
    assert np.asarray(abs(large.center)).max() == pytest.approx(1.0, rel=0.01)
    assert np.asarray(abs(small.center)).max() == pytest.approx(0.1, rel=0.01)
    with pytest.raises(ConfigError, match="a population has its own sigma"):
        AskTell(jnp.zeros(3), sigma=0.1, population=normal(0.1))


def test_an_option_of_the_task_is_pointed_to() -> None:
    with pytest.raises(ConfigError, match=r"is an option of task 'point': give task_options=\{'num_steps': 3\}"):
        evolve("point", num_steps=3)
    with pytest.raises(ConfigError, match=r"Did you mean 'sigma'\? There are \d+: see evolvability.Config") as refused:
        evolve("point", sigmaa=3)
    assert len(str(refused.value)) < 150


def test_advice_is_in_the_words_of_whoever_asks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"such as goal='right'"):
        evolve(function_task(lambda x: x, jnp.zeros(3)), **SMALL | {"objective": "mean_fitness"})
    with pytest.raises(SystemExit):
        main(
            [
                "train",
                "navigation",
                "--action-std",
                "0.1",
                "--objective",
                "mean_fitness",
                "--output",
                str(tmp_path / "run"),
            ]
        )
    assert "such as --goal right" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"mirrored=False"):  # and afterwards as before
        evolve("point", population_size=7)


def texts(path: Path) -> list[tuple[int, str]]:
    """The texts of a module with their lines, docstrings apart."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    assert any(isinstance(node, documented) for node in ast.walk(tree))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [(node.lineno, node.value) for node in found if isinstance(node.value, str)]


def test_only_the_command_line_speaks_of_its_options() -> None:
    """Elsewhere `given` and `in_words` choose the words, in texts of their own."""
    root = Path(evolvability.__file__).parent
    paths = [path for path in root.rglob("*.py") if path.parent.name != "cli" and path != root / "core" / "errors.py"]
    whole = ("--", "add --", " --", "any Gymnasium environment: --env")
    found = [
        f"{path.name}:{line}: {text}"
        for path in paths
        for line, text in texts(path)
        if " --" in text and "ees " not in text and not text.startswith(whole)
    ]
    assert found == []


UNGUARDED = """
import numpy as np
from evolvability import evolve, simulator_task

class Walk:
    def __call__(self, parameters, seed):
        return parameters[:1]

evolve(simulator_task(Walk, start=np.zeros(3)), generations=1, population_size=8, workers=2)
print("once")
"""


def test_a_script_that_starts_workers_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "once\n"), done.stderr


def test_a_picked_mutation_is_short_to_print() -> None:
    picked = evolve("point", **SMALL).pick("left", mutations=3, repeats=2)
    assert str(picked).startswith("PickedMutation(")
    assert len(str(picked)) < 100
    assert isinstance(picked, tuple)


def test_these_are_errors_that_a_user_can_correct() -> None:
    assert issubclass(TaskError, UserError)
