r"""MAML with a trust region: parameters from which one policy-gradient step solves any of a distribution of tasks.

The objective is the return after adaptation, over tasks $i$ with expected returns $J_i$ (section 2.4 of the paper):

$$\max_\theta\; \mathbb{E}_i\big[J_i(\theta_i')\big], \qquad \theta_i' = \theta + \alpha \nabla J_i(\theta),$$

so its gradient $(I + \alpha \nabla^2 J_i(\theta))\, \nabla J_i(\theta_i')$ needs second derivatives of an expectation.
Differentiating the usual estimate $\frac1N \sum \nabla \log \pi\, A$ once more, as the original did, does not give
them: samples move with $\theta$ too. `expected_gain` is written with `expect`, whose derivatives of every order are
right.

The outer step is a trust-region step in the policies *after* adaptation (`trust_region`).

References: Finn, Abbeel and Levine, *Model-agnostic meta-learning* (2017); Foerster et al., *DiCE* (2018); Farquhar,
Whiteson and Foerster, *Loaded DiCE* (2019), for advantages in estimates of any order.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.errors import ConfigError
from evolvability.core.expectation import expect
from evolvability.core.objectives import raw_entropy, raw_variance
from evolvability.core.types import Cloud, Outcome, PyTree
from evolvability.methods.rollouts import Actor, Batch, Ending, fading, log_prob, roll_out
from evolvability.methods.trust_region import Step, trust_region_step
from evolvability.tasks.normalizer import Moments, merge
from evolvability.tasks.policies import Policy
from evolvability.tasks.world import World

TASKS_AT_ONCE = 8
"""How many tasks' derivatives are worked on at a time, at most: memory for more would buy little time."""

Estimator = Callable[[Array, Batch, float], Array]


@dataclass(frozen=True)
class MamlOptions:
    """Options of MAML: those of the paper's table S5, and below what it lacks."""

    inner_rate: float = 0.1
    """Length of the inner step, in units of the gradient of the mean advantage a step."""
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
    entropy: Array
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
        explore: ``(state) -> Trial``, episodes before and after adaptation.
        learn: ``(state, trial) -> (State, Info)``, the trust-region step.
    """

    init: Callable[..., State]
    explore: Callable[[State], "Trial"]
    learn: Callable[[State, "Trial"], tuple[State, Info]]


class Trial(NamedTuple):
    """The episodes of an outer step; arrays have the axes (num_tasks, num_episodes) in front.

    Attributes:
        before: of the policy to be adapted.
        after: of each task's adapted policy.
        started: how those before ended.
        ended: how those after ended.
    """

    before: Batch
    after: Batch
    started: Ending
    ended: Ending


def expected_gain(log_prob: Array, batch: Batch, discount: float) -> Array:
    r"""The expected advantage a step, whose derivatives of every order are right in the actions' log-probabilities.

    Action $t$ is worth its advantage times the likelihood ratio of all actions up to it, less the ratio of those
    before it (Loaded DiCE), each action's part in later ratios fading with the discount:

    $$\mathbb{E}\Big[\sum_t \big(\mathcal{L}(w_t) - \mathcal{L}(v_t)\big) A_t\Big], \qquad
    w_t = v_t + \log \pi(a_t), \quad v_{t + 1} = \gamma\, w_t.$$

    Its value is zero and its gradient the policy gradient, $\sum_t \nabla \log \pi(a_t) A_t$. For $\gamma = 1$ and any
    baseline in $A$ its second derivative is an unbiased estimate of that of the expected return.

    Args:
        log_prob: (num_episodes, num_steps) of one policy's actions, differentiable.
        batch: the same policy's episodes.
        discount: $\gamma$.

    Returns:
        A scalar; a mean over the steps that count.
    """
    log_prob = jnp.where(batch.counts, log_prob, 0)
    # Sums over the past, u < t: the transpose of sums over the future, without the step itself.
    past = jnp.matmul(log_prob, fading(log_prob.shape[1], discount).T, precision="highest") - log_prob
    values, where = batch.advantages.ravel(), batch.counts.ravel()
    return expect(values, (past + log_prob).ravel(), where=where) - expect(values, past.ravel(), where=where)


def adapt(
    policy: Policy, actor: Actor, batch: Batch, *, rate: float, discount: float, estimator: Estimator = expected_gain
) -> Actor:
    """One policy-gradient step on one task's episodes, differentiable in the actor it starts from."""

    def gain(actor: Actor) -> Array:
        return estimator(log_prob(policy, actor, batch.inputs, batch.actions), batch, discount)

    return jax.tree.map(lambda leaf, slope: leaf + rate * slope, actor, jax.grad(gain)(actor))


