"""The paper's locomotion tasks, `cheetah` and `ant`: a robot driven by a network, its behavior where it ends up."""

import contextlib
import importlib
import importlib.util
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.types import Outcome, Sample
from evolvability.tasks.base import Task
from evolvability.tasks.engines.base import Engine, EpisodeOptions
from evolvability.tasks.normalizer import Moments, merge, no_moments
from evolvability.tasks.policies import Policy, mlp
from evolvability.tasks.replay import Stage
from evolvability.tasks.world import World

if TYPE_CHECKING:
    from evolvability.tasks.robots import Robot

INSTALL = "pip install 'evolvability-es[locomotion]'"


def heading(direction: str) -> tuple[float, float]:
    """The unit vector of a direction.

    >>> heading("left"), heading("90")
    ((-1.0, 0.0), (0.0, 1.0))
    """
    try:
        radians = math.radians(float({"right": "0", "left": "180"}.get(direction, direction)))
    except ValueError:
        raise ConfigError(f"direction must be right, left or an angle in degrees, got '{direction}'.") from None
    # Rounded: the sine of 180 degrees is a little more than zero.
    return round(math.cos(radians), 12) + 0.0, round(math.sin(radians), 12) + 0.0


@dataclass(frozen=True)
class LocomotionOptions:
    """Options of the locomotion tasks."""

    num_steps: int = 1000
    """Control steps of an episode, 0.0165 s each."""
    engine: Literal["auto", "mjx", "mujoco"] = "auto"
    """What steps the physics: mjx (accelerators) or mujoco (CPU cores); auto picks by what it finds."""
    mjx_implementation: Literal["auto", "jax", "warp"] = "auto"
    """What the engine mjx computes with: jax or warp; auto picks warp, the faster, on an NVIDIA GPU that has it."""
    direction: str = "right"
    """Where fitness points: right (+x), left (-x), or an angle from +x in degrees."""
    early_termination: bool = False
    """End an episode when the robot falls; its behavior is where that happened."""
    start_noise: float = 0.0
    """Joint angles at the start vary by up to this much, in radians; 0 makes episodes deterministic."""
    observation_share: float = 0.01
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: int = 256
    """Units in each of the network's two hidden layers."""
    solver_iterations: int = 4
    """Iterations of the physics' constraint solver, at most."""
    solver_line_search_iterations: int = 8
    """Line-search iterations in each of them, at most."""
    threads: int = 0
    """CPU threads of the engine mujoco; 0 for all cores."""

    def __post_init__(self) -> None:
        for name, low in (("num_steps", 1), ("hidden", 1), ("threads", 0), ("start_noise", 0)):
            if getattr(self, name) < low:
                raise ConfigError(f"{name} must be {low} or more, got {getattr(self, name)}.")
        if not 0 <= self.observation_share <= 1:
            raise ConfigError(f"observation_share must be between 0 and 1, got {self.observation_share}.")
        heading(self.direction)


@dataclass(frozen=True)
class CheetahOptions(LocomotionOptions):
    """Options of the cheetah."""


@dataclass(frozen=True)
class AntOptions(LocomotionOptions):
    """Options of the ant."""

    early_termination: bool = True
    """End an episode when the torso leaves the heights of 0.26 m to 1 m; its behavior is where that happened."""


def cheetah(options: CheetahOptions = CheetahOptions()) -> Task:  # noqa: B008 (frozen)
    """The planar half-cheetah (section 5.2): 26 observations, 6 torques; behavior is its final x."""
    if heading(options.direction)[1] != 0:
        raise ConfigError(f"direction: the cheetah runs right (0 degrees) or left (180), got {options.direction}.")
    return _locomotion("cheetah", options)


def ant(options: AntOptions = AntOptions()) -> Task:  # noqa: B008 (frozen)
    """The four-legged ant (section 5.3): 28 observations, 8 torques; behavior is its final (x, y)."""
    return _locomotion("ant", options)


def _locomotion(name: str, options: LocomotionOptions) -> Task:
    try:
        from evolvability.tasks.robots import ROBOTS, Solver, check_solver
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Task '{name}' needs a physics simulator, and '{error.name}' is not installed. Install it with: {INSTALL}"
        ) from None
    robot = ROBOTS[name](check_solver(Solver(options.solver_iterations, options.solver_line_search_iterations)))
    policy = mlp((robot.num_observations, options.hidden, options.hidden, robot.num_joints))
    episodes = EpisodeOptions(
        options.num_steps, options.early_termination, options.start_noise, options.observation_share
    )
    engine = _engine(robot, policy, episodes, options)
    forward = jnp.array(heading(options.direction)[: len(robot.behavior)])

    def evaluate(key: Array, sample: Sample, memory: Moments) -> tuple[Outcome, Moments]:
        done = engine.run(key, sample, memory)
        fitness = done.displacement @ forward
        outcome = Outcome(done.displacement, fitness, done.valid, done.num_steps)
        return outcome, done.seen

    return Task(
        name,
        robot.behavior,
        policy.init,
        evaluate,
        memory=no_moments(robot.num_observations),
        remember=merge,
        on_host=engine.on_host,
        engine=engine.name,
        stage=_stage(robot, policy, episodes),
        world=lambda: _world(robot, policy, episodes, options),
        shapes=policy.shapes,
    )


def _stage(robot: "Robot", policy: Policy, episodes: EpisodeOptions) -> Stage:
    """Members are watched in native MuJoCo, whatever evaluates them: a few at a time is what it is good at."""
    from evolvability.tasks.engines.mujoco import mujoco_replay
    from evolvability.tasks.robots import STEPS_PER_CONTROL, TIME_STEP

    replay = mujoco_replay(robot, policy, episodes)
    return Stage(replay, STEPS_PER_CONTROL * TIME_STEP, "mujoco", robot.model)


def _engine(robot: "Robot", policy: Policy, episodes: EpisodeOptions, options: LocomotionOptions) -> Engine:
    """The engine that is asked for, or the one that suits the machine."""
    chosen = options.engine
    if chosen == "auto":
        chosen = "mujoco" if jax.default_backend() == "cpu" and jax.process_count() == 1 else "mjx"
    if chosen == "mujoco":
        from evolvability.tasks.engines.mujoco import mujoco_engine

        return mujoco_engine(robot, policy, episodes, options.threads)
    engine: Engine = _mjx().mjx_engine(robot, policy, episodes, _implementation(options))
    return engine


def _world(robot: "Robot", policy: Policy, episodes: EpisodeOptions, options: LocomotionOptions) -> World:
    """The robot's episodes step by step, which only MJX can give, whatever evaluates members."""
    world: World = _mjx().mjx_world(robot, policy, episodes, _implementation(options))
    return world


def _mjx() -> Any:
    """The module of the engine mjx."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # MJX prints what it does without
            return importlib.import_module("evolvability.tasks.engines.mjx")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The engine mjx needs the package '{error.name}', which is not installed. Install it with: {INSTALL}"
        ) from None


def _implementation(options: LocomotionOptions) -> str:
    """What MJX computes with."""
    if options.mjx_implementation != "auto":
        return options.mjx_implementation
    has_warp = importlib.util.find_spec("warp") is not None
    return "warp" if has_warp and jax.default_backend() == "gpu" else "jax"
