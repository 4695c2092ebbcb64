"""The seam between strategies and simulators."""

from collections.abc import Callable
from dataclasses import dataclass

from jax import Array

from evolvability.errors import ConfigError
from evolvability.types import Outcome, PyTree, Sample
from evolvability.worlds import World


@dataclass(frozen=True)
class Task:
    """A problem: where members start, and what they do.

    Attributes:
        name: how people call it.
        behavior: the name of every behavior dimension, e.g. ``("x", "y")``.
        init: ``(key) -> (num_params,)``, a starting center.
        evaluate: ``(key, sample, memory) -> (Outcome, memory)``, every member of a sample.
        memory: what the task carries from one generation to the next, e.g. statistics of observations.
        has_fitness: whether the outcome's fitness means something.
        on_host: whether ``evaluate`` is ordinary Python, and so is called outside of ``jit``.
        unflatten: ``(num_params,) -> pytree``, parameters as the task's author wrote them.
        engine: what evaluates members, for people; empty where that goes without saying.
        world: ``() -> World``, the task's episodes step by step on the device, where it has them.
    """

    name: str
    behavior: tuple[str, ...]
    init: Callable[[Array], Array]
    evaluate: Callable[[Array, Sample, PyTree], tuple[Outcome, PyTree]]
    memory: PyTree = ()
    has_fitness: bool = True
    on_host: bool = False
    unflatten: Callable[[Array], PyTree] = lambda parameters: parameters
    engine: str = ""
    world: Callable[[], World] | None = None


def world_of(task: Task) -> World:
    """A task's world, for methods that need every step of an episode."""
    if task.world is None:
        raise ConfigError(
            f"Task '{task.name}' cannot be stepped on the device, which a policy gradient needs. Tasks that can: "
            "navigation, cheetah, ant, and any Task with a world."
        )
    return task.world()
