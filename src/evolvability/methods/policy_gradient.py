r"""Evolvability ES by policy gradients: the same objectives, credited to actions instead of parameters.

Members $\theta_k = \mu + \epsilon_k$ of a population act with $a_u \sim \pi(\cdot \mid s_u, \theta_k)$, a normal
distribution around their network's output. Diversity is wanted of the behaviors $B_t$ at some times $t \in T$:

$$J(\mu) = \sum_{t \in T} J_t, \qquad
J_t = \mathbb{E}_{\theta \sim \mathcal{N}(\mu, \sigma^2)}\, \mathbb{E}_{a_1, \ldots, a_t}\,
\big|B_t - \mathbb{E}[B_t]\big|^2 \quad \text{(MaxVar; any objective will do).}$$

With weights $w_{kt} = n\, \partial J_t / \partial \ell_{kt}$ (see `objectives`) its gradient has two forms. They
differ in whose log-probability $\ell_{kt}$ is: that of the parameters,

$$\nabla_\mu J \approx \frac1n \sum_k \sum_{t \in T} w_{kt}\, \nabla_\mu \log \mathcal{N}(\theta_k; \mu, \sigma^2),$$

or, once parameters are written as $\mu$ plus noise that does not depend on $\mu$, that of all actions up to $t$:

$$\nabla_\mu J \approx \frac1n \sum_k \sum_{t \in T} w_{kt} \sum_{u \le t}
\nabla_\mu \log \pi(a_u \mid s_u, \mu + \epsilon_k).$$

References: Gajewski et al., *Evolvability ES* (2019), S5, whose printed sums keep only the action at $t$ itself;
Fortunato et al., *Noisy networks for exploration* (2018).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.objectives import Objective, sample_weights
from evolvability.core.populations import Population
from evolvability.core.strategy import Info, State, describe, episode_key, evolvability_es
from evolvability.core.types import Cloud, Outcome, PyTree, Sample
from evolvability.methods.rollouts import baseline
from evolvability.tasks.normalizer import Moments, include, merge, pool
from evolvability.tasks.world import Situation, World


@dataclass(frozen=True)
class Exploration:
    """Who acts where, how freely, and when it is looked at.

    Attributes:
        world: where members act.
        population: what they are drawn from; its centers are learned.
        action_std: the standard deviation of every action around the network's output.
        times: the steps after which diversity counts, each from 1 to the world's last; the last unless given.
    """

    world: World
    population: Population
    action_std: float
    times: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.action_std >= 0:
            raise ConfigError(f"action_std must be 0 or more, got {self.action_std}.")
        last = self.world.num_steps
        if not all(1 <= time <= last for time in self.times):
            raise ConfigError(f"times must be steps from 1 to {last}, the world's last, got {self.times}.")

    @property
    def watched(self) -> tuple[int, ...]:
        """The times: those given, or the last step."""
        return self.times or (self.world.num_steps,)


class Episodes(NamedTuple):
    """One episode of every member.

    Attributes:
        inputs: (num_members, num_steps, num_inputs) what its network saw.
        actions: (num_members, num_steps, num_actions) what was drawn, before any clipping.
        path: (num_members, num_steps + 1, num_behaviors) where it was, from the start to the end.
        counts: (num_members, num_steps) whether the episode was going on; all False where it is invalid.
        valid: (num_members,) False where the simulation broke down.
        seen: the statistics of all valid observations, pooled.
    """

    inputs: Array
    actions: Array
    path: Array
    counts: Array
    valid: Array
    seen: Moments


Estimator = Callable[[Exploration, Sample, Episodes, Array], Cloud]
"""``(exploration, sample, episodes, weights) -> Cloud``, the ascent direction; weights: (num_members, num_times)."""


def explore(exploration: Exploration, key: Array, sample: Sample, memory: PyTree = ()) -> Episodes:
    """One episode of every member, with actions drawn around its network's output.

    Args:
        exploration: where and how.
        key: of start states and actions.
        sample: who.
        memory: the task's, by which observations are scaled.
    """
    world, number = exploration.world, sample.num_members
    key_start, key_actions = jax.random.split(key)
    networks = world.policy.build(sample)

    def step(carry: tuple[Situation, Moments], key_step: Array) -> tuple[tuple[Situation, Moments], tuple[Array, ...]]:
        now, seen = carry
        inputs = world.scale(memory, now.observation)
        noise = jax.random.normal(key_step, (number, world.num_actions))
        actions = world.policy.act(networks, inputs) + exploration.action_std * noise
        after = world.advance(now, actions)
        return (after, include(seen, now.observation, now.running)), (inputs, actions, after.position, now.running)

    first = world.begin(key_start, number)
    blank = jnp.zeros((number, world.num_observations))
    carry = (first, Moments(blank[:, 0], blank, blank))
    (last, seen), parts = jax.lax.scan(step, carry, jax.random.split(key_actions, world.num_steps))
    inputs, actions, path, running = (jnp.moveaxis(part, 0, 1) for part in parts)
    counts = running & last.valid[:, None]
    # Not a product: a broken episode may hold nan.
    inputs, actions = (jnp.where(counts[..., None], part, 0) for part in (inputs, actions))
    path = jnp.concatenate([first.position[:, None], path], axis=1)
    return Episodes(inputs, actions, path, counts, last.valid, pool(seen, last.valid))


def outcome_at(episodes: Episodes, time: Array | int) -> Outcome:
    """What members had done after so many steps; one whose episode has ended stays where it was."""
    behavior = episodes.path[:, time]
    num_steps = jnp.sum(episodes.counts & (jnp.arange(episodes.counts.shape[1]) < time), axis=1)
    return Outcome(behavior, jnp.zeros(len(behavior)), episodes.valid, num_steps)


def weights_over_time(exploration: Exploration, objective: Objective, episodes: Episodes) -> tuple[Array, Array]:
    """(num_members, num_times) each member's weight at each time, less the members' mean, and the objectives' sum."""

    def at(time: Array) -> tuple[Array, Array]:
        weights, value = sample_weights(objective, outcome_at(episodes, time))
        mean = jnp.sum(weights) / jnp.maximum(jnp.sum(episodes.valid), 1)
        return jnp.where(episodes.valid, weights - mean, 0), value

    weights, values = jax.lax.map(at, jnp.array(exploration.watched))
    return weights.T, jnp.sum(values)


