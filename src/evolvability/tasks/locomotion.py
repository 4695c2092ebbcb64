"""The paper's locomotion tasks, `cheetah` and `ant`: a robot driven by a network, its behavior where it ends up."""

import importlib.util
import warnings
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import install_line, missing_extra
from evolvability.core.types import Outcome, Sample
from evolvability.tasks.actions import clipped
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import check_motors
from evolvability.tasks.directions import check_planar, heading
from evolvability.tasks.engines.base import TORQUE_LIMIT, Engine
from evolvability.tasks.normalizer import Moments, merge, no_moments
from evolvability.tasks.options import AntOptions, LocomotionOptions
from evolvability.tasks.policies import Policy, mlp
from evolvability.tasks.replay import Replay, Stage
from evolvability.tasks.world import World


def cheetah(options: LocomotionOptions = LocomotionOptions()) -> Task:  # noqa: B008 (frozen)
    """The planar half-cheetah (section 5.2): 26 observations, 6 torques; behavior is its final x."""
    check_planar(options.direction)
    return _locomotion("cheetah", options)


def ant(options: AntOptions = AntOptions()) -> Task:  # noqa: B008 (frozen)
    """The four-legged ant (section 5.3): 28 observations, 8 torques; behavior is its final (x, y)."""
    return _locomotion("ant", options)


def _locomotion(name: str, options: LocomotionOptions) -> Task:
    robot = robot_of(name, options)
    check_motors(options, robot)
    policy = policy_of(robot, options)
    engine, replay = _engine(robot, policy, options)
    forward = jnp.array(heading(options.direction)[: len(robot.behavior)])

    def evaluate(key: Array, sample: Sample, memory: Moments) -> tuple[Outcome, Moments]:
        done = engine.run(key, sample, memory)
        # Not `outcome`: the engine tells who broke down, by bounds far narrower than that function's.
        return Outcome(done.displacement, done.displacement @ forward, done.valid, done.num_steps), done.seen

    def world() -> World:
        _require_warp("Episodes that are followed step by step")
        from evolvability.tasks.engines.device import device_world

        return device_world(robot, policy, options)

    return Task(
        name,
        robot.behavior,
        policy.init,
        evaluate,
        memory=no_moments(robot.num_observations),
        varies=options.varies,
        remember=merge,
        on_host=engine.on_host,
        engine=engine.name,
        stage=Stage(replay, robot.control_step, engine.name.partition(",")[0], robot.model, robot),
        world=world,
        shapes=policy.shapes,
        actions=clipped(robot.num_joints, TORQUE_LIMIT),
    )


def robot_of(name: str, options: LocomotionOptions) -> Any:
    """The robot of a locomotion task."""
    try:
        from evolvability.tasks.robots import ROBOTS, SolverSettings
    except ModuleNotFoundError as error:
        raise missing_extra(f"Task '{name}'", error.name, "locomotion") from None
    return ROBOTS[name](options.body, SolverSettings(options.solver_iterations, options.solver_line_search_iterations))


def policy_of(robot: Any, options: LocomotionOptions) -> Policy:
    """The networks that drive it."""
    return mlp((robot.num_observations, options.hidden, options.hidden, robot.num_joints))


def _engine(robot: Any, policy: Any, options: LocomotionOptions) -> tuple[Engine, Replay]:
    """The engine that is asked for, or the faster one where it is installed; and members watched again, on the CPU."""
    if options.engine == "fused":
        _require_warp("The engine fused")
    if options.engine == "mujoco" or importlib.util.find_spec("warp") is None:
        if options.engine == "auto":
            text = "MuJoCo's library steps the robots; with warp-lang they are several times faster. Install it with:"
            warnings.warn(f"{text} {install_line('warp')}", stacklevel=2)
        from evolvability.tasks.engines.mujoco import mujoco_engine, mujoco_replay

        return mujoco_engine(robot, policy, options), mujoco_replay(robot, policy, options)
    from evolvability.tasks.engines.cores import cores_engine, cores_replay

    replay = cores_replay(robot, policy, options)
    # Several devices or processes run one compiled program; on one CPU its cores are called from Python.
    if options.threads or (jax.default_backend() == "cpu" and jax.device_count() == 1):
        return cores_engine(robot, policy, options), replay
    from evolvability.tasks.engines.device import device_engine

    return device_engine(robot, policy, options), replay


def _require_warp(what: str) -> None:
    if importlib.util.find_spec("warp") is None:
        raise missing_extra(what, "warp-lang", "warp")
