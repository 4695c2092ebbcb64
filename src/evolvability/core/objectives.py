r"""Objectives, written as nested expectations over the population and differentiated as such.

An objective is a function ``(outcome, log_prob) -> scalar``, to be maximized. It sees the members only through their
behaviors and their log-probabilities: differentiating it by the latter gives one weight per member,

$$w_k = n \frac{\partial J}{\partial \log p(z_k)},$$

and any population turns weights into the gradient of its own parameters. So a new objective is a few lines, works
with every population, and automatic differentiation touches $n$ numbers however large the network is.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.density import cross_density, kernel_density
from evolvability.core.errors import ConfigError, given
from evolvability.core.expectation import expect
from evolvability.core.shaping import (
    Shaping,
    centered_ranks,
    masked_mean,
    masked_mean_and_std,
    shaping_name,
    standardize,
    unshaped,
)
from evolvability.core.types import Outcome, named

Objective = Callable[[Outcome, Array], Array]


def mean_fitness(fitness_shaping: Shaping = centered_ranks) -> Objective:
    r"""Standard ES, the mean of fitness: $J = \mathbb{E}_z[f(z)]$."""

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        fitness = fitness_shaping(outcome.fitness, outcome.valid)
        return expect(fitness, log_prob, where=outcome.valid)

    return named(objective, objective="mean_fitness", fitness_shaping=shaping_name(fitness_shaping))


def max_variance(behavior_shaping: Shaping = standardize) -> Objective:
    r"""MaxVar, the variance of behaviors: $J = \sum_j \mathbb{E}_z[(B_j(z) - \mu_j)^2]$ (equation 1).

    Here $\mu_j = \mathbb{E}_z[B_j(z)]$. Its weights are $w_k = |B_k - \mu|^2$.
    """

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        behavior = behavior_shaping(outcome.behavior, outcome.valid)
        # Far from the origin the squares below would lose their digits.
        behavior -= masked_mean_and_std(behavior, outcome.valid)[0]
        mean = expect(behavior, log_prob, where=outcome.valid)
        squares = jnp.sum((behavior - mean) ** 2, axis=1)
        return expect(squares, log_prob, where=outcome.valid)

    return named(objective, objective="max_variance", behavior_shaping=shaping_name(behavior_shaping))


def max_entropy(
    bandwidth: float = 1.0, behavior_shaping: Shaping = standardize, *, leave_one_out: bool = False
) -> Objective:
    r"""MaxEnt, the entropy of behaviors: $J = -\mathbb{E}_z[\log \mathbb{E}_{z'}[\varphi(B(z') - B(z))]]$ (equation 3).

    The kernel is a Gaussian of standard deviation ``bandwidth``. With densities $p_i$ the weights are
    $w_k = -\log p_k - \frac1n \sum_i \varphi_{ik} / p_i$.
    """
    if not bandwidth > 0:
        raise ValueError(f"max_entropy: bandwidth must be positive, got {bandwidth}.")

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        behavior = behavior_shaping(outcome.behavior, outcome.valid)
        density = kernel_density(behavior, log_prob, outcome.valid, bandwidth, leave_one_out=leave_one_out)
        # Without its own kernel a lonely member's density can underflow to zero: its log must stay finite.
        log_density = jnp.log(jnp.maximum(density, jnp.finfo(density.dtype).tiny))
        entropy = -expect(log_density, log_prob, where=outcome.valid)
        # The log of the kernel's integral: a constant, which changes no weight and makes the value an entropy in nats.
        return entropy + behavior.shape[1] * (0.5 * jnp.log(2 * jnp.pi) + jnp.log(bandwidth))

    kept = {"bandwidth": float(bandwidth), "leave_one_out": leave_one_out}
    return named(objective, objective="max_entropy", behavior_shaping=shaping_name(behavior_shaping), **kept)


def max_covariance(behavior_shaping: Shaping = standardize) -> Objective:
    r"""MaxCov, what another episode of the same member repeats: $J = \sum_j \mathrm{Cov}_z(B_j(z, s), B_j(z, s'))$.

    Here $s$ and $s'$ are independent circumstances, so that $J$ is the variance between members, of what each of them
    does on average: $\sum_j \mathrm{Var}_z(\mathbb{E}_s[B_j(z, s)])$. With $k \ge 2$ episodes, of which member $i$ has
    the mean $\bar B_i$ and the sample variance $s_i^2$ (summed over dimensions), its weight is
    $w_i = |\bar B_i - \mu|^2 - s_i^2 / k$: negative for a member that behaves now so, now otherwise. Without
    circumstances it is `max_variance`.
    """

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        episodes = shaped_episodes("max_covariance", behavior_shaping, outcome)
        behavior = jnp.mean(episodes, axis=1)
        mean = expect(behavior, log_prob, where=outcome.valid)
        # The mean of the products of two different episodes, without making all of them.
        own = jnp.sum(jnp.var(episodes, axis=1, ddof=1), axis=1) / episodes.shape[1]
        return expect(jnp.sum((behavior - mean) ** 2, axis=1) - own, log_prob, where=outcome.valid)

    return named(objective, objective="max_covariance", behavior_shaping=shaping_name(behavior_shaping))


def max_information(bandwidth: float = 2.0, behavior_shaping: Shaping = standardize) -> Objective:
    r"""MaxInfo, how much a behavior tells about the member: a lower bound of their mutual information, in nats.

    $$J = \mathbb{E}_z[\log \varphi(B(z, s) - B(z, s')) - \log \mathbb{E}_{z'}[\varphi(B(z, s) - B(z', s'))]]$$

    for independent circumstances $s$ and $s'$, over all pairs of different episodes (InfoNCE; it is at most $\log n$).
    The kernel is that of `max_entropy`, which this is without circumstances, up to a constant. For a wide kernel
    $h^2 J$ becomes `max_covariance`.
    """
    if not bandwidth > 0:
        raise ValueError(f"max_information: bandwidth must be positive, got {bandwidth}.")

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        episodes = shaped_episodes("max_information", behavior_shaping, outcome)
        density = cross_density(episodes, log_prob, outcome.valid, bandwidth)
        log_density = jnp.log(jnp.maximum(density, jnp.finfo(density.dtype).tiny)).mean(axis=1)
        # The mean of |B_a - B_b|^2 over pairs of different episodes is twice their sample variance. No lower than a
        # density can be: one member whose episodes are far apart must not outweigh all others.
        log_own = -jnp.sum(jnp.var(episodes, axis=1, ddof=1), axis=1) / bandwidth**2
        log_own = jnp.maximum(log_own, jnp.log(jnp.finfo(density.dtype).tiny))
        return expect(log_own - log_density, log_prob, where=outcome.valid)

    kept = {"bandwidth": float(bandwidth), "behavior_shaping": shaping_name(behavior_shaping)}
    return named(objective, objective="max_information", **kept)


def shaped_episodes(name: str, shaping: Shaping, outcome: Outcome) -> Array:
    """(num_members, num_episodes, num_behaviors) shaped over all episodes of all members, and centered."""
    if outcome.episodes is None:
        raise ConfigError(
            f"{name} compares episodes of the same member, but each has one. Ask for two or more: {given(episodes=2)}."
        )
    rows = outcome.by_episode()
    shaped = shaping(rows.behavior, rows.valid)
    # Far from the origin squares would lose their digits.
    shaped -= masked_mean_and_std(shaped, rows.valid)[0]
    return shaped.reshape(outcome.episodes.shape)


def repeatability(outcome: Outcome) -> Array:
    r"""The share of the variance of behavior that lies between members, $V_B / (V_B + V_W)$; nan with one episode.

    $V_W$ is the mean of the members' own sample variances, and $V_B$ the variance of their means less $V_W / k$, each
    summed over dimensions: both are unbiased.

    Examples:
        >>> from evolvability.core.types import make_outcome, merge_episodes
        >>> rows = jnp.array([[1.0], [1.2], [-1.0], [-1.2]])
        >>> round(float(repeatability(merge_episodes(make_outcome(rows), 2))), 3)
        0.992
    """
    if outcome.episodes is None:
        return jnp.full((), jnp.nan)
    number, count = outcome.episodes.shape[1], jnp.sum(outcome.valid)
    within = masked_mean(jnp.sum(jnp.var(outcome.episodes, axis=1, ddof=1), axis=1), outcome.valid)
    means = raw_variance(outcome._replace(episodes=None)) * count / jnp.maximum(count - 1, 1)
    between = means - within / number
    return between / (between + within)


def sample_weights(objective: Objective, outcome: Outcome) -> tuple[Array, Array]:
    r"""The weight of every member, $w_k = n\, \partial J / \partial \log p(z_k)$, and the objective's value.

    Returns:
        weights: (num_members,), zero for invalid members.
        value: the objective.

    Examples:
        >>> from evolvability.core.types import make_outcome
        >>> sample_weights(max_variance(), make_outcome(jnp.array([[0.0], [2.0], [4.0]])))[0].round(2)
        Array([1.5, 0. , 1.5], dtype=float32)
    """
    num_members = outcome.behavior.shape[0]
    # Zeros will do: `box` divides every density by its own value.
    value, slope = jax.value_and_grad(lambda log_prob: objective(outcome, log_prob))(jnp.zeros(num_members))
    # All members, invalid ones too: a population's `gradient` divides by as many.
    return num_members * slope, value


def raw_variance(outcome: Outcome) -> Array:
    """The trace of the raw behaviors' covariance, over episodes."""
    outcome = outcome.by_episode()
    _, std = masked_mean_and_std(outcome.behavior, outcome.valid)
    return jnp.sum(std**2)


def largest_share(outcome: Outcome) -> Array:
    """The largest share of the squared deviations of any dimension that one member holds; 0 where all agree."""
    mean, _ = masked_mean_and_std(outcome.behavior, outcome.valid)
    squares = unshaped(outcome.behavior - mean, outcome.valid) ** 2
    total = jnp.sum(squares, axis=0)
    return jnp.max(squares / jnp.where(total > 0, total, 1))
