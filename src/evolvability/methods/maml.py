r"""MAML with a trust region: parameters from which one policy-gradient step solves any of a distribution of tasks.

The objective is the return after adaptation, over tasks $i$ with expected returns $J_i$ (section 2.2 of the paper):

$$\max_\theta\; \mathbb{E}_i\big[J_i(\theta_i')\big], \qquad \theta_i' = \theta + \alpha \nabla J_i(\theta),$$

by a trust-region step (`trust_region`) in the policies *after* adaptation. Its gradient is that of `meta_gradient`.

Reference: Finn, Abbeel and Levine, *Model-agnostic meta-learning* (2017).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.errors import ConfigError
from evolvability.core.objectives import largest_share, raw_variance
from evolvability.core.types import Cloud, Outcome, PyTree
from evolvability.methods.meta_gradient import adapt, for_tasks, masked_mean, outer_problem
from evolvability.methods.rollouts import Actor, Batch, roll_out
from evolvability.methods.trust_region import Step, trust_region_step
from evolvability.tasks.normalizer import Moments, merge
from evolvability.tasks.world import World


@dataclass(frozen=True)
class MamlOptions:
    """Options of MAML: those of the paper's table S5, and below what it lacks."""

    inner_rate: float = 0.1
    """Length of the inner step, in units of the gradient of the mean advantage per step."""
    episodes: int = 10
    """Episodes of a task before its adaptation, and again after it."""
    tasks: int = 40
    """Tasks in an outer step."""
    discount: float = 0.99
    """Factor on a reward's credit from one step to the next."""
    iterations: int = 10
    """Iterations of conjugate gradients."""
    damping: float = 1e-5
    """Added to the curvature in conjugate gradients."""
    line_search_steps: int = 15
    """Lengths that the line search tries, at most."""
    line_search_ratio: float = 0.8
    """Of each length to the one before."""
    trust_region: float = 0.01
    """Bound on the mean divergence (KL, in nats) of the adapted policies in an outer step."""
    start_std: float = 1.0
    """Standard deviation of actions at the start, in units of their limits; learned from there."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < float("inf"):
                raise ConfigError(f"{field.name} must be positive, got {value}.")
        for name in ("discount", "line_search_ratio"):
            if getattr(self, name) > 1:
                raise ConfigError(f"{name} must be at most 1, got {getattr(self, name)}.")


class State(NamedTuple):
    """What the next outer step needs, and nothing else.

    Attributes:
        key: the run's key. It never changes: randomness is addressed by (key, generation).
        generation: how many outer steps are done.
        cloud: the network's parameters as a population's center, (1, num_params).
        log_std: (num_actions,) of the actions.
        memory: what the task carries between generations.
    """

    key: Array
    generation: Array
    cloud: Cloud
    log_std: Array
    memory: PyTree


class Info(NamedTuple):
    """What a person wants to read about one outer step. Never read back. Each is explained in docs/metrics.md."""

    objective: Array
    variance: Array
    outlier: Array
    distance: Array
    fitness_mean: Array
    fitness_max: Array
    fitness_before: Array
    gradient_norm: Array
    center_norm: Array
    action_std: Array
    divergence: Array
    backtracks: Array
    num_invalid: Array
    num_steps: Array


class Meta(NamedTuple):
    """A meta-learner as pure functions; ``jit`` them once, in the driver.

    Attributes:
        init: ``(key, centers, memory) -> State``, with a starting mean of shape (1, num_params).
        step: ``(state) -> (State, Info, Outcome)``, one outer step: explore, adapt, explore again, learn.
    """

    init: Callable[..., State]
    step: Callable[[State], tuple[State, Info, Outcome]]


class Trial(NamedTuple):
    """The episodes of an outer step; arrays have the axis (2,) in front: before adaptation, and after it.

    Attributes:
        batch: what they consisted of.
        outcome: what became of them, (2, num_tasks, num_episodes, ...).
        seen: the statistics of observations.
    """

    batch: Batch
    outcome: Outcome
    seen: Moments


def maml(world: World, options: MamlOptions) -> Meta:
    """MAML with trust-region policy optimization.

    Args:
        world: whose goals are the tasks.
        options: the paper's table S5, and what it lacks.
    """
    inner: dict[str, Any] = {"rate": options.inner_rate, "discount": options.discount}

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        log_std = jnp.full(world.num_actions, jnp.log(options.start_std), jnp.float32)
        return State(key, jnp.zeros((), jnp.int32), Cloud(centers[:1]), log_std, memory)

    def explore(state: State) -> Trial:
        # Without a purpose: a run of MAML draws nothing else from its key, and recorded runs depend on it.
        key_goals, *keys = jax.random.split(jax.random.fold_in(state.key, state.generation), 3)
        goals = world.goals.draw(key_goals, options.tasks)
        actor = Actor(state.cloud.center[0], state.log_std)

        def phase(actors: Actor, given: tuple[Array, Array]) -> tuple[Actor, Trial]:
            key, is_last = given
            trial = Trial(*roll_out(world, key, actors, goals, state.memory, options.episodes, options.discount))

            def adapted() -> Actor:
                return for_tasks(lambda own: adapt(world.policy, actor, own, **inner), trial.batch)

            return jax.lax.cond(is_last, lambda: actors, adapted), trial

        # As a loop, for rollouts of a robot take long to compile: once, not before and after.
        same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (options.tasks, *leaf.shape)), actor)
        return jax.lax.scan(phase, same, (jnp.stack(keys), jnp.array([False, True])))[1]

    def step(state: State) -> tuple[State, Info, Outcome]:
        both = explore(state)
        # `k=k`: a lambda would otherwise see the loop's last value.
        before, after = (jax.tree.map(lambda leaf, k=k: leaf[k], both) for k in (0, 1))
        actor = Actor(state.cloud.center[0], state.log_std)
        # In full precision: a GPU's default for matrix products, TF32, would blur the curvature.
        with jax.default_matmul_precision("highest"):
            outer = outer_problem(world.policy, actor, before.batch, after.batch, **inner)
            moved = trust_region_step(
                *outer,
                bound=options.trust_region,
                iterations=options.iterations,
                damping=options.damping,
                steps=options.line_search_steps,
                ratio=options.line_search_ratio,
            )
        new = ravel_pytree(actor)[1](moved.position)
        # As of a population: one row per episode.
        outcome = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), after.outcome)
        info = describe(actor, before.outcome, outcome, outer.gradient, moved)
        memory = state.memory
        if isinstance(memory, Moments):  # statistics of observations
            memory = merge(merge(memory, before.seen), after.seen)
        return State(state.key, state.generation + 1, Cloud(new.center[None]), new.log_std, memory), info, outcome

    return Meta(init, step)


def describe(actor: Actor, before: Outcome, outcome: Outcome, gradient: Array, step: Step) -> Info:
    """The diagnostics of one outer step, from the episodes before adaptation and after it."""
    valid = outcome.valid
    after = masked_mean(outcome.fitness, valid)
    return Info(
        objective=after,
        variance=raw_variance(outcome),
        outlier=largest_share(outcome),
        distance=masked_mean(jnp.linalg.norm(outcome.behavior, axis=1), valid),
        fitness_mean=after,
        fitness_max=jnp.max(jnp.where(valid, outcome.fitness, -jnp.inf)),
        fitness_before=masked_mean(before.fitness, before.valid),
        gradient_norm=jnp.linalg.norm(gradient),
        center_norm=jnp.linalg.norm(actor.center),
        action_std=jnp.mean(jnp.exp(actor.log_std)),
        divergence=step.divergence,
        backtracks=step.backtracks,
        num_invalid=jnp.sum(~valid) + jnp.sum(~before.valid),
        num_steps=jnp.sum(before.num_steps) + jnp.sum(outcome.num_steps),
    )
