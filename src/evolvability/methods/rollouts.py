r"""Episodes of Gaussian policies, step by step, and what their rewards say about their actions.

A policy acts with $a_t \sim \mathcal{N}(\mu_\theta(o_t), e^{2 \ell})$: the mean is the network of the task's own
parameters, the log standard deviations $\ell$ are learned beside it, one an action.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.types import PyTree
from evolvability.tasks.normalizer import Moments, include, pool
from evolvability.tasks.policies import Policy
from evolvability.tasks.world import Situation, World

RIDGE = 1e-5
"""Of the baseline's least squares, relative to features of size one: some observations never change."""
LOG_2_PI = math.log(2 * math.pi)  # not JAX's: computing at import would keep processes from joining


class Actor(NamedTuple):
    """The parameters of a Gaussian policy; with leading axes, of several.

    Attributes:
        center: (..., num_params) of the network.
        log_std: (..., num_actions) of the actions.
    """

    center: Array
    log_std: Array


class Batch(NamedTuple):
    """What some episodes consisted of, and what each action was worth; leading axes (num_tasks, num_episodes).

    Attributes:
        inputs: (..., num_steps, num_inputs) what the network saw.
        actions: (..., num_steps, num_actions) what was drawn, before any clipping.
        advantages: (..., num_steps) how much better than expected it went from this action on.
        counts: (..., num_steps) whether the episode was going on; all False where it is invalid.
    """

    inputs: Array
    actions: Array
    advantages: Array
    counts: Array


class Ending(NamedTuple):
    """What became of some episodes; leading axes (num_tasks, num_episodes).

    Attributes:
        position: (..., num_behaviors) where they ended.
        total: (...) the sum of their rewards.
        valid: (...) False where the simulation broke down.
        num_steps: (...) how long they lasted.
        seen: the statistics of all valid observations, pooled.
    """

    position: Array
    total: Array
    valid: Array
    num_steps: Array
    seen: Moments


def log_prob(policy: Policy, actor: Actor, inputs: Array, actions: Array) -> Array:
    """(...) the log-density of actions, summed over their dimensions."""
    standard = (actions - policy.apply(actor.center, inputs)) * jnp.exp(-actor.log_std)
    return -jnp.sum(0.5 * standard**2 + actor.log_std + 0.5 * LOG_2_PI, axis=-1)


def roll_out(
    world: World, key: Array, actors: Actor, goals: Array, memory: PyTree, num_episodes: int, discount: float
) -> tuple[Batch, Ending]:
    """Episodes of several policies, each with a goal of its own.

    Args:
        world: where.
        key: of start states and actions.
        actors: with the axis (num_tasks,) in front.
        goals: (num_tasks, num_behaviors) what each is asked for.
        memory: the task's, by which observations are scaled.
        num_episodes: of each policy.
        discount: of rewards, in advantages.
    """
    num_tasks = len(goals)
    shape = (num_tasks, num_episodes)
    key_start, key_actions = jax.random.split(key)

    def act(actor: Actor, inputs: Array, noise: Array) -> Array:
        return world.policy.apply(actor.center, inputs) + jnp.exp(actor.log_std) * noise

    def step(carry: tuple[Situation, Moments], key_step: Array) -> tuple[tuple[Situation, Moments], tuple[Array, ...]]:
        now, seen = carry
        inputs = world.scale(memory, now.observation).reshape(*shape, -1)
        actions = jax.vmap(act)(actors, inputs, jax.random.normal(key_step, (*shape, world.num_actions)))
        after = world.advance(now, actions.reshape(-1, world.num_actions))
        places = (situation.position.reshape(*shape, -1) for situation in (now, after))
        reward = world.goals.reward(goals[:, None], *places)
        running = now.running.reshape(shape)
        seen = include(seen, now.observation, now.running)
        return (after, seen), (inputs, actions, jnp.where(running, reward, 0), running)

    first = world.begin(key_start, num_tasks * num_episodes)
    blank = jnp.zeros((num_tasks * num_episodes, world.num_observations))
    carry = (first, Moments(blank[:, 0], blank, blank))
    (last, seen), parts = jax.lax.scan(step, carry, jax.random.split(key_actions, world.num_steps))
    inputs, actions, rewards, running = (jnp.moveaxis(part, 0, 2) for part in parts)
    valid = last.valid.reshape(shape)
    counts = running & valid[..., None]
    # Not a product: a broken episode may hold nan.
    rewards = jnp.where(counts, rewards, 0)
    inputs, actions = (jnp.where(counts[..., None], part, 0) for part in (inputs, actions))
    batch = Batch(inputs, actions, jax.vmap(partial(advantages, discount=discount))(inputs, rewards, counts), counts)
    ending = Ending(
        last.position.reshape(*shape, -1), rewards.sum(axis=2), valid, counts.sum(axis=2), pool(seen, last.valid)
    )
    return batch, ending


def advantages(inputs: Array, rewards: Array, counts: Array, discount: float) -> Array:
    """(num_episodes, num_steps) of one policy: what followed an action beyond the baseline, in standard deviations."""
    follows = returns(rewards, discount)
    surplus = follows - baseline(inputs, follows, counts)
    number = jnp.maximum(jnp.sum(counts), 1)
    mean = jnp.sum(jnp.where(counts, surplus, 0)) / number
    deviation = jnp.where(counts, surplus - mean, 0)
    return deviation / jnp.maximum(jnp.sqrt(jnp.sum(deviation**2) / number), 1e-8)


def returns(rewards: Array, discount: float) -> Array:
    r"""(..., num_steps) the discounted rewards from each step on, $\sum_{u \ge t} \gamma^{u - t} r_u$.

    Examples:
        >>> returns(jnp.array([1.0, 0.0, 4.0]), 0.5).tolist()
        [2.0, 2.0, 4.0]
    """
    return jnp.matmul(rewards, fading(rewards.shape[-1], discount), precision="highest")


def fading(num_steps: int, discount: float) -> Array:
    r"""(num_steps, num_steps) with $\gamma^{u - t}$ at $(u, t)$ for $u \ge t$, and zero elsewhere.

    A product with it is a discounted sum over a whole episode at once, which a loop over its steps would be slow at.
    """
    gap = jnp.subtract.outer(jnp.arange(num_steps), jnp.arange(num_steps))
    return jnp.where(gap >= 0, discount ** jnp.maximum(gap, 0).astype(jnp.float32), 0)


def baseline(inputs: Array, follows: Array, counts: Array) -> Array:
    """(num_episodes, num_steps) returns as a linear function of inputs, their squares and powers of time, fitted."""
    time = jnp.broadcast_to(jnp.linspace(-1, 1, inputs.shape[1])[:, None], (*inputs.shape[:2], 1))
    features = jnp.concatenate([inputs, inputs**2, time, time**2, time**3, jnp.ones_like(time)], axis=-1)
    features = jnp.where(counts[..., None], features, 0).reshape(-1, features.shape[-1])
    target = jnp.where(counts, follows, 0).ravel()
    number = jnp.maximum(jnp.sum(counts), 1)
    with jax.default_matmul_precision("highest"):
        gram = features.T @ features / number + RIDGE * jnp.eye(features.shape[1])
        weights = jnp.linalg.solve(gram, features.T @ target / number)
        return (features @ weights).reshape(follows.shape)
