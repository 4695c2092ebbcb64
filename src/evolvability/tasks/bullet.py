"""The paper's own tasks on its own simulator: `cheetah-bullet` and `ant-bullet`, PyBullet through Gymnasium.

Behavior is where the torso ends, ``robot.body_real_xyz``; it starts at the origin. PyBullet's ``body_xyz`` is something
else: the mean of x and of y over every entry of ``robot.parts``, which lists each link, some of them twice, and the
floor, which never moves. Of a robot that moves by 1 m it says 16/17 m for the cheetah and 21/22 m for the ant.
"""

from dataclasses import dataclass, fields
from typing import Any

from evolvability.core.errors import ConfigError
from evolvability.tasks.base import Task
from evolvability.tasks.gymnasium import Episode, GymnasiumOptions, Made, gymnasium_task
from evolvability.tasks.locomotion import heading
from evolvability.tasks.simulators import HostArray, Scope

INSTALL = "pip install 'evolvability-es[bullet]'"


@dataclass(frozen=True)
class BulletOptions:
    """Options of the PyBullet tasks."""

    num_steps: int = 1000
    """Control steps of an episode, 0.0165 s each."""
    num_episodes: int = 1
    """Episodes a member; behavior and fitness are their means."""
    direction: str = "right"
    """Where fitness points: right (+x), left (-x), or an angle from +x in degrees."""
    seeds_differ_by: Scope = "member"
    """Whether every member gets its own start, or all of a generation the same, or all of the run."""
    observation_share: float = 0.01
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: int = 256
    """Units in each of the network's two hidden layers."""

    def __post_init__(self) -> None:
        if self.num_steps < 1:
            raise ConfigError(f"num_steps must be 1 or more, got {self.num_steps}.")
        heading(self.direction)
        self.gymnasium()

    def gymnasium(self) -> GymnasiumOptions:
        """The same as options of a Gymnasium environment."""
        shared = {f.name for f in fields(GymnasiumOptions)}
        return GymnasiumOptions(**{f.name: getattr(self, f.name) for f in fields(self) if f.name in shared})


@dataclass(frozen=True)
class CheetahBulletOptions(BulletOptions):
    """Options of PyBullet's cheetah."""


@dataclass(frozen=True)
class AntBulletOptions(BulletOptions):
    """Options of PyBullet's ant."""


def cheetah_bullet(options: CheetahBulletOptions = CheetahBulletOptions()) -> Task:  # noqa: B008 (frozen)
    """PyBullet's half-cheetah: 26 observations, 6 torques, 74,246 parameters; behavior is the torso's final x."""
    if heading(options.direction)[1] != 0:
        raise ConfigError(f"direction: the cheetah runs right (0 degrees) or left (180), got {options.direction}.")
    return _bullet("cheetah-bullet", "HalfCheetahBulletEnv-v0", "x", options)


def ant_bullet(options: AntBulletOptions = AntBulletOptions()) -> Task:  # noqa: B008 (frozen)
    """PyBullet's ant: 28 observations, 8 torques, 75,272 parameters; behavior is the torso's final (x, y).

    An episode ends when the torso sinks below 0.26 m.
    """
    return _bullet("ant-bullet", "AntBulletEnv-v0", "xy", options)


def _bullet(name: str, env: str, axes: str, options: BulletOptions) -> Task:
    forward = heading(options.direction)
    return gymnasium_task(
        BulletMade(env, {}),
        options.gymnasium(),
        behavior=TorsoPosition(axes),
        fitness=TorsoProgress(forward),
        name=name,
        behavior_names=tuple(axes),
    )


@dataclass(frozen=True)
class BulletMade(Made):
    """Makes one of PyBullet's environments, with a time limit of ours alone."""

    def __call__(self) -> Any:
        """The environment."""
        try:
            import pybullet_envs_gymnasium  # noqa: F401 (registers the environments)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"PyBullet's tasks need the package '{error.name}', which is not installed. Install it with: {INSTALL}"
            ) from None
        return super().__call__().unwrapped


@dataclass(frozen=True)
class TorsoPosition:
    """Where the torso is in the end."""

    axes: str

    def __call__(self, episode: Episode) -> HostArray:
        """One coordinate, or two."""
        torso: HostArray = episode.env.robot.body_real_xyz[: len(self.axes)]
        return torso


@dataclass(frozen=True)
class TorsoProgress:
    """How far the torso came along a direction."""

    forward: tuple[float, float]

    def __call__(self, episode: Episode) -> float:
        """In meters."""
        x, y, _ = episode.env.robot.body_real_xyz
        return float(self.forward[0] * x + self.forward[1] * y)
