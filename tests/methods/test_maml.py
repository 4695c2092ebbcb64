"""MAML against what is known in closed form."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.flatten_util import ravel_pytree
from scipy import stats

from evolvability.core.expectation import expect
from evolvability.methods.meta_gradient import Estimator, Outer, adapt, divergence, expected_gain, outer_problem
from evolvability.methods.rollouts import Actor, Batch, advantages, baseline, log_prob, returns
from evolvability.methods.trust_region import Step, trust_region_step
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.policies import mlp

# Two actions a_1, a_2 ~ N(m, s^2), reward -(a_1 + a_2 - goal)^2 at the end: J = -(2m - goal)^2 - 2 s^2.
POLICY = family_of(mlp(()), 1, 1)  # parameters: a weight, which inputs of zero leave alone, and a bias m
RATE = 0.05
GOALS = jnp.array([-1.0, 2.0])
START = Actor(jnp.array([0.0, 1.0]), jnp.array([-0.2]))
NUM_EPISODES = 50_000


def episodes(key: Array, actor: Actor, goal: Array, *, with_baseline: bool = True) -> Batch:
    shape = (NUM_EPISODES, 2, 1)
    actions = actor.center[1] + jnp.exp(actor.log_std) * jax.random.normal(key, shape)
    reward = -((actions.sum(axis=(1, 2)) - goal) ** 2)
    expected = -((2 * actor.center[1] - goal) ** 2) - 2 * jnp.exp(2 * actor.log_std[0])
    worth = jnp.stack([reward, reward], axis=1) - with_baseline * expected
    return Batch(jnp.zeros(shape), actions, worth, jnp.ones(shape[:2], bool))


def closed_form(actor: Actor, goal: Array) -> Array:
    """The expected return per step."""
    return 0.5 * (-((2 * actor.center[1] - goal) ** 2) - 2 * jnp.exp(2 * actor.log_std[0]))


def adapted_exactly(actor: Actor, goal: Array) -> Actor:
    return jax.tree.map(lambda leaf, slope: leaf + RATE * slope, actor, jax.grad(closed_form)(actor, goal))


def true_meta_gradient() -> Array:
    def objective(actor: Actor) -> Array:
        return jnp.mean(jax.vmap(lambda goal: closed_form(adapted_exactly(actor, goal), goal))(GOALS))

    return jax.jit(lambda actor: ravel_pytree(jax.grad(objective)(actor))[0])(START)


def naive(log_prob: Array, batch: Batch, discount: float) -> Array:
    """The original's: right once differentiated, wrong twice."""
    del discount
    return jnp.mean(log_prob * batch.advantages)


def step_by_step(log_prob: Array, batch: Batch, discount: float) -> Array:
    """Likelihood ratios of single actions: right twice, but for how actions work together."""
    del discount
    return expect(batch.advantages.ravel(), log_prob.ravel())


@partial(jax.jit, static_argnums=0)
def estimated_meta_gradient(estimator: Estimator, seed: int) -> Array:
    key_before, key_after = jax.random.split(jax.random.key(seed))
    before = jax.vmap(lambda key, goal: episodes(key, START, goal))(jax.random.split(key_before), GOALS)
    step = partial(adapt, POLICY, rate=RATE, discount=1.0, estimator=estimator)
    adapted = jax.vmap(partial(step, START))(before)
    after = jax.vmap(episodes)(jax.random.split(key_after), adapted, GOALS)
    return outer_problem(POLICY, START, before, after, step).gradient


def deviations(estimator: Estimator) -> np.ndarray[Any, Any]:
    """How many standard errors the mean of several estimates lies from the truth, in m and log s."""
    found = np.stack([estimated_meta_gradient(estimator, seed) for seed in range(12)])[:, 1:]
    return (found.mean(axis=0) - true_meta_gradient()[1:]) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))


def test_meta_gradient_is_the_true_one_within_monte_carlo_error() -> None:
    assert np.abs(deviations(expected_gain)).max() < 4


@pytest.mark.full
@pytest.mark.parametrize("estimator", [naive, step_by_step])
def test_wrong_estimators_fail_the_same_test(estimator: Estimator) -> None:
    assert np.abs(deviations(estimator)).max() > 10


def small_problem(num_steps: int = 6) -> tuple[NetworkFamily, Actor, Batch, Batch]:
    """A network with a hidden layer, and random episodes of three tasks, some of which end early."""
    policy, draw = family_of(mlp((4,)), 3, 2), np.random.default_rng(1)
    actor = Actor(jnp.asarray(0.5 * draw.normal(size=policy.num_params), jnp.float32), jnp.array([-0.3, 0.2]))
    counts = jnp.asarray(np.arange(num_steps) < draw.integers(2, num_steps + 1, (3, 5, 1)))

    def batch() -> Batch:
        inputs, noise, worth = (
            jnp.asarray(draw.normal(size=(3, 5, num_steps, size)), jnp.float32) for size in (3, 2, 1)
        )
        actions = jax.jit(policy.apply)(actor.center, inputs)[0] + jnp.exp(actor.log_std) * noise
        return Batch(inputs, actions, worth[..., 0], counts)

    return policy, actor, batch(), batch()


