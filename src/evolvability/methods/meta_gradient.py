r"""The gradient of the return after adaptation: a policy-gradient step, and what its outcome says about its start.

With expected returns $J_i$ of tasks $i$ and $\theta_i' = \theta + \alpha \nabla J_i(\theta)$, the gradient of
$\mathbb{E}_i[J_i(\theta_i')]$ is $(I + \alpha \nabla^2 J_i(\theta))\, \nabla J_i(\theta_i')$: it needs second
derivatives of an expectation. Differentiating the usual estimate $\frac1N \sum \nabla \log \pi\, A$ once more, as
the original did, does not give them: samples move with $\theta$ too. `expected_gain` is written with `expect`, whose
derivatives of every order are right.

References: Foerster et al., *DiCE* (2018); Farquhar, Whiteson and Foerster, *Loaded DiCE* (2019), for advantages in
estimates of any order.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.expectation import expect
from evolvability.core.shaping import masked_mean
from evolvability.core.types import PyTree
from evolvability.methods.rollouts import Actor, Batch, fading, log_density, log_prob
from evolvability.tasks.families import NetworkFamily

TASKS_AT_ONCE = 8  # how many tasks' derivatives are worked on at a time, at most: memory for more would buy little time

Estimator = Callable[[Array, Batch, float], Array]


def expected_gain(log_prob: Array, batch: Batch, discount: float) -> Array:
    r"""The expected advantage per step, whose derivatives of every order are right in the actions' log-probabilities.

    Action $t$ is worth its advantage times the likelihood ratio of all actions up to it, less the ratio of those
    before it (Loaded DiCE), each action's part in later ratios fading with the discount:

    $$\mathbb{E}\Big[\sum_t \big(\mathcal{L}(w_t) - \mathcal{L}(v_t)\big) A_t\Big], \qquad
    w_t = v_t + \log \pi(a_t), \quad v_{t + 1} = \gamma\, w_t.$$

    Its value is zero and its gradient the policy gradient, $\sum_t \nabla \log \pi(a_t) A_t$. For $\gamma = 1$ and any
    baseline in $A$ its second derivative is an unbiased estimate of that of the expected return.

    The mean is over the steps that count; log_prob: (num_episodes, num_steps) of one policy's actions.
    """
    log_prob = jnp.where(batch.counts, log_prob, 0)
    # Sums over the past, u < t: the transpose of sums over the future, without the step itself.
    past = jnp.matmul(log_prob, fading(log_prob.shape[1], discount).T, precision="highest") - log_prob
    values, where = batch.advantages.ravel(), batch.counts.ravel()
    return expect(values, (past + log_prob).ravel(), where=where) - expect(values, past.ravel(), where=where)


def adapt(
    networks: NetworkFamily,
    actor: Actor,
    batch: Batch,
    *,
    rate: float,
    discount: float,
    estimator: Estimator = expected_gain,
) -> Actor:
    """One policy-gradient step on one task's episodes, differentiable in the actor it starts from."""

    def gain(actor: Actor) -> Array:
        return estimator(log_prob(networks, actor, batch.inputs, batch.actions), batch, discount)

    return jax.tree.map(lambda leaf, slope: leaf + rate * slope, actor, jax.grad(gain)(actor))


class Outer(NamedTuple):
    """The outer problem around an actor, as functions of its flat parameters; see `trust_region_step`."""

    position: Array
    """(num_params,) where the step starts."""
    gradient: Array
    """(num_params,) the gradient of the gain there."""
    curvature: Callable[[Array], Array]
    """`(vector) -> F vector`, with the second derivative of the divergence there."""
    evaluate: Callable[[Array], tuple[Array, Array]]
    """`(position) -> (gain, divergence)`, both relative to the start."""


def outer_problem(
    networks: NetworkFamily,
    actor: Actor,
    before: Batch,
    after: Batch,
    step: Callable[[Actor, Batch], Actor],
    curvature_precision: str = "tensorfloat32",
) -> Outer:
    """What a trust-region step needs of the return after adaptation by an inner ``step``, such as `adapt`.

    The actor's own episodes are those before; after are those of each task's adapted policy. Both have the axis
    (num_tasks,) in front.
    """
    position, unflatten = ravel_pytree(actor)

    def actions_after(flat: Array, before: Batch, after: Batch) -> Actor:
        """The adapted policy's means, (num_episodes, num_steps, num_actions), and its log standard deviations."""
        adapted = step(unflatten(flat), before)
        return Actor(networks.apply(adapted.center, after.inputs)[0], adapted.log_std)

    def gain(flat: Array, old: Actor, before: Batch, after: Batch) -> Array:
        """The mean advantage per step, weighed by how much more likely each action has become."""
        new = actions_after(flat, before, after)
        ratio = jnp.exp(log_density(new, after.actions) - log_density(old, after.actions))
        return masked_mean(ratio * after.advantages, after.counts)

    def slope(before: Batch, after: Batch) -> Array:
        old = actions_after(position, before, after)
        return jax.grad(gain)(position, old, before, after)

    def product(vector: Array) -> Array:
        def of_task(before: Batch, after: Batch) -> Array:
            def outputs(flat: Array) -> Actor:
                return actions_after(flat, before, after)

            # The divergence is least, and zero, at the position. So its second derivative there is J' F J with the
            # Jacobian J of means and deviations and the Fisher matrix F of normal distributions, which is diagonal.
            old, change = jax.jvp(outputs, (position,), (vector,))
            weight = after.counts[..., None] / jnp.maximum(jnp.sum(after.counts), 1)
            # Deviations are the same at every step: over the steps their weights sum to one.
            fisher = Actor(weight * change.center * jnp.exp(-2 * old.log_std), 2 * change.log_std)
            return jax.vjp(outputs, position)[1](fisher)[0]

        # Most of the time goes here, and a direction may be a little off: gain and divergence judge what it leads to.
        with jax.default_matmul_precision(curvature_precision):
            return _over_tasks(of_task, before, after)

    def evaluate(flat: Array) -> tuple[Array, Array]:
        def of_task(before: Batch, after: Batch) -> tuple[Array, Array]:
            old, new = actions_after(position, before, after), actions_after(flat, before, after)
            # At the position every ratio is one: the mean advantage is what the gain starts from.
            gained = gain(flat, old, before, after) - masked_mean(after.advantages, after.counts)
            return gained, masked_mean(divergence(old, new), after.counts)

        return _over_tasks(of_task, before, after)

    return Outer(position, _over_tasks(slope, before, after), product, evaluate)


def divergence(old: Actor, new: Actor) -> Array:
    """(...) the KL divergence of normal distributions, old from new; their means are ``center``."""
    variance = jnp.exp(2 * (old.log_std - new.log_std))
    distance = ((old.center - new.center) * jnp.exp(-new.log_std)) ** 2
    return jnp.sum(new.log_std - old.log_std + 0.5 * (variance + distance - 1), axis=-1)


def _over_tasks(function: Callable[..., PyTree], *batches: Batch) -> PyTree:
    """The mean over tasks of a function of their batches, a few tasks at a time."""
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), for_tasks(function, *batches))


def for_tasks(function: Callable[..., PyTree], *batches: Batch) -> PyTree:
    """A function of every task's batches; as many at once as divide their number, or a rest would be compiled too."""
    num_tasks = len(batches[0].counts)
    at_once = max(size for size in range(1, TASKS_AT_ONCE + 1) if num_tasks % size == 0)
    return jax.lax.map(lambda own: function(*own), batches, batch_size=at_once)
