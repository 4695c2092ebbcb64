"""What differs between a robot's episodes: drawn from the episode's key alone, and the same in every engine."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.stats import kstest

from evolvability import Circumstances, ConfigError, Sample, Task, make_task
from evolvability.core.noise import rows
from evolvability.tasks.base import with_episodes, world_of
from evolvability.tasks.engines.base import host_replay
from evolvability.tasks.engines.drawing import Drawn, draw
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.normalizer import no_moments
from evolvability.tasks.options import LocomotionOptions
from evolvability.tasks.policies import mlp
from evolvability.tasks.robots.observations import slowed, touching
from evolvability.tasks.robots.paper import ROBOTS
from evolvability.tasks.robots.robot import Robot
from tests.conftest import mutations_for

KEY = jax.random.key(5)
NUM_STEPS, HIDDEN = 30, 16
NONE: dict[str, Any] = {"push": 1e-30, "friction": 1e-30, "mass": 1e-30, "motor_strength": 1e-30, "slope": 1e-30}
"""So little that it is nothing; but then one compiled program serves all tests."""
CASES: dict[str, Any] = {
    "start_noise": 0.2,
    "push": 2.0,
    "friction": 0.9,
    "mass": 0.5,
    "motor_strength": 0.5,
    "failed_motors": 2,
    "slope": 15.0,
}
names = pytest.mark.parametrize("name", ["cheetah", "ant"])


def task(name: str, **options: Any) -> Task:
    settings = {"num_steps": NUM_STEPS, "hidden": HIDDEN, "early_termination": False, "threads": 1, "engine": "mujoco"}
    return make_task(name, settings | options)


def sample_for(task: Task, num_members: int = 4) -> Sample:
    return mutations_for(task, num_members)


def poses(task: Task, sample: Sample) -> Any:
    assert task.stage
    assert task.stage.replay
    return task.stage.replay(KEY, sample, task.memory).poses


def edited_by_hand(robot: Robot, name: str, drawn: Drawn, row: int) -> mujoco.MjModel:
    """A copy of the native model with one circumstance of one episode."""
    model = copy.copy(robot.model)
    if name == "friction":
        model.geom_friction[:, 0] = drawn.physics["friction"][row]
    elif name == "mass":
        factor = drawn.physics["mass"][row][1] / model.body_mass[1]
        model.body_mass *= factor
        model.body_inertia *= factor
    elif name in ("motor_strength", "failed_motors"):
        model.actuator_gear[:, 0] = drawn.physics["gear"][row]
    elif name == "slope":
        model.opt.gravity[:] = drawn.physics["gravity"][row]
    return model


def networks_of(robot: Robot) -> NetworkFamily:
    return family_of(mlp((HIDDEN, HIDDEN)), robot.num_observations, robot.num_motors)


def poses_by_hand(robot: Robot, name: str, sample: Sample, drawn: Drawn) -> Any:
    """Episodes stepped one by one, by MuJoCo alone."""
    policy, parameters = networks_of(robot), np.asarray(sample.members())
    found = []
    for row in range(len(parameters)):
        model = edited_by_hand(robot, name, drawn, row)
        data, contacts = mujoco.MjData(model), np.zeros(robot.num_links)
        data.qpos[:] = drawn.qpos[row]
        data.qvel[:] = 0 if drawn.qvel is None else drawn.qvel[row]
        states = [data.qpos.copy()]
        for _ in range(NUM_STEPS):
            seen = robot.look(robot.view(data.qpos, data.qvel, contacts))
            data.ctrl[:] = np.clip(policy.apply(parameters[row], np.asarray(seen, np.float32))[0], -1, 1)
            mujoco.mj_step(model, data, robot.steps_per_control)
            data.qvel[:] = slowed(robot, data.qpos, data.qvel)
            contacts = touching(robot, data.sensordata)
            states.append(data.qpos.copy())
        found.append(states)
    return np.array(found)


@names
@pytest.mark.parametrize("circumstance", CASES)
def test_every_circumstance_is_the_same_in_compiled_native_and_hand_edited_physics(
    name: str, circumstance: str
) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    options = NONE | {circumstance: CASES[circumstance]}
    native = task(name, **options)
    sample = sample_for(native)
    robot, still = ROBOTS[name](), task(name)
    key_start, _ = jax.random.split(KEY)
    drawn = draw(sample.member_keys(key_start), robot, LocomotionOptions(**options))
    expected = poses_by_hand(robot, circumstance, sample, drawn)
    np.testing.assert_allclose(poses(native, sample), expected, atol=1e-5)
    np.testing.assert_allclose(poses(task(name, engine="fused", **options), sample), expected, atol=1e-3)
    if name == "cheetah":
        np.testing.assert_allclose(in_double(robot, options, sample), expected, atol=1e-5)
    assert (np.abs(poses(still, sample) - expected).max(axis=(1, 2)) > 5e-3).all()


def in_double(robot: Robot, options: dict[str, Any], sample: Sample) -> Any:
    """Poses by the compiled episode in double precision."""
    from mujoco_fused import DOUBLE

    from evolvability.tasks.engines.cores import cores_episodes

    settings = LocomotionOptions(num_steps=NUM_STEPS, hidden=HIDDEN, **options)
    replay = host_replay(robot, settings, cores_episodes(robot, networks_of(robot), settings, DOUBLE))
    return replay(KEY, sample, no_moments(robot.num_observations)).poses


@names
def test_compiled_programs_and_worlds_step_under_all_circumstances_as_native_mujoco(name: str) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    native = task(name, **CASES)
    sample = sample_for(native)
    expected = native.evaluate(KEY, sample, native.memory)[0].behavior
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "device_count", lambda: 2)
        compiled = task(name, engine="fused", threads=0, **CASES)
    assert not compiled.on_host
    outcome = jax.jit(compiled.evaluate)(KEY, sample, compiled.memory)[0]
    np.testing.assert_allclose(outcome.behavior, expected, atol=1e-3)
    world = world_of(compiled)
    now, networks = world.begin(sample.member_keys(jax.random.split(KEY)[0])), world.networks.build(sample)
    advance = jax.jit(lambda now: world.advance(now, world.networks.act(networks, now.observation, ())[0]))
    for _ in range(NUM_STEPS):
        now = advance(now)
    np.testing.assert_allclose(now.position, outcome.behavior, atol=1e-5)


def drawn_for(name: str, number: int = 4000, **circumstances: Any) -> Drawn:
    keys = jax.random.split(jax.random.key(9), number)
    return jax.tree.map(np.asarray, draw(keys, ROBOTS[name](), Circumstances(**circumstances)))


def is_uniform(values: Any, low: float, high: float) -> bool:
    """Whether numbers look as if they were drawn between two others, by Kolmogorov and Smirnov's test."""
    return bool(kstest((values - low) / (high - low), "uniform").pvalue > 1e-3)