def test_inner_step_is_the_policy_gradient() -> None:
    policy, actor, before, _ = small_problem()
    own = jax.tree.map(lambda leaf: leaf[0], before)

    def score(actor: Actor) -> Array:
        weighed = jnp.where(own.counts, log_prob(policy, actor, own.inputs, own.actions) * own.advantages, 0)
        return weighed.sum() / own.counts.sum()

    expected = jax.tree.map(lambda leaf, slope: leaf + 0.1 * slope, actor, jax.jit(jax.grad(score))(actor))
    found = jax.jit(partial(adapt, policy, rate=0.1, discount=0.9))(actor, own)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected)


def test_steps_that_do_not_count_change_nothing() -> None:
    policy, actor, before, _ = small_problem()
    own = jax.tree.map(lambda leaf: leaf[0], before)
    other = own._replace(advantages=jnp.where(own.counts, own.advantages, jnp.nan), actions=own.actions + 0)
    first, second = map(jax.jit(partial(adapt, policy, actor, rate=0.1, discount=0.9)), (own, other))
    jax.tree.map(np.testing.assert_array_equal, first, second)


def test_divergence_is_that_of_normal_distributions() -> None:
    old, new = Actor(jnp.array([0.3]), jnp.array([-0.5])), Actor(jnp.array([-0.2]), jnp.array([0.1]))
    x = np.linspace(-12, 12, 20_001)
    p, q = (stats.norm.pdf(x, actor.center, np.exp(actor.log_std)) for actor in (old, new))
    expected = np.trapezoid(np.where(p > 1e-30, p * np.log(p / q), 0), x)
    assert float(jax.jit(divergence)(old, new)) == pytest.approx(expected, rel=1e-4)


@pytest.fixture(scope="module")
def outer() -> Outer:
    problem = small_problem()

    @jax.jit
    def compiled(flat: Array, vector: Array) -> tuple[Array, Array, tuple[Array, Array]]:
        outer = outer_problem(*problem, partial(adapt, problem[0], rate=0.1, discount=0.9))
        return outer.gradient, outer.curvature(vector), outer.evaluate(flat)

    position = ravel_pytree(problem[1])[0]
    return Outer(
        position,
        compiled(position, position)[0],
        lambda vector: compiled(position, vector)[1],
        lambda flat: compiled(flat, position)[2],
    )


@pytest.mark.full
def test_curvature_is_the_second_derivative_of_the_divergence_after_adaptation(outer: Outer) -> None:
    vector = jax.random.normal(jax.random.key(5), outer.position.shape)
    slope = jax.grad(lambda flat: outer.evaluate(flat)[1])
    expected = jax.jit(lambda vector: jax.jvp(slope, (outer.position,), (vector,))[1])(vector)
    np.testing.assert_allclose(outer.curvature(vector), expected, rtol=2e-3, atol=2e-5)


def test_gradient_is_the_slope_of_what_the_line_search_sees(outer: Outer) -> None:
    gain, moved = outer.evaluate(outer.position)
    assert abs(float(gain)) < 1e-6
    assert abs(float(moved)) < 1e-6
    slope = jax.jit(jax.grad(lambda flat: outer.evaluate(flat)[0]))(outer.position)
    np.testing.assert_allclose(outer.gradient, slope, rtol=1e-3, atol=1e-5)


def test_divergence_after_an_accepted_step_is_within_the_bound(outer: Outer) -> None:
    @jax.jit
    def take(bound: Array) -> Step:
        return trust_region_step(outer.position, outer.gradient, outer.curvature, outer.evaluate, bound=bound)

    for bound in (0.1, 0.01, 0.001):
        step = take(jnp.asarray(bound))
        gain, moved = outer.evaluate(step.position)
        assert step.accepted
        assert bound / 10 < float(moved) <= bound  # not idle, either
        assert float(gain) > 0


def test_returns_are_discounted_sums_of_what_follows() -> None:
    rewards = np.random.default_rng(0).normal(size=(2, 30)).astype(np.float32)
    expected = np.zeros_like(rewards)
    following = np.zeros(2)
    for step in reversed(range(30)):
        following = rewards[:, step] + 0.9 * following
        expected[:, step] = following
    np.testing.assert_allclose(jax.jit(returns)(rewards, 0.9), expected, rtol=1e-4, atol=1e-5)


def test_baseline_explains_returns_that_are_quadratic_in_inputs_and_cubic_in_time() -> None:
    inputs = np.random.default_rng(0).normal(size=(10, 50, 2)).astype(np.float32)
    time = np.linspace(0, 2, 50, dtype=np.float32)
    follows = 1 + 2 * inputs[..., 0] - inputs[..., 1] ** 2 + 3 * time**3
    counts = np.ones((10, 50), bool)
    counts[0, 20:] = False
    error = np.asarray(jax.jit(baseline)(inputs, follows, counts)) - follows
    assert np.abs(error[counts]).max() < 0.02
    worth = np.asarray(jax.jit(advantages)(inputs, counts.astype(np.float32), counts, 0.9))
    assert worth[0, 20:].max() == 0
    assert np.sum(worth**2) / counts.sum() == pytest.approx(1, rel=1e-3)
