"""Goals: what members are asked for, as a number to maximize, whatever the task's own fitness is."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.types import Outcome, PyTree, Sample
from evolvability.tasks.base import Task
from evolvability.tasks.directions import FITNESS, FORMS, POINT, check_goal, coordinates, heading

Goal = Callable[[Outcome], Array]  # `(outcome) -> (num_members,)`, the more the better


def goal_named(text: str, task: Task) -> Goal:
    """A goal by name: how far a behavior lies in a direction, how near to a point, or the task's own fitness.

    A direction is ``right``, ``left`` or an angle from the first dimension in degrees.

    Examples:
        >>> from evolvability import make_task, make_outcome
        >>> far = goal_named("90", make_task("point"))
        >>> far(make_outcome(jnp.array([[3.0, 4.0]])))
        Array([4.], dtype=float32)
    """
    check_goal(text)
    num_behaviors = len(task.behavior)
    if text == FITNESS:
        if not task.has_fitness:
            raise ConfigError(f"Task '{task.name}' has no fitness. Ask for a direction: {FORMS}.")
        return lambda outcome: outcome.fitness
    if text.startswith(POINT):
        point = jnp.array(coordinates(text))
        if len(point) != num_behaviors:
            dimensions = f"{num_behaviors} behavior dimension(s) ({', '.join(task.behavior)})"
            raise ConfigError(f"Task '{task.name}' has {dimensions}, but '{text}' names a point in {len(point)}.")
        return lambda outcome: -jnp.linalg.norm(outcome.behavior - point, axis=1)
    forward = heading(text)
    # An angle lies in a plane, so more than two dimensions have no directions by name.
    if num_behaviors > 2 or (num_behaviors == 1 and forward[1] != 0):
        there_are = "right (0) or left (180)" if num_behaviors == 1 else "point:X,Y,... or fitness"
        raise ConfigError(
            f"There is no direction '{text}' in task '{task.name}', whose behavior is ({', '.join(task.behavior)}). "
            f"There are: {there_are}."
        )
    return lambda outcome: outcome.behavior @ jnp.array(forward[:num_behaviors])


def judge(text: str, task: Task) -> Callable[[Outcome], Outcome]:
    """Puts a goal in the place of an outcome's fitness; without a goal, leaves it as it is."""
    if not text:
        return lambda outcome: outcome
    goal = goal_named(text, task)
    return lambda outcome: outcome._replace(fitness=mean_score(goal, outcome))


def mean_score(goal: Goal, outcome: Outcome) -> Array:
    """(num_members,) what each member reaches on average over its episodes."""
    # Outcomes of a host's task may be NumPy's.
    rows = jax.tree.map(jnp.asarray, outcome.by_episode())
    return goal(rows).reshape(len(outcome.valid), -1).mean(axis=1)


def with_goal(task: Task, text: str) -> Task:
    """A task whose fitness is a goal's."""
    judged = judge(text, task)

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        outcome, seen = task.evaluate(key, sample, memory)
        return judged(outcome), seen

    return replace(task, evaluate=evaluate, has_fitness=True)