@names
def test_draws_have_the_stated_distributions(name: str) -> None:
    robot = ROBOTS[name]()
    drawn = drawn_for(name, **CASES)
    own, joints = robot.parameters, robot.num_joints
    assert is_uniform((drawn.qpos - robot.start)[:, -joints:].ravel(), -0.2, 0.2)
    np.testing.assert_array_equal(drawn.qpos[:, :-joints], np.tile(robot.start[:-joints], (4000, 1)))
    factors = drawn.physics["friction"] / own["friction"]
    assert is_uniform(factors[:, 0], 0.1, 1.9)
    np.testing.assert_allclose(factors, np.tile(factors[:, :1], factors.shape[1]), rtol=1e-6)
    factors = drawn.physics["mass"][:, 1:] / own["mass"][1:]
    assert is_uniform(factors[:, 0], 0.5, 1.5)
    np.testing.assert_allclose(factors, np.tile(factors[:, :1], factors.shape[1]), rtol=1e-6)
    factors = drawn.physics["gear"] / own["gear"]
    np.testing.assert_array_equal((factors == 0).sum(axis=1), 2)
    np.testing.assert_allclose((factors == 0).mean(axis=0), 2 / joints, atol=0.03)
    assert is_uniform(factors[factors > 0], 0.5, 1.5)
    assert np.abs(np.corrcoef(drawn_for(name, motor_strength=0.5).physics["gear"].T) - np.eye(joints)).max() < 0.1


