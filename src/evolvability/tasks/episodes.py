"""Episodes of Gymnasium environments, and what can be measured of one: behaviors and fitness, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError, TaskError
from evolvability.tasks.own_code import imported
from evolvability.tasks.replay import HostArray

OWN_MEASURE = "a function of an Episode"


@dataclass
class Episode:
    """An episode that has ended, for functions that say what its behavior or fitness was."""

    env: Any
    """The environment, as the episode left it."""
    observations: list[HostArray]
    """All observations, the first from reset."""
    info: dict[str, Any]
    """The info of the last step."""
    rewards: list[float] = field(default_factory=list)
    """The reward of each step."""
    terminated: bool = False
    """Whether the environment's own end was reached."""
    truncated: bool = False
    """Whether time ran out."""


Measure = Callable[[Episode], Any]  # from an episode to its behavior, or its fitness: a number or a vector


def named_behavior(text: str) -> Measure:
    """A behavior by its name on the command line.

    >>> named_behavior("info:x_position,y_position")
    FinalInfo(names=('x_position', 'y_position'))
    """
    kind, _, rest = text.partition(":")
    if kind == "observation":
        try:
            return FinalObservation(tuple(map(int, rest.split(","))) if rest else None)
        except ValueError:
            raise ConfigError(f"behavior: whole numbers are expected after observation:, got '{rest}'.") from None
    if kind == "info" and rest:
        return FinalInfo(tuple(rest.split(",")))
    if kind == "body" and rest:
        body, _, axes = rest.rpartition(".")
        # A body's own name may have a dot in it.
        return BodyPosition(body, axes) if body and set(axes) <= set("xyz") else BodyPosition(rest)
    if kind and rest:
        return imported(text, OWN_MEASURE)
    raise ConfigError(
        f"behavior: observation, observation:0,2, info:KEY, body:NAME.xy or module:function is expected, got '{text}'."
    )


def named_fitness(text: str) -> Measure:
    """A fitness by its name on the command line."""
    return total_reward if text == "reward" else imported(text, OWN_MEASURE)


def total_reward(episode: Episode) -> float:
    """The sum of rewards until the environment ended the episode or time ran out."""
    return float(np.sum(episode.rewards))


# The measures below are classes, not closures, so that they have names and travel to workers.


@dataclass(frozen=True)
class FinalObservation:
    """Entries of the last observation; default: all of them."""

    entries: tuple[int, ...] | None = None
    """Which entries, counted from 0; None for all."""

    @property
    def names(self) -> tuple[str, ...]:
        """For the axes of figures."""
        # None for all entries: only an observation tells how many there are.
        return tuple(f"observation {j}" for j in self.entries or ())

    def __call__(self, episode: Episode) -> HostArray:
        """The entries."""
        last = np.ravel(episode.observations[-1])
        if self.entries is None:
            return last
        if max(self.entries) >= len(last):
            raise TaskError(f"behavior: there is no entry {max(self.entries)} in an observation of {len(last)}.")
        return last[list(self.entries)]


@dataclass(frozen=True)
class FinalInfo:
    """Entries of the last step's info."""

    names: tuple[str, ...]
    """The names of the entries."""

    def __call__(self, episode: Episode) -> HostArray:
        """The entries, one after another."""
        for name in self.names:
            if name not in episode.info:
                known = ", ".join(episode.info) or "nothing"
                raise TaskError(f"behavior: the environment's info has no '{name}'. It has: {known}.")
        return np.concatenate([np.ravel(episode.info[name]) for name in self.names])


@dataclass(frozen=True)
class BodyPosition:
    """Where a body of MuJoCo, Box2D or PyBullet is in the end."""

    body: str
    """The name of the body."""
    axes: str = "xy"
    """Which coordinates, some of x, y and z."""

    @property
    def names(self) -> tuple[str, ...]:
        """For the axes of figures."""
        return tuple(f"{axis} (m)" for axis in self.axes)

    def __call__(self, episode: Episode) -> HostArray:
        """Some of its coordinates."""
        names, position_of = _bodies(episode.env.unwrapped)
        if self.body not in names:
            there_are = ", ".join(filter(None, names)) or "none"
            raise TaskError(f"behavior: there is no body '{self.body}'. There are: {there_are}.")
        position = position_of(self.body)
        return np.array([position["xyz".index(axis)] for axis in self.axes])


def _bodies(env: Any) -> tuple[list[str], Callable[[str], Sequence[float]]]:
    """The names of an environment's bodies, and where the one of a name is, (x, y, z)."""
    if hasattr(env, "model") and hasattr(env, "data"):  # MuJoCo
        return [env.model.body(k).name for k in range(env.model.nbody)], lambda name: env.data.body(name).xpos
    if hasattr(env, "robot") and hasattr(env.robot, "parts"):  # PyBullet
        return list(env.robot.parts), lambda name: env.robot.parts[name].pose().xyz()
    # Box2D: bodies are attributes of the environment, known by their type's name, so that it need not be imported.
    names = [name for name, value in vars(env).items() if type(value).__name__ == "b2Body"]
    return names, lambda name: (*getattr(env, name).position, 0.0)  # its world is flat
