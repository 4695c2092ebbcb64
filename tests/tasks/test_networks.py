from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import evolvability
from evolvability import Circumstances, evolve, make_task, robot_task
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.types import Outcome, Sample
from evolvability.core.types import sample_of as sample_of_members
from evolvability.tasks.base import Task
from evolvability.tasks.engines.device import device_engine
from evolvability.tasks.engines.networks import fits, kernel_actor
from evolvability.tasks.families import family_of
from evolvability.tasks.options import LocomotionOptions
from evolvability.tasks.policies import gru, mlp
from evolvability.tasks.robots.locomotion import robot_of

SIZES = (5, 16, 16, 6)
POLICY = family_of(mlp(SIZES[1:-1]), SIZES[0], SIZES[-1])


def draw(population: Population, key: Array) -> Sample:
    centers = jax.vmap(POLICY.init)(jax.random.split(key, population.num_components))
    parameters = population.init(key, centers)
    # 18 members: the last block of draws is not full.
    return population.sample(key, parameters, 0, population.draws(18))


def by_kernel(sample: Sample, observations: Array) -> Array:
    return kernel_actor(POLICY, sample)(observations)


def sample_of(sample: Sample, observations: Array) -> Any:
    members = np.asarray(sample.members())
    return np.stack([POLICY.apply(own, seen)[0] for own, seen in zip(members, np.asarray(observations), strict=True)])


@pytest.mark.parametrize(
    "population",
    [
        mixture(3, 0.1),
        normal(0.1, noise_dtype=jnp.bfloat16),
        pytest.param(diagonal_normal(0.1), marks=pytest.mark.full),
        pytest.param(normal(0.1), marks=pytest.mark.full),
        pytest.param(normal(0.1, mirrored=False, noise_dtype=jnp.bfloat16), marks=pytest.mark.full),
    ],
    ids=["mixture", "short", "diagonal", "normal", "short and not mirrored"],
)
def test_kernel_acts_like_networks_written_out(population: Population) -> None:
    sample = draw(population, jax.random.key(0))
    observations = jax.random.normal(jax.random.key(1), (sample.num_members, SIZES[0]))
    np.testing.assert_allclose(by_kernel(sample, observations), sample_of(sample, observations), atol=1e-5)


def test_kernel_lets_no_nan_pass_as_a_number() -> None:
    sample = draw(mixture(3, 0.1), jax.random.key(0))
    broken = sample._replace(center=sample.center.at[:, 0].set(jnp.nan))  # one weight of the first layer
    assert np.isnan(by_kernel(broken, jnp.ones((sample.num_members, SIZES[0])))).all()


def test_kernel_keeps_seeds_apart() -> None:
    population = normal(0.1, noise_dtype=jnp.bfloat16)
    samples = jax.vmap(lambda key: draw(population, key))(jax.random.split(jax.random.key(0), 3))
    observations = jax.random.normal(jax.random.key(1), (3, 18, SIZES[0]))
    found = jax.jit(jax.vmap(by_kernel))(samples, observations)
    for seed in range(3):
        sample = jax.tree.map(lambda leaf, own=seed: leaf[own], samples)
        np.testing.assert_allclose(found[seed], sample_of(sample, observations[seed]), atol=1e-5)


def test_kernel_is_for_noise_in_rows_of_an_even_number_and_layers_that_fit() -> None:
    assert fits(POLICY, draw(normal(0.1), jax.random.key(0)))
    assert not fits(POLICY, draw(low_rank(POLICY.shapes, 1, 0.1), jax.random.key(0)))
    assert not fits(family_of(mlp((15,)), 5, 4), draw(normal(0.1), jax.random.key(0)))
    assert fits(family_of(mlp((14,)), 5, 4), draw(normal(0.1), jax.random.key(0)))
    assert not fits(family_of(mlp((2000,)), 5, 4), draw(normal(0.1), jax.random.key(0)))


