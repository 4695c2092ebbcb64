"""The paper's locomotion tasks, `cheetah` and `ant`: a robot driven by a network, its behavior where it ends up."""

import functools
import importlib.util
import warnings
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import ConfigError, install_line, missing_extra
from evolvability.core.types import Outcome, Sample
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import check_circumstances, rubs_by_pairs
from evolvability.tasks.directions import check_planar, heading
from evolvability.tasks.engines.base import Engine, host_replay
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.normalizer import Moments, merge, no_moments
from evolvability.tasks.options import AntOptions, EpisodeOptions, LocomotionOptions, RobotOptions
from evolvability.tasks.policies import MakePolicy, named_policy
from evolvability.tasks.replay import Stage
from evolvability.tasks.world import World


def cheetah(
    options: LocomotionOptions = LocomotionOptions(),  # noqa: B008 (frozen)
    policy: MakePolicy | None = None,
) -> Task:
    """The planar half-cheetah (section 5.2): 26 observations, 6 torques; behavior is its final x."""
    return driven(robot_of("cheetah", options), options, policy)


def ant(options: AntOptions = AntOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008 (frozen)
    """The four-legged ant (section 5.3): 28 observations, 8 torques; behavior is its final (x, y)."""
    return driven(robot_of("ant", options), options, policy)


def driven(robot: Any, options: EpisodeOptions, policy: MakePolicy | None = None) -> Task:
    """A robot as a task: networks drive it."""
    check_circumstances(options, robot)
    _check_start(robot, options)
    networks = family_of(policy or named_policy(options), robot.num_observations, robot.num_motors)
    engine = _engine(robot, networks, options)
    number = len(robot.behavior)
    if number == 1:
        check_planar(options.direction, robot.name)
    forward = jnp.zeros(number).at[:2].set(jnp.array(heading(options.direction)[:number]))

    def evaluate(key: Array, sample: Sample, memory: Moments) -> tuple[Outcome, Moments]:
        done = engine.run(key, sample, memory)
        # Not `outcome`: the engine tells who broke down, by bounds far narrower than that function's.
        return Outcome(done.behavior, done.behavior @ forward, done.valid, done.num_steps), done.seen

    def world() -> World:
        _require_warp("Episodes that are followed step by step")
        from evolvability.tasks.engines.device import device_world

        return device_world(robot, networks, options)

    return Task(
        robot.name,
        robot.behavior,
        networks.init,
        evaluate,
        memory=no_moments(robot.num_observations),
        varies=options.varies,
        remember=merge,
        on_host=engine.on_host,
        engine=engine.name,
        stage=Stage(engine.replay, robot.control_step, engine.name.partition(",")[0], robot.model, robot),
        world=world,
        unflatten=networks.unflatten,
        shapes=networks.shapes,
        network=networks,
        actions=robot.actions,
    )


def _check_start(robot: Any, options: EpisodeOptions) -> None:
    """Refuse heights that a robot of one's own does not start in."""
    if not isinstance(options, RobotOptions) or not options.early_termination:
        return
    low, high = options.min_height, options.max_height or np.inf
    height = float(robot.torso(robot.start, np.zeros(robot.model.nv)).position[2])
    if (low or options.max_height) and not low <= height <= high:
        text = f"Episodes of the {robot.name} would be over where they start: its root is at {height:.3g} m"
        raise ConfigError(
            f"{text}, not between min_height ({low:g}) and max_height ({high:g}). Change these, or start."
        )


def robot_of(name: str, options: LocomotionOptions) -> Any:
    """The robot of a locomotion task."""
    try:
        from evolvability.tasks.robots.paper import ROBOTS
    except ModuleNotFoundError as error:
        raise missing_extra(f"Task '{name}'", error.name, "locomotion") from None
    return ROBOTS[name](options.body, (options.solver_iterations, options.solver_line_search_iterations))


def _engine(robot: Any, networks: NetworkFamily, options: EpisodeOptions) -> Engine:
    """The engine that is asked for, or the faster one where it can be."""
    if options.engine == "fused":
        _require_warp("The engine fused")
    reasons = obstacles(robot)
    if options.friction and rubs_by_pairs(robot.model):
        reasons += ("It has contacts of <pair>, whose friction a compiled program cannot vary.",)
    if options.engine == "mujoco" or importlib.util.find_spec("warp") is None or reasons:
        if options.engine == "auto":
            warnings.warn(_slower(robot, reasons), stacklevel=2)
        elif options.engine == "fused":
            raise ConfigError(f"The {robot.name} is not compiled. {' '.join(reasons)}")
        from evolvability.tasks.engines.mujoco import mujoco_engine

        return mujoco_engine(robot, networks, options)
    from evolvability.tasks.engines.cores import cores_engine, cores_episodes
    from evolvability.tasks.engines.device import device_engine
    from evolvability.tasks.engines.network_text import is_compiled
    from evolvability.tasks.robots.tracing import outside

    if aside := outside(robot):
        what = " and ".join(f"its {name} ({reason})" for name, reason in aside.items())
        text = f"Of the {robot.name}, {what} cannot be compiled, and is computed by JAX beside it, which is slower."
        warnings.warn(text, stacklevel=2)
    if aside or not is_compiled(networks):
        return device_engine(robot, networks, options)
    # Several devices or processes run one compiled program; on one CPU its cores are called from Python.
    if options.threads or (jax.default_backend() == "cpu" and jax.device_count() == 1):
        return cores_engine(robot, networks, options)
    replay = host_replay(robot, options, cores_episodes(robot, networks, options))
    return replace(device_engine(robot, networks, options), replay=replay)


@functools.cache
def obstacles(robot: Any) -> tuple[str, ...]:
    """Why a robot cannot be compiled; empty where it can."""
    if robot.links:  # the paper's robots: they were made to be
        return ()
    from mujoco_fused import FusedError, needs_double, num_watched, unsupported

    found = unsupported(robot.model)
    try:
        num_watched(robot.model, robot.watched)
    except FusedError as error:
        found.append(str(error))
    if not found and needs_double(robot.model):
        found.append("It has contacts with less friction than 0.2, for which float32 has too few digits.")
    from evolvability.tasks.robots.tracing import beyond_jax

    aside = beyond_jax(robot).items()
    return (*found, *(f"Its {name} can be computed neither by it nor by JAX ({reason})." for name, reason in aside))


def _slower(robot: Any, reasons: tuple[str, ...]) -> str:
    """Why MuJoCo's library steps a robot, and what would be faster."""
    if importlib.util.find_spec("warp") is None:
        text = "MuJoCo's library steps the robots; with warp-lang they are several times faster. Install it with:"
        return f"{text} {install_line('warp')}"
    text = f"MuJoCo's library steps the {robot.name}, as it cannot be compiled, which is several times faster."
    return f"{text} {' '.join(reasons)}"


def _require_warp(what: str) -> None:
    if importlib.util.find_spec("warp") is None:
        raise missing_extra(what, "warp-lang", "warp")
