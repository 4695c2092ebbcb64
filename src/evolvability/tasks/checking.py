"""What comes back from a task of the user's own, looked at where it comes back: expected, given, and what to do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import jax
import numpy as np
from jax import Array

from evolvability.core.errors import ConfigError, TaskError
from evolvability.core.types import Outcome, PyTree, Sample, described
from evolvability.tasks.base import Task
from evolvability.tasks.own_code import explain_errors

PER_MEMBER = ("fitness", "valid", "num_steps")


def check_is_task(task: Any) -> None:
    """Refuse what is neither a task nor a name."""
    if isinstance(task, Task | str):
        return
    name = getattr(task, "__name__", "").strip("<>")
    make = f" Make one of it: function_task({name}, start=...)." if callable(task) and name else ""
    raise ConfigError(f"A Task, or the name of one, is expected, got {described(task)}.{make}")


def checked(task: Task) -> Task:
    """The task, whose results are looked at: by their shapes, so that JAX does it once, while it compiles."""

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        with explain_errors(f"Task '{task.name}': evaluate raised"):
            result = task.evaluate(key, sample, memory)
        check_pair(task, result)
        check_outcome(task, result[0], sample.num_members)
        return result

    def remember(memory: PyTree, seen: PyTree) -> PyTree:
        found = task.remember(memory, seen)
        check_memory(task, memory, found)
        return found

    return replace(task, evaluate=evaluate, remember=remember)


def trace(task: Task, ask: Callable[[Any], Sample], state: Any) -> None:
    """Evaluate a generation in the abstract, so that what cannot work says so before anything is compiled."""

    def generation(state: Any) -> PyTree:
        outcome, seen = task.evaluate(state.key, ask(state), state.memory)
        return outcome, task.remember(state.memory, seen)

    jax.eval_shape(generation, state)


def check_pair(task: Task, result: Any) -> None:
    """Refuse what is not an Outcome with the task's memory."""
    if not isinstance(result, tuple) or isinstance(result, Outcome) or len(result) != 2:
        _refuse(task, "the pair (Outcome, memory)", result, "Where nothing is remembered: return outcome, memory.")
    if not isinstance(result[0], Outcome):
        _refuse(task, "an Outcome first", result[0], "make_outcome(behavior) makes one of behaviors.")


def check_outcome(task: Task, outcome: Outcome, num_members: int) -> None:
    """Refuse an Outcome without a row per member, or of another number of behavior dimensions than have names."""
    shape = np.shape(outcome.behavior) if hasattr(outcome.behavior, "shape") else None
    if shape is None or len(shape) != 2 or shape[0] != num_members:
        what = f"behaviors of shape ({num_members}, {len(task.behavior)}), a row per member"
        advice = "A number per member becomes a column by behavior[:, None]." if shape and len(shape) == 1 else ""
        _refuse(task, what, outcome.behavior, advice)
    if shape[1] != len(task.behavior):
        names = f"Task(behavior=...) must name each of the {shape[1]} behavior dimensions that evaluate returns"
        raise TaskError(f"Task '{task.name}': {names}, got {task.behavior}.")
    for name in PER_MEMBER:
        if np.shape(getattr(outcome, name)) != (num_members,):
            _refuse(task, f"a {name} of shape ({num_members},)", getattr(outcome, name))


def check_memory(task: Task, before: PyTree, after: PyTree) -> None:
    """Refuse a memory of another form than that which the task begins with."""
    forms = [(jax.tree.structure(tree), [np.shape(leaf) for leaf in jax.tree.leaves(tree)]) for tree in (before, after)]
    if forms[0] != forms[1]:
        advice = "Return the memory that evaluate was given, if nothing changes."
        _refuse(task, f"a memory as Task(memory=...) has it, {_form(before)}", None, advice, got=_form(after))


def _form(tree: PyTree) -> str:
    return str(jax.tree.map(lambda leaf: f"array{np.shape(leaf)}", tree)).replace("'", "")


def _refuse(task: Task, expected: str, value: Any, advice: str = "", *, got: str = "") -> NoReturn:
    returned = f"evaluate must return {expected}, got {got or described(value)}"
    raise TaskError(f"Task '{task.name}': {returned}. {advice}".rstrip())