ROBOT: dict[str, Any] = {"body": "gymnasium", "num_steps": 8, "observation_share": 1.0, "start_noise": 0.1}
"""Of the cheetah."""


def driven(make: Any, engine: str, on_device: bool = False) -> Task:
    options = LocomotionOptions(engine="mujoco" if engine == "mujoco" else "auto", threads=2, **ROBOT)
    robot = robot_of("cheetah", options)
    task = make_task("cheetah", options, policy=make)
    if not on_device:
        return task
    engine_run = device_engine(robot, family_of(make, robot.num_observations, robot.num_motors), options).run

    def evaluate(*given: Any) -> tuple[Outcome, Any]:
        done = engine_run(*given)
        return Outcome(done.behavior, done.behavior[:, 0], done.valid, done.num_steps), done.seen

    return replace(task, evaluate=evaluate, on_host=False)


@pytest.mark.parametrize(
    "make",
    [gru(6), *(pytest.param(mlp((39, 64), name), marks=pytest.mark.full) for name in ("relu", "silu"))],
    ids=lambda make: type(make).__name__,
)
def test_robots_do_under_every_engine_what_networks_written_out_do(make: Any) -> None:
    """A bound method is not a factory of ours: its members are written out and mapped."""
    key, written = jax.random.key(0), driven(make.__call__, "mujoco")
    centers = 3 * written.init(key) + 0.5 * jax.random.normal(key, (6, len(written.init(key))))
    sample, moments = sample_of_members(centers), written.memory
    judge, seen = written.evaluate(key, sample, moments)
    assert jnp.ptp(judge.behavior) > 0.05
    others = {
        "mujoco": driven(make, "mujoco"),
        "cores": driven(make, "fused"),
        "device": driven(make, "fused", on_device=True),
        "device, written out": driven(make.__call__, "fused"),
    }
    for name, task in others.items():
        evaluate = task.evaluate if task.on_host else jax.jit(task.evaluate)
        done, their_seen = evaluate(key, sample, moments)
        np.testing.assert_allclose(done.behavior, judge.behavior, atol=2e-3, err_msg=name)
        np.testing.assert_allclose(their_seen.mean, seen.mean, atol=2e-2, err_msg=name)
        again, _ = evaluate(key, sample, moments)  # whatever was remembered is forgotten
        np.testing.assert_array_equal(again.behavior, done.behavior)
        assert task.stage is not None
        assert task.stage.replay is not None
        motion = task.stage.replay(key, sample, moments)
        np.testing.assert_allclose(motion.behavior, done.behavior, atol=1e-4, err_msg=name)
        assert motion.poses is not None
        assert motion.poses.shape[:2] == (6, ROBOT["num_steps"] + 1)


@pytest.mark.full
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_kernel_has_every_activation(activation: str) -> None:
    family, sample = family_of(mlp(SIZES[1:-1], activation), SIZES[0], SIZES[-1]), draw(normal(0.1), jax.random.key(0))
    observations = jax.random.normal(jax.random.key(1), (sample.num_members, SIZES[0]))
    expected, _ = family.act(family.build(sample), observations, ())
    np.testing.assert_allclose(kernel_actor(family, sample)(observations), expected, atol=1e-5)


def test_seams_compose_in_one_line() -> None:
    model = Path(evolvability.__file__).parent / "tasks" / "robots" / "assets" / "quadruped.xml"
    task = robot_task(model, policy=gru(64), circumstances=Circumstances(friction=0.3), num_steps=4, engine="mujoco")
    small: Any = {"population_size": 8, "generations": 2, "progress": False}
    run = evolve(task, objective="max_covariance", episodes=2, **small)
    assert run.config.task_options.policy == "gru"
    assert run.config.task_options.hidden == 64
    assert run.policy(run.center).carry.shape == (64,)
    assert np.isfinite(run.metrics["repeatability"]).all()