class Outer(NamedTuple):
    """The outer problem around an actor, as functions of its flat parameters; see `trust_region_step`."""

    position: Array
    gradient: Array
    curvature: Callable[[Array], Array]
    evaluate: Callable[[Array], tuple[Array, Array]]


def outer_problem(
    policy: Policy,
    actor: Actor,
    before: Batch,
    after: Batch,
    *,
    rate: float,
    discount: float,
    estimator: Estimator = expected_gain,
) -> Outer:
    """What a trust-region step needs of the return after adaptation.

    Args:
        policy: the network family.
        actor: the policy that is adapted.
        before: its own episodes, with the axis (num_tasks,) in front.
        after: those of each task's adapted policy, likewise.
        rate: of the inner step.
        discount: of the inner step.
        estimator: whose gradient the inner step is.
    """
    position, unflatten = ravel_pytree(actor)
    inner: dict[str, Any] = {"rate": rate, "discount": discount, "estimator": estimator}

    def actions_after(flat: Array, before: Batch, after: Batch) -> Actor:
        """The adapted policy's means, (num_episodes, num_steps, num_actions), and its log standard deviations."""
        adapted = adapt(policy, unflatten(flat), before, **inner)
        return Actor(policy.apply(adapted.center, after.inputs), adapted.log_std)

    def gain(flat: Array, old: Actor, before: Batch, after: Batch) -> Array:
        """The mean advantage a step, weighed by how much more likely each action has become."""
        ratio = jnp.exp(_log_prob(actions_after(flat, before, after), after) - _log_prob(old, after))
        return _mean(ratio * after.advantages, after.counts)

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
            fisher = Actor(weight * change.center * jnp.exp(-2 * old.log_std), 2 * change.log_std)
            return jax.vjp(outputs, position)[1](fisher)[0]

        return _over_tasks(of_task, before, after)

    def evaluate(flat: Array) -> tuple[Array, Array]:
        def of_task(before: Batch, after: Batch) -> tuple[Array, Array]:
            old, new = actions_after(position, before, after), actions_after(flat, before, after)
            gained = gain(flat, old, before, after) - _mean(after.advantages, after.counts)
            return gained, _mean(divergence(old, new), after.counts)

        return _over_tasks(of_task, before, after)

    return Outer(position, _over_tasks(slope, before, after), product, evaluate)


def divergence(old: Actor, new: Actor) -> Array:
    """(...) the KL divergence of normal distributions, old from new; their means are ``center``."""
    variance = jnp.exp(2 * (old.log_std - new.log_std))
    distance = ((old.center - new.center) * jnp.exp(-new.log_std)) ** 2
    return jnp.sum(new.log_std - old.log_std + 0.5 * (variance + distance - 1), axis=-1)


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
        key_goals, *keys = jax.random.split(jax.random.fold_in(state.key, state.generation), 3)
        goals = world.goals.draw(key_goals, options.tasks)
        actor = Actor(state.cloud.center[0], state.log_std)

        def phase(actors: Actor, given: tuple[Array, Array]) -> tuple[Actor, tuple[Batch, Ending]]:
            key, is_last = given
            batch, ending = roll_out(world, key, actors, goals, state.memory, options.episodes, options.discount)

            def adapted() -> Actor:
                return _for_tasks(lambda own: adapt(world.policy, actor, own, **inner), batch)

            return jax.lax.cond(is_last, lambda: actors, adapted), (batch, ending)

        # As a loop, for rollouts of a robot take long to compile: once, not before and after.
        same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (options.tasks, *leaf.shape)), actor)
        _, phases = jax.lax.scan(phase, same, (jnp.stack(keys), jnp.array([False, True])))
        before, started = jax.tree.map(lambda leaf: leaf[0], phases)
        after, ended = jax.tree.map(lambda leaf: leaf[1], phases)
        return Trial(before, after, started, ended)

    def learn(state: State, trial: Trial) -> tuple[State, Info]:
        actor = Actor(state.cloud.center[0], state.log_std)
        # In full precision: a GPU's default for matrix products, TF32, would blur the curvature.
        with jax.default_matmul_precision("highest"):
            outer = outer_problem(world.policy, actor, trial.before, trial.after, **inner)
            step = trust_region_step(
                *outer,
                bound=options.trust_region,
                iterations=options.iterations,
                damping=options.damping,
                steps=options.line_search_steps,
                ratio=options.line_search_ratio,
            )
        moved = ravel_pytree(actor)[1](step.position)
        info = describe(actor, trial, outer.gradient, step)
        return state._replace(
            generation=state.generation + 1,
            cloud=Cloud(moved.center[None]),
            log_std=moved.log_std,
            memory=_remembered(state.memory, trial),
        ), info

    return Meta(init, explore, learn)


