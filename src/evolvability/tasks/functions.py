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
from evolvability.core.types import Outcome, PyTree, Sample, make_outcome
from evolvability.tasks.base import Task, behavior_and_fitness, checked_names, checked_result, flattened
from evolvability.tasks.own_code import explain_errors


def function_task(
    behavior: Callable[..., Any],
    start: PyTree,
    *,
    takes_key: bool = False,
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
        takes_key: whether behavior varies: then it is called with ``(parameters, key)``, a JAX key of the episode's
            own; as ordinary Python with ``(parameters, seed)``, an integer.
        fitness: from one parameter pytree to its fitness, if the task has one.
        returns_fitness: whether ``behavior`` returns a pair ``(behavior, fitness)``, when one simulation yields both.
        name: the task's name; default: the function's own.
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
    if returns_fitness and fitness is not None:
        raise TaskError(f"Task '{name}': give a fitness function or returns_fitness, not both.")

    def evaluate_one(parameters: PyTree, *key: Any) -> tuple[Any, Any]:
        found, value = behavior_and_fitness(behavior(parameters, *key), returns_fitness)
        return _vector(found), value if fitness is None else fitness(parameters)

    probe = (jax.random.key(0),) if takes_key else ()
    on_host = not _traceable(evaluate_one, start, *probe) if on_host is None else on_host
    # Once at the start, so that what cannot work says so now; a JAX function only in the abstract.
    first = evaluate_one if on_host else partial(jax.eval_shape, evaluate_one)
    with explain_errors(f"Task '{name}': the behavior function raised at the start parameters"):
        given = jax.device_get(unflatten(flat_start))  # NumPy's, as on the host
        first_behavior, first_fitness = first(given, *(0 for _ in probe) if on_host else probe)
    num_behaviors = checked_result(first_behavior, first_fitness)
    # A fitness of None is an empty pytree, which vmap hands through.
    everybody = partial(_on_host, name, num_behaviors, evaluate_one) if on_host else jax.vmap(evaluate_one)

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        keys = (sample.member_keys(key),) if takes_key else ()
        behaviors, fitnesses = everybody(jax.vmap(unflatten)(sample.members()), *keys)
        # Reshaped for behaviors that are single numbers: (num_members,) becomes (num_members, 1).
        return make_outcome(behaviors.reshape(sample.num_members, -1), fitnesses), memory

    return Task(
        name=name,
        behavior=checked_names(name, behavior_names, num_behaviors),
        init=lambda key: flat_start,
        evaluate=evaluate,
        varies=takes_key,
        has_fitness=first_fitness is not None,
        on_host=on_host,
        unflatten=unflatten,
        shapes=shapes_of(start),
    )


def _on_host(name: str, num_behaviors: int, evaluate_one: Callable[..., Any], members: PyTree, *keys: Array) -> Any:
    """What all members do, and how well, as (behaviors, fitnesses), member by member in Python."""
    # Taken from the device at once: a slice of a JAX array for every member would cost more than many a function.
    members = jax.device_get(members)
    seeds = [np.asarray(jax.random.key_data(each))[:, -1].tolist() for each in keys]
    found = []
    for k in range(len(jax.tree.leaves(members)[0])):
        with explain_errors(f"Task '{name}': the behavior function raised for member {k}"):
            own = jax.tree.map(lambda leaf, k=k: leaf[k], members)
            behavior, fitness = evaluate_one(own, *(each[k] for each in seeds))
        vector = np.atleast_1d(np.asarray(behavior, np.float32))
        if vector.shape != (num_behaviors,):
            got = np.shape(behavior)
            raise TaskError(
                f"Task '{name}': the behavior of member {k} has shape {got}, not ({num_behaviors},) as the start's."
            )
        found.append((vector, fitness))
    return jax.tree.map(lambda *each: np.stack(each), *found)


def _traceable(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether JAX can compile a function; NumPy calls and Python control flow on values cannot be."""
    try:
        jax.eval_shape(function, *arguments)
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
