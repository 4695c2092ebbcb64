r"""Ways to adapt a center to a goal, all with one signature, so that comparisons are like for like.

An adapter is called with a key, a start and a goal, and gives a `Trace`: the parameters it would settle for after so
many episodes. Episodes are all that count: those to draw a gradient from, and those to try a mutation. What the
parameters are worth is found afterwards, in the same way for every adapter (`races`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import ConfigError, unknown
from evolvability.core.populations import normal
from evolvability.core.types import Parameters, PyTree
from evolvability.methods.meta_gradient import adapt as gradient_step
from evolvability.methods.registry import MamlOptions
from evolvability.methods.rollouts import Actor, check_memoryless, roll_out
from evolvability.runs.picking import Evaluate, scores_of
from evolvability.studies.result_files import HostArray
from evolvability.tasks.base import Task, world_of
from evolvability.tasks.directions import POINT, heading
from evolvability.tasks.goals import goal_named
from evolvability.tasks.world import World


class Start(NamedTuple):
    """What is adapted."""

    center: Array
    """(num_params,) the parameters."""
    log_std: Array | None
    """(num_actions,) the log standard deviation of each action, for adapters that explore by actions; None where it was
    not learned."""
    memory: PyTree
    """The task's memory."""


class Trace(NamedTuple):
    """What an adapter would settle for, over the episodes it used."""

    episodes: HostArray
    """(num_points,) how many episodes were used; the first is zero."""
    parameters: Array
    """(num_points, num_params) the parameters then; the first are the center."""
    log_stds: Array | None = None
    """(num_points, num_actions) the log standard deviations of actions, where these are drawn."""


Adapter = Callable[[Array, Start, str], Trace]
"""``(key, start, goal) -> Trace``, with a goal by name: ``left``, ``45``, ``point:X,Y``."""


@dataclass(frozen=True)
class AdaptationContext:
    """What every adapter is made from."""

    task: Task
    """The task."""
    evaluate: Evaluate
    """The task's ``evaluate``, compiled."""
    sigma: float
    """The standard deviation of mutations."""
    budget: int
    """How many episodes may be used."""
    maml: MamlOptions = field(default_factory=MamlOptions)
    """Options of gradient steps."""

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise ConfigError(f"An adaptation has 1 episode or more, got {self.budget}.")


def best_of_mutations(context: AdaptationContext) -> Adapter:
    """The best of k mutations, for k = 1, 2, ... up to the budget: fast adaptation, as the paper's section 5.2.1."""

    def adapt(key: Array, start: Start, goal: str) -> Trace:
        key_noise, key_episode = jax.random.split(key)
        population = normal(context.sigma, mirrored=False)
        sample = population.sample(key_noise, Parameters(start.center[None]), 0, jnp.arange(context.budget))
        scores = scores_of(goal_named(goal, context.task), context.evaluate(key_episode, sample, start.memory)[0])
        scores = np.where(np.isnan(scores), -np.inf, scores)  # of invalid ones
        numbers = _spaced(context.budget)
        # One row of mutations serves every k: the best of 5 are the first 5 of it.
        best = np.array([np.argmax(scores[:number]) for number in numbers])
        found = jnp.concatenate([start.center[None], sample.of_draws(best).members()])
        return Trace(np.array([0, *numbers]), found)

    return adapt


def gradient_steps(context: AdaptationContext) -> Adapter:
    """MAML's own: policy-gradient steps, each from episodes with actions drawn at random, as many as the budget has."""
    world, options = check_memoryless(world_of(context.task)), context.maml
    size = min(options.episodes_per_task, context.budget)

    @jax.jit
    def step(key: Array, actor: Actor, goal: Array, memory: PyTree) -> Actor:
        several = jax.tree.map(lambda leaf: leaf[None], actor)  # rollouts are of several actors, each with a goal
        batch, _, _ = roll_out(world, key, several, goal[None], memory, size, options.discount)
        own = jax.tree.map(lambda leaf: leaf[0], batch)
        return gradient_step(world.networks, actor, own, rate=options.inner_rate, discount=options.discount)

    def adapt(key: Array, start: Start, goal: str) -> Trace:
        vector = goal_vector(goal, world)
        # Evolvability ES learned no deviations of actions: MAML's start has to do.
        log_std = jnp.full(world.num_actions, jnp.log(options.start_std)) if start.log_std is None else start.log_std
        actors = [Actor(start.center, log_std)]
        for key_step in jax.random.split(key, context.budget // size):
            actors.append(step(key_step, actors[-1], vector, start.memory))
        centers, log_stds = (jnp.stack(parts) for parts in zip(*actors, strict=True))
        return Trace(size * np.arange(len(actors)), centers, log_stds)

    return adapt


ADAPTERS: Mapping[str, Callable[[AdaptationContext], Adapter]] = {
    "mutations": best_of_mutations,
    "gradient": gradient_steps,
}
"""From what there is to adapt on to an adapter, by name."""


def adapter_named(name: str, context: AdaptationContext) -> Adapter:
    """An adapter by name."""
    if name not in ADAPTERS:
        raise ConfigError(unknown("adapter", name, ADAPTERS))
    return ADAPTERS[name](context)


def goal_vector(text: str, world: World) -> Array:
    """(num_behaviors,) a goal by name as a world's reward takes it.

    Examples:
        >>> from evolvability import make_task
        >>> goal_vector("point:0.5,-0.25", make_task("navigation").world()).tolist()
        [0.5, -0.25]
    """
    # Drawn for its length alone.
    num_behaviors = world.goals.draw(jax.random.key(0), 1).shape[1]
    is_point = text.startswith(POINT)
    if is_point != (world.goals.kind == "point"):
        wanted = "point:X,Y" if world.goals.kind == "point" else "right, left or an angle in degrees"
        raise ConfigError(f"Rewards are given here for a goal of the form {wanted}, got '{text}'.")
    numbers = tuple(float(part) for part in text.removeprefix(POINT).split(",")) if is_point else heading(text)
    return jnp.array(numbers[:num_behaviors], jnp.float32)


def _spaced(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... up to a number, and the number.

    >>> _spaced(40)
    [1, 2, 5, 10, 20, 40]
    """
    steps = (digit * 10**power for power in range(6) for digit in (1, 2, 5))
    return sorted({*(step for step in steps if step < most), most})
