"""The paper's locomotion tasks, `cheetah` and `ant`: a robot driven by a network, its behavior where it ends up."""

import contextlib
import importlib
import io
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import missing_extra
from evolvability.core.types import Outcome, Sample
from evolvability.tasks.actions import clipped
from evolvability.tasks.base import Task
from evolvability.tasks.engines.base import TORQUE_LIMIT, AntOptions, Engine, LocomotionOptions
from evolvability.tasks.goals import check_planar, heading
from evolvability.tasks.normalizer import Moments, merge, no_moments
from evolvability.tasks.policies import mlp
from evolvability.tasks.replay import Stage


def cheetah(options: LocomotionOptions = LocomotionOptions()) -> Task:  # noqa: B008 (frozen)
    """The planar half-cheetah (section 5.2): 26 observations, 6 torques; behavior is its final x."""
    check_planar(options.direction)
    return _locomotion("cheetah", options)


def ant(options: AntOptions = AntOptions()) -> Task:  # noqa: B008 (frozen)
    """The four-legged ant (section 5.3): 28 observations, 8 torques; behavior is its final (x, y)."""
    return _locomotion("ant", options)


def _locomotion(name: str, options: LocomotionOptions) -> Task:
    try:
        from evolvability.tasks.engines.mujoco import mujoco_replay
        from evolvability.tasks.robots import ROBOTS, STEPS_PER_CONTROL, TIME_STEP, Solver
    except ModuleNotFoundError as error:
        raise missing_extra(f"Task '{name}'", error.name, "locomotion") from None
    robot = ROBOTS[name](Solver(options.solver_iterations, options.solver_line_search_iterations))
    policy = mlp((robot.num_observations, options.hidden, options.hidden, robot.num_joints))
    engine = _engine(robot, policy, options)
    forward = jnp.array(heading(options.direction)[: len(robot.behavior)])

    def evaluate(key: Array, sample: Sample, memory: Moments) -> tuple[Outcome, Moments]:
        done = engine.run(key, sample, memory)
        # Not `outcome`: the engine tells who broke down, by bounds far narrower than that function's.
        return Outcome(done.displacement, done.displacement @ forward, done.valid, done.num_steps), done.seen

    return Task(
        name,
        robot.behavior,
        policy.init,
        evaluate,
        memory=no_moments(robot.num_observations),
        remember=merge,
        on_host=engine.on_host,
        engine=engine.name,
        # Members are watched in native MuJoCo, whatever evaluates them: a few at a time is what it is good at.
        stage=Stage(mujoco_replay(robot, policy, options), STEPS_PER_CONTROL * TIME_STEP, "mujoco", robot.model),
        # Step by step only MJX can go, whatever evaluates members.
        world=lambda: _mjx().mjx_world(robot, policy, options),
        shapes=policy.shapes,
        actions=clipped(robot.num_joints, TORQUE_LIMIT),
    )


def _engine(robot: Any, policy: Any, options: LocomotionOptions) -> Engine:
    """The engine that is asked for, or the one that suits the machine."""
    chosen = options.engine
    if chosen == "auto":
        # Several processes run one compiled program, and native MuJoCo is called from Python.
        chosen = "mujoco" if jax.default_backend() == "cpu" and jax.process_count() == 1 else "mjx"
    if chosen == "mujoco":
        from evolvability.tasks.engines.mujoco import mujoco_engine

        return mujoco_engine(robot, policy, options)
    engine: Engine = _mjx().mjx_engine(robot, policy, options)
    return engine


def _mjx() -> Any:
    """The module of the engine mjx."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # MJX prints what it does without
            return importlib.import_module("evolvability.tasks.engines.mjx")
    except ModuleNotFoundError as error:
        raise missing_extra("The engine mjx", error.name, "locomotion") from None