def parameter_score(exploration: Exploration, sample: Sample, episodes: Episodes, weights: Array) -> Cloud:
    r"""Evolvability ES's own: $\frac1n \sum_k \sum_t w_{kt} \nabla_\mu \log \mathcal{N}(\theta_k; \mu, \sigma^2)$."""
    del episodes
    return exploration.population.gradient(sample, jnp.sum(weights, axis=1))


def action_score(
    exploration: Exploration, sample: Sample, episodes: Episodes, weights: Array, *, fitted: bool = True
) -> Cloud:
    r"""The policy gradient: $\frac1n \sum_{ku} c_{ku} \nabla_\mu \log \pi(a_u \mid s_u, \mu + \epsilon_k)$.

    An action's credit is $c_{ku} = \sum_{t \ge u} w_{kt} - b_{ku}$.

    Args:
        exploration: what the episodes are of.
        sample: who acted.
        episodes: what they did.
        weights: (num_members, num_times) of their behaviors.
        fitted: whether $b_{ku}$ is the credit to be expected of the state (`expected_credit`), or zero.
    """
    if exploration.action_std == 0:
        raise ConfigError("action_std must be positive for a policy gradient, got 0: only drawn actions have a score.")
    policy, spread = exploration.world.policy, 2 * exploration.action_std**2
    credit = credits(weights, exploration.watched, episodes.counts.shape[1])
    if fitted:
        credit = credit - expected_credit(episodes, credit)
    credit = jnp.where(episodes.counts, credit, 0)

    def gain(center: Array, inputs: Array, actions: Array, credit: Array) -> Array:
        means = policy.act(policy.build(sample._replace(center=center)), inputs)
        return -jnp.sum(credit * jnp.sum((actions - means) ** 2, axis=1)) / spread

    def add(total: Array, step: tuple[Array, Array, Array]) -> tuple[Array, None]:
        return total + jax.grad(gain)(sample.center, *step), None

    # Step by step: the activations of whole episodes would not fit into memory.
    steps = jax.tree.map(lambda part: jnp.moveaxis(part, 1, 0), (episodes.inputs, episodes.actions, credit))
    total, _ = jax.lax.scan(add, jnp.zeros_like(sample.center), steps)
    return Cloud(total / sample.num_members)


