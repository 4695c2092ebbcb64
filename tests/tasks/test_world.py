"""Worlds: what is asked in them, and that they step the same robots as the engines do."""

import jax
import jax.numpy as jnp
import numpy as np

from evolvability import make_task
from evolvability.core.types import written_out
from evolvability.methods.rollouts import Actor, roll_out
from evolvability.tasks.base import world_of
from evolvability.tasks.normalizer import merge, no_moments
from evolvability.tasks.world import directions, points


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
    batch, ended = run(actors)
    outcome, memory = task.evaluate(jax.random.key(1), written_out(sound[None]), task.memory)
    assert ended.valid[:, 0].tolist() == [True, False]
    np.testing.assert_allclose(ended.position[0, 0], outcome.behavior[0], atol=1e-4)
    np.testing.assert_allclose(ended.total[0, 0], -outcome.behavior[0, 0], atol=1e-4)  # asked to go left
    assert batch.counts[0].all()
    assert not batch.counts[1].any()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(batch))
    # What was seen is that of the sound one alone.
    seen = merge(no_moments(26), ended.seen)
    np.testing.assert_allclose(seen.mean, memory.mean, atol=2e-3)
