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

The first is what any population's ``gradient`` does with the weights' sum over times, the second is `action_score`.

References: Gajewski et al., *Evolvability ES* (2019), S5, whose printed sums keep only the action at $t$ itself;
Fortunato et al., *Noisy networks for exploration* (2018).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.types import Outcome, Parameters, PyTree, Sample
from evolvability.methods.rollouts import Rollouts, baseline, check_memoryless, follow
from evolvability.tasks.world import World


@dataclass(frozen=True)
class Exploration:
    """Who acts where, how freely, and when it is looked at."""

    world: World
    """Where members act."""
    action_std: float
    """The standard deviation of every action around the network's output."""
    times: tuple[int, ...] = ()
    """The steps after which diversity counts, each from 1 to the world's last; default: the last."""

    def __post_init__(self) -> None:
        last = check_memoryless(self.world).num_steps
        if not all(1 <= time <= last for time in self.times):
            raise ConfigError(f"times must be steps from 1 to {last}, the world's last, got {self.times}.")

    @property
    def watched(self) -> tuple[int, ...]:
        """The times: those given, or the last step."""
        return self.times or (self.world.num_steps,)


def explore(exploration: Exploration, key: Array, sample: Sample, memory: PyTree = ()) -> Rollouts:
    """One episode of every member, with actions drawn around its network's output."""
    family = exploration.world.networks
    networks = family.build(sample)

    def act(inputs: Array, noise: Array) -> Array:
        return family.act(networks, inputs, ())[0] + exploration.action_std * noise

    return follow(exploration.world, key, act, sample.num_members, memory)


def outcome_at(episodes: Rollouts, time: Array | int) -> Outcome:
    """What members had done after so many steps; one whose episode has ended stays where it was."""
    behavior = episodes.path[:, time]
    num_steps = jnp.sum(episodes.counts & (jnp.arange(episodes.counts.shape[1]) < time), axis=1)
    return Outcome(behavior, jnp.zeros(len(behavior)), episodes.valid, num_steps)


def weights_over_time(weigh: Callable[[Outcome], Array], episodes: Rollouts, times: Sequence[int]) -> Array:
    """(num_members, num_times) each member's weight at each time; weigh: from an outcome to (num_members,) weights."""
    return jax.lax.map(lambda time: weigh(outcome_at(episodes, time)), jnp.array(times)).T


def action_score(
    exploration: Exploration, sample: Sample, episodes: Rollouts, weights: Array, *, fitted: bool = True
) -> Parameters:
    r"""The policy gradient: $\frac1n \sum_{ku} c_{ku} \nabla_\mu \log \pi(a_u \mid s_u, \mu + \epsilon_k)$.

    An action's credit is $c_{ku} = \sum_{t \ge u} w_{kt} - b_{ku}$, with weights (num_members, num_times) of behaviors.
    If it is ``fitted``, $b_{ku}$ is the credit to be expected of the state (`expected_credit`), and else zero.
    """
    family, spread = exploration.world.networks, 2 * exploration.action_std**2
    credit = credits(weights, exploration.watched, episodes.counts.shape[1])
    if fitted:
        credit = credit - expected_credit(episodes, credit)
    credit = jnp.where(episodes.counts, credit, 0)

    def gain(center: Array, inputs: Array, actions: Array, credit: Array) -> Array:
        # The noise stays a constant: only the center moves.
        means = family.act(family.build(sample._replace(center=center)), inputs, ())[0]
        # The log-density without its constant, which does not depend on the center.
        return -jnp.sum(credit * jnp.sum((actions - means) ** 2, axis=1)) / spread

    def add(total: Array, step: tuple[Array, Array, Array]) -> tuple[Array, None]:
        return total + jax.grad(gain)(sample.center, *step), None

    # Step by step: the activations of whole episodes would not fit into memory.
    steps = jax.tree.map(lambda part: jnp.moveaxis(part, 1, 0), (episodes.inputs, episodes.actions, credit))
    total, _ = jax.lax.scan(add, jnp.zeros_like(sample.center), steps)
    return Parameters(total / sample.num_members)


def credits(weights: Array, times: Sequence[int], num_steps: int) -> Array:
    r"""(num_members, num_steps) what each action is credited with: all that comes after it, $\sum_{t \ge u} w_{kt}$.

    Examples:
        >>> credits(jnp.array([[1.0, 10.0]]), (2, 4), 5).tolist()
        [[11.0, 11.0, 10.0, 10.0, 0.0]]
    """
    # Actions count from zero: the action u comes before all that is seen after u + 1 steps or more.
    follows = jnp.array(times)[:, None] > jnp.arange(num_steps)
    return weights @ follows.astype(weights.dtype)


def expected_credit(episodes: Rollouts, credit: Array) -> Array:
    """(num_members, num_steps) the credit a state lets expect, by inputs, distance from the others, and time."""
    where = episodes.valid[:, None, None]
    before = jnp.where(where, episodes.path[:, :-1], 0)
    away = jnp.where(where, before - jnp.sum(before, axis=0) / jnp.maximum(jnp.sum(episodes.valid), 1), 0)
    # In units of their spread: the baseline's ridge is for features of size one.
    unit = jnp.maximum(jnp.sqrt(jnp.mean(away**2)), jnp.finfo(away.dtype).tiny)
    return baseline(jnp.concatenate([episodes.inputs, away / unit], axis=-1), credit, episodes.counts)
