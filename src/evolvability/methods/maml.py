r"""MAML with a trust region: parameters from which one policy-gradient step solves any of a distribution of tasks.

The objective is the return after adaptation, over tasks $i$ with expected returns $J_i$ (section 2.2 of the paper):

$$\max_\theta\; \mathbb{E}_i\big[J_i(\theta_i')\big], \qquad \theta_i' = \theta + \alpha \nabla J_i(\theta),$$

by a trust-region step (`trust_region`) in the policies *after* adaptation. Its gradient is that of `meta_gradient`.

Reference: Finn, Abbeel and Levine, *Model-agnostic meta-learning* (2017).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.shaping import masked_mean
from evolvability.core.strategy import describe_members
from evolvability.core.types import Outcome, Parameters, PyTree
from evolvability.methods.meta_gradient import adapt, for_tasks, outer_problem
from evolvability.methods.registry import MamlOptions
from evolvability.methods.rollouts import Actor, RolloutBatch, check_memoryless, roll_out
from evolvability.methods.trust_region import Step, trust_region_step
from evolvability.tasks.normalizer import Moments, merge
from evolvability.tasks.world import World

Info = dict[str, Array]
"""Metrics of one outer step, for people; nothing is computed from them. docs/run-folder.md explains each."""


class MamlState(NamedTuple):
    """What the next outer step needs, and nothing else."""

    key: Array
    """The run's key. It never changes: randomness is addressed by (key, generation)."""
    generation: Array
    """How many outer steps are done."""
    parameters: Parameters
    """The network's parameters as a population's center, (1, num_params)."""
    log_std: Array
    """(num_actions,) the log standard deviation of each action."""
    memory: PyTree
    """What the task carries between generations."""


class Meta(NamedTuple):
    """A meta-learner as pure functions; ``jit`` them once, in the driver."""

    init: Callable[..., MamlState]
    """`(key, centers, memory) -> MamlState`, with a starting mean of shape (1, num_params)."""
    step: Callable[[MamlState], tuple[MamlState, Info, Outcome]]
    """`(state) -> (MamlState, Info, Outcome)`, one outer step: explore, adapt, explore again, learn."""


def maml(world: World, options: MamlOptions) -> Meta:
    """MAML with trust-region policy optimization; the world's goals are the tasks."""
    inner = partial(adapt, check_memoryless(world).networks, rate=options.inner_rate, discount=options.discount)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> MamlState:
        log_std = jnp.full(world.num_actions, jnp.log(options.start_std), jnp.float32)
        return MamlState(key, jnp.zeros((), jnp.int32), Parameters(centers[:1]), log_std, memory)

    def explore(state: MamlState) -> RolloutBatch:
        # Without a purpose: a run of MAML draws nothing else from its key, and recorded runs depend on it.
        key_goals, *keys = jax.random.split(jax.random.fold_in(state.key, state.generation), 3)
        goals = world.goals.draw(key_goals, options.tasks)
        actor = Actor(state.parameters.center[0], state.log_std)

        def phase(actors: Actor, given: tuple[Array, Array]) -> tuple[Actor, RolloutBatch]:
            key, is_last = given
            trial = roll_out(world, key, actors, goals, state.memory, options.episodes_per_task, options.discount)

            def adapted() -> Actor:
                return for_tasks(partial(inner, actor), trial.batch)

            return jax.lax.cond(is_last, lambda: actors, adapted), trial

        # As a loop, for rollouts of a robot take long to compile: once, not before and after.
        same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (options.tasks, *leaf.shape)), actor)
        return jax.lax.scan(phase, same, (jnp.stack(keys), jnp.array([False, True])))[1]

    def step(state: MamlState) -> tuple[MamlState, Info, Outcome]:
        both = explore(state)
        # `k=k`: a lambda would otherwise see the loop's last value.
        before, after = (jax.tree.map(lambda leaf, k=k: leaf[k], both) for k in (0, 1))
        actor = Actor(state.parameters.center[0], state.log_std)
        # In full precision, but for the curvature: a GPU's default for matrix products is TF32.
        with jax.default_matmul_precision("highest"):
            outer = outer_problem(world.networks, actor, before.batch, after.batch, inner)
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
        moved_on = MamlState(state.key, state.generation + 1, Parameters(new.center[None]), new.log_std, memory)
        return moved_on, info, outcome

    return Meta(init, step)


def describe(actor: Actor, before: Outcome, outcome: Outcome, gradient: Array, step: Step) -> Info:
    """The diagnostics of one outer step, from the episodes before adaptation and after it."""
    found = describe_members(outcome)
    return found | {
        "objective": found["fitness_mean"],
        "fitness_before": masked_mean(before.fitness, before.valid),
        "gradient_norm": jnp.linalg.norm(gradient),
        "center_norm": jnp.linalg.norm(actor.center),
        "action_std": jnp.mean(jnp.exp(actor.log_std)),
        "divergence": step.divergence,
        "backtracks": step.backtracks,
        "num_invalid": found["num_invalid"] + jnp.sum(~before.valid),
        "num_steps": found["num_steps"] + jnp.sum(before.num_steps),
    }
