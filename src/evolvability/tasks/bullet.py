"""The paper's own tasks on its own simulator: `cheetah-bullet` and `ant-bullet`, PyBullet through Gymnasium.

Behavior is where the torso ends; it starts at the origin. PyBullet's ``robot.body_xyz`` is something else: the mean of
x and of y over every entry of ``robot.parts``, which lists each link, some of them twice, and the floor, which never
moves. Of a robot that moves by 1 m it says 16/17 m for the cheetah and 21/22 m for the ant.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from evolvability.core.errors import missing_extra
from evolvability.tasks.base import Task
from evolvability.tasks.directions import check_planar, heading
from evolvability.tasks.episodes import BodyPosition, Episode
from evolvability.tasks.gymnasium import Made, gymnasium_task
from evolvability.tasks.options import BulletOptions
from evolvability.tasks.policies import MakePolicy

NOTE = "Its wheels are for Linux on x86-64 and Python 3.11; elsewhere a compiler builds it in a quarter of an hour."


def cheetah_bullet(options: BulletOptions = BulletOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008
    """PyBullet's half-cheetah: 26 observations, 6 torques, 74,246 parameters; behavior is the torso's final x."""
    check_planar(options.direction, "cheetah")
    return _bullet("cheetah-bullet", "HalfCheetahBulletEnv-v0", "x", options, policy)


def ant_bullet(options: BulletOptions = BulletOptions(), policy: MakePolicy | None = None) -> Task:  # noqa: B008
    """PyBullet's ant: 28 observations, 8 torques, 75,272 parameters; behavior is the torso's final (x, y).

    An episode ends when the torso sinks below 0.26 m.
    """
    return _bullet("ant-bullet", "AntBulletEnv-v0", "xy", options, policy)


def _bullet(name: str, env: str, axes: str, options: BulletOptions, policy: MakePolicy | None) -> Task:
    return gymnasium_task(
        BulletMade(env, {}),
        options.gymnasium(),
        policy=policy,
        behavior=BodyPosition("torso", axes),
        fitness=partial(progress, heading(options.direction)),  # not a closure: it travels to workers
        name=name,
    )


@dataclass(frozen=True)
class BulletMade(Made):
    """Makes one of PyBullet's environments, with a time limit of ours alone."""

    def __call__(self) -> Any:
        """The environment."""
        try:
            import pybullet  # noqa: F401 (what the next line needs)
            import pybullet_envs_gymnasium  # noqa: F401 (registers the environments)
        except ModuleNotFoundError as error:
            raise missing_extra(f"PyBullet's environment '{self.env}'", error.name, "bullet", note=NOTE) from None
        # Unwrapped: Gymnasium's own wrapper would end episodes at the registered length.
        return super().__call__().unwrapped


def progress(forward: tuple[float, float], episode: Episode) -> float:
    """How far the torso came along a direction, a unit vector, in meters."""
    x, y = BodyPosition("torso")(episode)
    return float(forward[0] * x + forward[1] * y)
