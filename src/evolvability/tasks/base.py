"""The interface between strategies and simulators."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.errors import ConfigError, TaskError, in_words
from evolvability.core.noise import Shapes
from evolvability.core.types import Outcome, PyTree, Sample, described, merge_episodes
from evolvability.tasks.actions import Actions
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.replay import Stage
from evolvability.tasks.world import World


@dataclass(frozen=True)
class Task:
    """A problem: where members start, and what they do."""

    name: str
    """The task's name."""
    behavior: tuple[str, ...]
    """The name of every behavior dimension, with its unit where it has one, e.g. `("x (m)", "y (m)")`."""
    init: Callable[[Array], Array]
    """`(key) -> (num_params,)`, a starting center."""
    evaluate: Callable[[Array, Sample, PyTree], tuple[Outcome, PyTree]]
    """`(key, sample, memory) -> (Outcome, seen)`, for a whole population or a part of it."""
    memory: PyTree = ()
    """What the task carries from one generation to the next, e.g. statistics of observations."""
    remember: Callable[[PyTree, PyTree], PyTree] = lambda memory, seen: seen
    """`(memory, seen) -> memory`, once for every sample of a generation; default: what was seen."""
    varies: bool = True
    """Whether the episodes of a member may differ: by circumstances that are drawn, or by a seed."""
    has_fitness: bool = True
    """Whether the outcome's fitness means something."""
    on_host: bool = False
    """Whether `evaluate` is ordinary Python, and so is called outside of `jit`."""
    unflatten: Callable[[Array], PyTree] = lambda parameters: parameters
    """`(num_params,) -> pytree`, parameters as the task's author wrote them."""
    engine: str = ""
    """What evaluates members, as a text for people; empty where there is only one way."""
    simulator: Callable[[], Any] | None = None
    """Builds, once per worker, what evaluates a single member; then members may be evaluated anywhere. See
    `evolvability.tasks.simulators`."""
    stage: Stage | None = None
    """What it takes to watch members move; None where there is nothing to see."""
    world: Callable[[], World] | None = None
    """`() -> World`, the task's episodes step by step on the device, where it has them."""
    shapes: Shapes = ()
    """The shapes of the arrays that a parameter vector is made of, for populations that treat matrices differently."""
    options: Any = None
    """Of a robot from a file: its `RobotOptions`, from which its task can be made again by name."""
    network: NetworkFamily | None = None
    """What parameters are, where they are a network that sees observations scaled by the statistics in `memory`, if
    there are any; None where they are anything else."""
    actions: Actions | None = None
    """How a network's outputs become actions."""


def with_episodes(task: Task, number: int) -> Task:
    """The same task, in which every member has so many episodes, each with a key of its own."""
    if number == 1:
        return task
    if not task.varies:
        start_noise = in_words("task_options={'start_noise': 0.1}", "--start-noise 0.1")
        raise ConfigError(
            f"Task '{task.name}' does not vary: all {number} episodes of a member would be the same. Let its "
            f"circumstances differ ({start_noise} for robots), or take an objective that needs one episode alone."
        )

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        outcome, seen = task.evaluate(key, sample.repeated(number), memory)
        return merge_episodes(outcome, number), seen

    return replace(task, evaluate=evaluate)


def world_of(task: Task) -> World:
    """A task's world, for methods that need every step of an episode."""
    if task.world is None:
        others = "point, maze, navigation and robots have one"
        raise ConfigError(f"Task '{task.name}' has no world, which a policy gradient can step on the device; {others}.")
    return task.world()


def flattened(start: PyTree) -> tuple[Array, Callable[[Array], PyTree]]:
    """A pytree of floats as one vector, and the way back."""
    # Integers become floats, too: a center moves by fractions.
    try:
        return ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), start))
    except (TypeError, ValueError):
        expected = "Parameters must be numbers, arrays, or a pytree of them"
        raise TaskError(f"{expected}, got {described(start)}. Give start=np.zeros(number).") from None


def checked_names(task: str, names: Iterable[str], num_behaviors: int) -> tuple[str, ...]:
    """A name for each behavior dimension: those given, if they are as many, or numbers."""
    names = tuple(names) or tuple(f"behavior {j}" for j in range(num_behaviors))
    if len(names) != num_behaviors:
        raise TaskError(f"Task '{task}': {num_behaviors} behavior dimensions, but names for {len(names)}: {names}.")
    return names


def checked_result(behavior: Any, fitness: Any) -> int:
    """How many dimensions a behavior has, where it is a number or a vector, and the fitness a number or None."""
    # Shapes alone are looked at: of a function that JAX compiles there are no values yet.
    if not _is_numeric(behavior) or len(shape := np.shape(behavior)) > 1 or 0 in shape:
        advice = " Leave out the names, and give them as behavior_names=(...)." if isinstance(behavior, dict) else ""
        expected = "The behavior must be a number or a vector, such as (x, y)"
        raise TaskError(f"{expected}, got {described(behavior)}.{advice}")
    if fitness is not None and not (_is_numeric(fitness) and np.shape(fitness) == ()):
        raise TaskError(f"The fitness must be a single number, got {described(fitness)}.")
    return shape[0] if shape else 1


def _is_numeric(value: Any) -> bool:
    kind = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    is_real = jnp.issubdtype(kind, jnp.number) and not jnp.issubdtype(kind, jnp.complexfloating)
    return bool(is_real or jnp.issubdtype(kind, jnp.bool_))


def behavior_and_fitness(result: Any, is_pair: bool) -> tuple[Any, Any]:
    """What a user's function returned: the pair that was asked for, or a behavior alone, without a fitness."""
    if not is_pair:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"a pair (behavior, fitness) is expected, got {type(result).__name__}")
    return result