def credits(weights: Array, times: Sequence[int], num_steps: int) -> Array:
    r"""(num_members, num_steps) what each action is credited with: all that comes after it, $\sum_{t \ge u} w_{kt}$.

    Examples:
        >>> credits(jnp.array([[1.0, 10.0]]), (2, 4), 5).tolist()
        [[11.0, 11.0, 10.0, 10.0, 0.0]]
    """
    follows = jnp.array(times)[:, None] > jnp.arange(num_steps)
    return weights @ follows.astype(weights.dtype)


def expected_credit(episodes: Episodes, credit: Array) -> Array:
    """(num_members, num_steps) the credit a state lets expect, by inputs, distance from the others, and time."""
    where = episodes.valid[:, None, None]
    before = jnp.where(where, episodes.path[:, :-1], 0)
    away = jnp.where(where, before - jnp.sum(before, axis=0) / jnp.maximum(jnp.sum(episodes.valid), 1), 0)
    unit = jnp.maximum(jnp.sqrt(jnp.mean(away**2)), jnp.finfo(away.dtype).tiny)
    return baseline(jnp.concatenate([episodes.inputs, away / unit], axis=-1), credit, episodes.counts)


class Learner(NamedTuple):
    """A method as pure functions; ``jit`` them once, in the driver.

    Attributes:
        init: ``(key, centers, memory) -> State``, with starting means of shape (num_components, num_params).
        step: ``(state) -> (State, Info)``, one generation.
    """

    init: Callable[..., State]
    step: Callable[[State], tuple[State, Info]]


def policy_gradient_es(
    exploration: Exploration,
    objective: Objective,
    optimizer: optax.GradientTransformation,
    *,
    population_size: int,
    l2: float = 0.0,
    estimator: Estimator = action_score,
) -> Learner:
    """Evolvability ES with drawn actions: explore, weigh, credit, ascend.

    Args:
        exploration: who acts where, how freely, and when it is looked at.
        objective: what to maximize at every time that is looked at.
        optimizer: any optax optimizer.
        population_size: members, and episodes, a generation.
        l2: pull of the center towards zero.
        estimator: `action_score` or `parameter_score`.
    """
    strategy = evolvability_es(exploration.population, objective, optimizer, population_size=population_size, l2=l2)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        state = strategy.init(key, centers, memory)
        if state.cloud.log_scale is not None:
            raise ConfigError("A policy gradient learns centers, not standard deviations: use normal or mixture.")
        return state

    def step(state: State) -> tuple[State, Info]:
        sample = strategy.ask(state)
        episodes = explore(exploration, episode_key(state), sample, state.memory)
        weights, value = weights_over_time(exploration, objective, episodes)
        gradient = estimator(exploration, sample, episodes, weights)
        info = describe(sample, outcome_at(episodes, exploration.world.num_steps), value, gradient)
        seen = merge(state.memory, episodes.seen) if isinstance(state.memory, Moments) else state.memory
        return strategy.ascend(state, gradient)._replace(memory=seen), info

    return Learner(init, step)
