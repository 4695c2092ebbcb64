r"""Episodes of Gaussian policies, step by step, and what their rewards say about their actions.

A policy acts with $a_t \sim \mathcal{N}(\mu_\theta(o_t), e^{2 \ell})$: the mean is the network of the task's own
parameters, the log standard deviations $\ell$ are learned beside it, one per action.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.shaping import masked_mean_and_std
from evolvability.core.types import Outcome, PyTree
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import Moments, include, pool
from evolvability.tasks.world import Situation, World

RIDGE = 1e-5  # of the baseline's least squares, relative to features of size one: some observations never change


class Actor(NamedTuple):
    """The parameters of a Gaussian policy; with leading axes, of several."""

    center: Array
    """(..., num_params) the network's parameters."""
    log_std: Array
    """(..., num_actions) the log standard deviation of each action."""


class Batch(NamedTuple):
    """What some episodes consisted of, and what each action was worth; leading axes (num_tasks, num_episodes)."""

    inputs: Array
    """(..., num_steps, num_inputs) what the network saw."""
    actions: Array
    """(..., num_steps, num_actions) what was drawn, before any clipping."""
    advantages: Array
    """(..., num_steps) how much better than expected it went from this action on."""
    counts: Array
    """(..., num_steps) whether the episode was going on; all False where it is invalid."""


class Rollouts(NamedTuple):
    """Some episodes, step by step; leading axis (num_episodes,)."""

    inputs: Array
    """(..., num_steps, num_inputs) what the network saw."""
    actions: Array
    """(..., num_steps, num_actions) what was drawn, before any clipping."""
    path: Array
    """(..., num_steps + 1, num_behaviors) where it was, from the start to the end."""
    counts: Array
    """(..., num_steps) whether the episode was going on; all False where it is invalid."""
    valid: Array
    """(...) False where the simulation broke down."""
    seen: Moments
    """The statistics of all valid observations, pooled."""


class RolloutBatch(NamedTuple):
    """Episodes of several policies, each with a goal of its own; leading axes (num_tasks, num_episodes)."""

    batch: Batch
    """What the episodes consisted of."""
    outcome: Outcome
    """What the episodes did; fitness is the sum of rewards."""
    seen: Moments
    """The statistics of all valid observations, pooled."""


def check_memoryless(world: World) -> World:
    """Refuse networks that remember: gradients here take every step of an episode by itself."""
    if world.networks.remembers:
        raise ConfigError(
            "MAML and the policy gradient take every step of an episode by itself, so they cannot train a network that "
            "remembers. Choose the policy mlp, or another method."
        )
    return world


def log_density(means: Actor, actions: Array) -> Array:
    """(...) the log-density of actions, summed over their dimensions; ``center``: the actions' means."""
    return jnp.sum(jax.scipy.stats.norm.logpdf(actions, means.center, jnp.exp(means.log_std)), axis=-1)


def log_prob(networks: NetworkFamily, actor: Actor, inputs: Array, actions: Array) -> Array:
    """(...) the log-density of actions of a policy that sees inputs."""
    return log_density(Actor(networks.apply(actor.center, inputs)[0], actor.log_std), actions)


def follow(
    world: World, key: Array, act: Callable[[Array, Array], Array], num_episodes: int, memory: PyTree
) -> Rollouts:
    """Episodes from start to end, with observations scaled by the task's memory.

    act: ``(inputs, noise) -> actions``, all with the axis (num_episodes,) in front; noise: standard normal.
    """
    key_start, key_actions = jax.random.split(key)

    def step(carry: tuple[Situation, Moments], key_step: Array) -> tuple[tuple[Situation, Moments], tuple[Array, ...]]:
        now, seen = carry
        inputs = world.scale(memory, now.observation)
        actions = act(inputs, jax.random.normal(key_step, (num_episodes, world.num_actions)))
        after = world.advance(now, actions)
        return (after, include(seen, now.observation, now.running)), (inputs, actions, after.position, now.running)

    first = world.begin(jax.random.split(key_start, num_episodes))
    blank = jnp.zeros((num_episodes, world.num_observations))
    carry = (first, Moments(blank[:, 0], blank, blank))
    (last, seen), parts = jax.lax.scan(step, carry, jax.random.split(key_actions, world.num_steps))
    inputs, actions, path, running = (jnp.moveaxis(part, 0, 1) for part in parts)
    # An episode that breaks down anywhere counts nowhere.
    counts = running & last.valid[:, None]
    # Not a product: a broken episode may hold nan.
    inputs, actions = (jnp.where(counts[..., None], part, 0) for part in (inputs, actions))
    path = jnp.concatenate([first.position[:, None], path], axis=1)
    return Rollouts(inputs, actions, path, counts, last.valid, pool(seen, last.valid))


def roll_out(
    world: World, key: Array, actors: Actor, goals: Array, memory: PyTree, num_episodes: int, discount: float
) -> RolloutBatch:
    """Episodes of several policies, so many of each; actors: with the axis (num_tasks,) in front, as the goals have.

    The discount is that of rewards, in advantages.
    """
    shape = (len(goals), num_episodes)

    def act(inputs: Array, noise: Array) -> Array:
        def of_task(actor: Actor, inputs: Array, noise: Array) -> Array:
            return world.networks.apply(actor.center, inputs)[0] + jnp.exp(actor.log_std) * noise

        by_task = (part.reshape(*shape, -1) for part in (inputs, noise))
        return jax.vmap(of_task)(actors, *by_task).reshape(noise.shape)

    *parts, seen = follow(world, key, act, math.prod(shape), memory)
    inputs, actions, path, counts, valid = (part.reshape(*shape, *part.shape[1:]) for part in parts)
    # (num_tasks, num_episodes, num_steps): of each step, from where it began to where it ended.
    rewards = world.goals.reward(goals[:, None, None], path[:, :, :-1], path[:, :, 1:])
    rewards = jnp.where(counts, rewards, 0)
    batch = Batch(inputs, actions, jax.vmap(partial(advantages, discount=discount))(inputs, rewards, counts), counts)
    return RolloutBatch(batch, Outcome(path[:, :, -1], rewards.sum(axis=2), valid, counts.sum(axis=2)), seen)


def advantages(inputs: Array, rewards: Array, counts: Array, discount: float) -> Array:
    """(num_episodes, num_steps) of one policy: what followed an action beyond the baseline, in standard deviations."""
    follows = returns(rewards, discount)
    surplus = follows - baseline(inputs, follows, counts)
    mean, std = masked_mean_and_std(surplus.ravel(), counts.ravel())
    # Where all actions are worth the same, zeros are divided, but not by zero.
    return jnp.where(counts, surplus - mean, 0) / jnp.maximum(std, 1e-8)


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
    # From -1 to 1, of the size that the ridge is for.
    time = jnp.broadcast_to(jnp.linspace(-1, 1, inputs.shape[1])[:, None], (*inputs.shape[:2], 1))
    features = jnp.concatenate([inputs, inputs**2, time, time**2, time**3, jnp.ones_like(time)], axis=-1)
    features = jnp.where(counts[..., None], features, 0).reshape(-1, features.shape[-1])
    target = jnp.where(counts, follows, 0).ravel()
    number = jnp.maximum(jnp.sum(counts), 1)
    with jax.default_matmul_precision("highest"):
        gram = features.T @ features / number + RIDGE * jnp.eye(features.shape[1])
        weights = jnp.linalg.solve(gram, features.T @ target / number)
        return (features @ weights).reshape(follows.shape)