@names
def test_pushes_and_slopes_have_random_directions_along_the_ground(name: str) -> None:
    robot = ROBOTS[name]()
    drawn, number = drawn_for(name, push=2.0, slope=15.0), len(robot.behavior)
    assert drawn.qvel is not None
    gravity = drawn.physics["gravity"]
    size = np.linalg.norm(robot.model.opt.gravity)
    np.testing.assert_allclose(np.linalg.norm(gravity, axis=1), size, rtol=1e-6)
    tilt = np.rad2deg(np.arctan2(np.linalg.norm(gravity[:, :2], axis=1), -gravity[:, 2]))
    assert is_uniform(tilt, 0, 15)
    assert is_uniform(np.linalg.norm(drawn.qvel, axis=1), 0, 2)
    assert not drawn.qvel[:, number:].any()
    assert not gravity[:, number:2].any()
    for along in (drawn.qvel[:, :number], gravity[:, :number]):
        if number == 2:
            assert is_uniform(np.arctan2(along[:, 1], along[:, 0]), -np.pi, np.pi)
        else:
            assert abs(np.mean(along > 0) - 0.5) < 0.03
    # The two have nothing to do with each other.
    assert abs(np.corrcoef(drawn.qvel[:, 0], gravity[:, 0])[0, 1]) < 0.06


def test_draws_are_functions_of_an_episodes_key_alone() -> None:
    robot, everything = ROBOTS["ant"](), Circumstances(**CASES)
    keys = jax.random.split(jax.random.key(1), 8)
    whole = draw(keys, robot, everything)
    part = draw(keys[jnp.array([6, 2])], robot, everything)
    jax.tree.map(lambda one, other: np.testing.assert_array_equal(one[jnp.array([6, 2])], other), whole, part)
    alone = draw(keys, robot, Circumstances(friction=CASES["friction"]))
    np.testing.assert_array_equal(alone.physics["friction"], whole.physics["friction"])
    assert len(np.unique(whole.physics["friction"][:, 0])) == len(keys)
    # Start poses are those of runs from before there were other circumstances.
    offsets = jax.vmap(lambda key: jax.random.uniform(key, (8,), minval=-0.2, maxval=0.2))(keys)
    np.testing.assert_array_equal(whole.qpos[:, -8:], jnp.asarray(robot.start[-8:], jnp.float32) + offsets)


@names
def test_nothing_is_given_where_nothing_varies(name: str) -> None:
    robot = ROBOTS[name]()
    drawn = draw(jax.random.split(KEY, 3), robot, Circumstances())
    assert [leaf.shape for leaf in jax.tree.leaves(drawn)] == [(3, robot.model.nq)]
    assert not task(name).varies
    assert all(task(name, **{circumstance: value}).varies for circumstance, value in CASES.items())


def test_motors_that_have_failed_do_nothing() -> None:
    broken = task("cheetah", failed_motors=6)
    sample = sample_for(broken)
    limp = sample._replace(center=jnp.zeros_like(sample.center), noise=jnp.zeros_like(rows(sample.noise)))
    assert np.abs(poses(task("cheetah"), sample) - poses(broken, sample)).max() > 0.1
    np.testing.assert_array_equal(poses(broken, sample), poses(task("cheetah"), limp))


def test_episodes_of_a_member_differ_and_chunks_do_not_change_them() -> None:
    twice = with_episodes(task("cheetah", **CASES), 2)
    sample = sample_for(twice, 8)
    whole = twice.evaluate(KEY, sample, twice.memory)[0]
    episodes: Any = whole.episodes
    assert (np.abs(episodes[:, 0] - episodes[:, 1]) > 1e-3).all()
    part: Any = twice.evaluate(KEY, sample.of_draws(slice(2, 4)), twice.memory)[0].episodes
    np.testing.assert_allclose(part, episodes[4:], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"friction": 1.0}, "friction must be a share, 0 or more and less than 1, got 1.0"),
        ({"mass": float("nan")}, "mass must be a finite number"),
        ({"motor_strength": -0.1}, "motor_strength must be a share"),
        ({"slope": 90.0}, "slope must be an angle in degrees, 0 or more and less than 90, got 90.0"),
        ({"push": -1.0}, "push must be 0 or more, got -1.0"),
        ({"failed_motors": -1}, "failed_motors must be 0 or more"),
        ({"failed_motors": 7}, r"failed_motors must be 6 or less \(the cheetah has 6 motors\), got 7"),
    ],
)
def test_circumstances_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        task("cheetah", **options)