def outer_step(meta: Meta, state: State) -> tuple[State, Info, Outcome]:
    """One outer step: explore, adapt, explore again, learn."""
    trial = meta.explore(state)
    state, info = meta.learn(state, trial)
    return state, info, outcome_of(trial)


def outcome_of(trial: Trial) -> Outcome:
    """The episodes after adaptation, as a population's: behavior is where each ended, fitness its sum of rewards."""
    ended = trial.ended
    behavior = ended.position.reshape(-1, ended.position.shape[-1])
    return Outcome(behavior, ended.total.ravel(), ended.valid.ravel(), ended.num_steps.ravel())


def describe(actor: Actor, trial: Trial, gradient: Array, step: Step) -> Info:
    """The diagnostics of one outer step."""
    outcome = outcome_of(trial)
    valid = outcome.valid
    after = _mean(outcome.fitness, valid)
    return Info(
        objective=after,
        variance=raw_variance(outcome),
        entropy=raw_entropy(outcome),
        distance=_mean(jnp.linalg.norm(outcome.behavior, axis=1), valid),
        fitness_mean=after,
        fitness_max=jnp.max(jnp.where(valid, outcome.fitness, -jnp.inf)),
        fitness_before=_mean(trial.started.total, trial.started.valid),
        gradient_norm=jnp.linalg.norm(gradient),
        center_norm=jnp.linalg.norm(actor.center),
        action_std=jnp.mean(jnp.exp(actor.log_std)),
        divergence=step.divergence,
        backtracks=step.backtracks,
        num_invalid=jnp.sum(~valid) + jnp.sum(~trial.started.valid),
        num_steps=jnp.sum(trial.started.num_steps) + jnp.sum(trial.ended.num_steps),
    )


def _remembered(memory: PyTree, trial: Trial) -> PyTree:
    """The task's memory with what was seen, where it is statistics of observations."""
    if not isinstance(memory, Moments):
        return memory
    return merge(merge(memory, trial.started.seen), trial.ended.seen)


def _log_prob(actions: Actor, batch: Batch) -> Array:
    standard = (batch.actions - actions.center) * jnp.exp(-actions.log_std)
    return -jnp.sum(0.5 * standard**2 + actions.log_std, axis=-1)  # up to a constant, which ratios do not have


def _over_tasks(function: Callable[..., PyTree], *batches: Batch) -> PyTree:
    """The mean over tasks of a function of their batches, a few tasks at a time."""
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), _for_tasks(function, *batches))


def _for_tasks(function: Callable[..., PyTree], *batches: Batch) -> PyTree:
    """A function of every task's batches; as many at once as divide their number, or a rest would be compiled too."""
    num_tasks = len(batches[0].counts)
    at_once = max(size for size in range(1, TASKS_AT_ONCE + 1) if num_tasks % size == 0)
    return jax.lax.map(lambda own: function(*own), batches, batch_size=at_once)


def _mean(values: Array, where: Array) -> Array:
    return jnp.sum(jnp.where(where, values, 0)) / jnp.maximum(jnp.sum(where), 1)
