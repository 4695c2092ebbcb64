"""A task made of any function from parameters to behavior."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import TaskError
from evolvability.core.noise import shapes_of
from evolvability.core.types import Outcome, PyTree, Sample, outcome
from evolvability.tasks.base import Task, checked_names, checked_result, flattened
from evolvability.tasks.own_code import told


def function_task(
    behavior: Callable[[PyTree], Any],
    start: PyTree,
    *,
    fitness: Callable[[PyTree], Any] | None = None,
    returns_fitness: bool = False,
    name: str = "",
    behavior_names: Iterable[str] = (),
    on_host: bool | None = None,
) -> Task:
    """A task from ``behavior(parameters)``, which may be a JAX function or ordinary Python.

    Args:
        behavior: from one parameter pytree to its behavior, a number or a vector.
        start: the parameters evolution starts from, any pytree of floats.
        fitness: from one parameter pytree to its fitness, if the task has one.
        returns_fitness: whether ``behavior`` returns a pair ``(behavior, fitness)``, when one simulation yields both.
        name: the task's name; the function's own unless given.
        behavior_names: a name for each behavior dimension.
        on_host: True calls ``behavior`` as ordinary Python, member by member, with NumPy arrays; False compiles it with
            JAX. Unless given, it is compiled if JAX can trace it.

    Examples:
        >>> task = function_task(lambda x: x**2, start=jnp.ones(3))
        >>> len(task.behavior), task.on_host
        (3, False)
    """
    flat_start, unflatten = flattened(start)
    name = name or getattr(behavior, "__name__", "function").strip("<>")

    def evaluate_one(parameters: PyTree) -> tuple[Any, Any]:
        result = behavior(parameters)
        if not returns_fitness:
            return _vector(result), None if fitness is None else fitness(parameters)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"a pair (behavior, fitness) is expected, got {type(result).__name__}")
        return _vector(result[0]), result[1]

    if returns_fitness and fitness is not None:
        raise TaskError(f"Task '{name}': give a fitness function or returns_fitness, not both.")
    on_host = not _traceable(evaluate_one, start) if on_host is None else on_host
    # Once at the start, so that what cannot work says so now; a JAX function only in the abstract.
    first = evaluate_one if on_host else partial(jax.eval_shape, evaluate_one)
    raised = f"Task '{name}': the behavior function raised"
    with told(f"{raised} at the start parameters"):
        # With NumPy's arrays, as members come on the host.
        first_behavior, first_fitness = first(jax.device_get(unflatten(flat_start)))
    num_behaviors, has_fitness = checked_result(first_behavior, first_fitness), first_fitness is not None

    def evaluate_on_device(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        del key
        # A fitness of None is an empty pytree, which vmap hands through.
        behaviors, fitnesses = jax.vmap(lambda flat: evaluate_one(unflatten(flat)))(sample.members())
        # Reshaped for behaviors that are single numbers: (num_members,) becomes (num_members, 1).
        return outcome(behaviors.reshape(sample.num_members, -1), fitnesses), memory

    def evaluate_on_host(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        del key
        # Taken from the device at once: a slice of a JAX array for every member would cost more than many a function.
        members = jax.device_get(jax.vmap(unflatten)(sample.members()))
        behaviors, fitnesses = [], []
        for k in range(sample.num_members):
            with told(f"{raised} for member {k}"):
                behavior, fitness = evaluate_one(jax.tree.map(lambda leaf, k=k: leaf[k], members))
            behaviors.append(_checked(name, behavior, num_behaviors, k))
            fitnesses.append(fitness)
        return outcome(jnp.asarray(np.stack(behaviors)), jnp.asarray(fitnesses) if has_fitness else None), memory

    return Task(
        name=name,
        behavior=checked_names(name, behavior_names, num_behaviors),
        init=lambda key: flat_start,
        evaluate=evaluate_on_host if on_host else evaluate_on_device,
        has_fitness=has_fitness,
        on_host=on_host,
        unflatten=unflatten,
        shapes=shapes_of(start),
    )


def _traceable(function: Callable[[PyTree], Any], start: PyTree) -> bool:
    """Whether JAX can compile a function; NumPy calls and Python control flow on values cannot be."""
    try:
        jax.eval_shape(function, start)
    except Exception:  # also a plain TypeError: of a format string, say. A user's own error is met again on the host.
        return False
    return True


def _vector(behavior: Any) -> Any:
    """A behavior given as a list or tuple of numbers, as an array of the same kind."""
    if not isinstance(behavior, (list, tuple)):
        return behavior
    # A tracer counts as a jax.Array, and NumPy cannot hold one.
    on_device = any(isinstance(entry, jax.Array) for entry in behavior)
    return jnp.stack([jnp.asarray(entry) for entry in behavior]) if on_device else np.asarray(behavior)


def _checked(name: str, behavior: Any, num_behaviors: int, member: int) -> np.ndarray[Any, Any]:
    vector = np.atleast_1d(np.asarray(behavior, np.float32))
    if vector.shape != (num_behaviors,):
        raise TaskError(
            f"Task '{name}': the behavior of member {member} has shape {np.shape(behavior)}, "
            f"but the start's had {num_behaviors} dimension(s). Every member must return the same shape."
        )
    return vector
