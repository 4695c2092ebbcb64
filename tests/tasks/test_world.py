"""Worlds: what is asked in them, and that they step the same robots as the engines do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import make_task
from evolvability.core.types import sample_of
from evolvability.methods.rollouts import Actor, roll_out
from evolvability.tasks.base import world_of
from evolvability.tasks.from_world import task_from_world
from evolvability.tasks.normalizer import merge, no_moments
from evolvability.tasks.policies import mlp
from evolvability.tasks.world import Situation, World, directions, goes_on, points


def test_left_and_right_are_drawn_alike_and_directions_all_over_the_circle() -> None:
    line = directions(1).draw(jax.random.key(0), 1000)
    assert set(np.unique(line)) == {-1.0, 1.0}
    assert abs(float(line.mean())) < 0.1
    plane = directions(2).draw(jax.random.key(0), 1000)
    np.testing.assert_allclose(np.linalg.norm(plane, axis=1), 1, rtol=1e-5)
    assert float(np.abs(plane.mean(axis=0)).max()) < 0.1


def test_rewards_of_an_episode_add_up_to_the_distance_traveled_in_the_direction() -> None:
    path = np.cumsum(np.random.default_rng(0).normal(size=(10, 2)), axis=0)
    goal = jnp.array([0.6, -0.8])
    rewards = directions(2).reward(goal, jnp.asarray(path[:-1]), jnp.asarray(path[1:]))
    np.testing.assert_allclose(rewards.sum(), (path[-1] - path[0]) @ np.array(goal), rtol=1e-5)


def test_points_are_drawn_from_the_box_and_rewarded_by_nearness() -> None:
    goals = points(2, 0.5)
    drawn = goals.draw(jax.random.key(0), 500)
    assert 0.45 < float(np.abs(drawn).max()) <= 0.5
    assert float(goals.reward(jnp.array([0.3, 0.4]), jnp.ones(2), jnp.zeros(2))) == -0.25


@pytest.mark.parametrize(
    "name", ["point", *(pytest.param(name, marks=pytest.mark.full) for name in ("maze", "navigation"))]
)
def test_members_of_toy_tasks_do_what_their_networks_do_step_by_step_in_the_world(name: str) -> None:
    task = make_task(name, {"num_steps": 6, "hidden": 4})
    world = world_of(task)
    members = jax.jit(lambda keys: 2 * jax.vmap(task.init)(keys) + 0.3)(jax.random.split(jax.random.key(0), 3))
    advance = jax.jit(lambda now: world.advance(now, jax.vmap(world.networks.apply)(members, now.observation)[0]))
    now = jax.jit(lambda key: world.begin(jax.random.split(key, 3)))(jax.random.key(0))
    path = [now.position]
    for _ in range(6):
        now = advance(now)
        path.append(now.position)
    assert task.stage is not None
    assert task.stage.replay is not None
    sample = sample_of(members)
    motion = task.stage.replay(jax.random.key(0), sample, ())
    done, _ = jax.jit(task.evaluate)(jax.random.key(0), sample, ())
    np.testing.assert_allclose(motion.path, np.stack(path, axis=1), atol=1e-5)
    np.testing.assert_array_equal(motion.behavior, motion.path[:, -1])
    np.testing.assert_allclose(done.behavior, motion.behavior, atol=1e-6)
    assert (done.num_steps == 6).all()
    assert (motion.num_frames == 7).all()
    assert np.abs(motion.path[:, -1]).min() > 0.01


def test_episodes_that_end_early_or_break_down_are_told() -> None:
    """Three episodes: one ends after two steps, one breaks down after three, one goes on."""

    def begin(keys: Array) -> Situation:
        return goes_on(jnp.zeros((len(keys), 1)), jnp.zeros((len(keys), 2)))

    def advance(now: Situation, actions: Array) -> Situation:
        position = now.position + now.running[:, None]
        ends, breaks = (jnp.arange(3) == 0) & (position[:, 0] >= 2), (jnp.arange(3) == 1) & (position[:, 0] >= 3)
        return now._replace(position=position, running=now.running & ~ends & ~breaks, valid=now.valid & ~breaks)

    world = World(mlp((2,)), 1, 2, 5, begin, advance, directions(2))
    task = task_from_world("stairs", ("x", "y"), world, lambda position: position[:, 0], 0.1)
    sample = sample_of(jnp.zeros((3, world.networks.num_params)))
    done, _ = jax.jit(task.evaluate)(jax.random.key(0), sample, ())
    assert done.num_steps.tolist() == [2, 3, 5]
    assert done.valid.tolist() == [True, False, True]
    assert done.fitness.tolist() == [2, 3, 5]
    assert task.stage is not None
    assert task.stage.replay is not None
    motion = task.stage.replay(jax.random.key(0), sample, ())
    assert motion.num_frames.tolist() == [3, 4, 6]
    assert motion.valid.tolist() == [True, False, True]


def test_robot_steps_in_its_world_as_under_an_engine() -> None:
    """Two cheetahs without noise in their actions, one of them with torques of nan; native MuJoCo as the judge."""
    task = make_task("cheetah", {"engine": "mujoco", "num_steps": 15, "hidden": 8, "observation_share": 1.0})
    world = world_of(task)
    sound = 5 * task.init(jax.random.key(0))
    centers = jnp.stack([sound, jnp.full_like(sound, jnp.nan)])
    actors = Actor(centers, jnp.full((2, 6), -30.0))
    goals = jnp.array([[-1.0], [1.0]])
    run = jax.jit(
        lambda actors: roll_out(world, jax.random.key(0), actors, goals, task.memory, 1, 0.99),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    batch, ended, pooled = run(actors)
    outcome, memory = task.evaluate(jax.random.key(1), sample_of(sound[None]), task.memory)
    assert ended.valid[:, 0].tolist() == [True, False]
    np.testing.assert_allclose(ended.behavior[0, 0], outcome.behavior[0], atol=1e-4)
    np.testing.assert_allclose(ended.fitness[0, 0], -outcome.behavior[0, 0], atol=1e-4)  # asked to go left
    assert batch.counts[0].all()
    assert not batch.counts[1].any()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(batch))
    # What was seen is that of the sound one alone.
    seen = merge(no_moments(26), pooled)
    np.testing.assert_allclose(seen.mean, memory.mean, atol=2e-3)
