"""Robots of your own: from an MJCF to a task."""

import functools
import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, missing_extra, unknown
from evolvability.tasks.archives import archive_of, digest_of, offer
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import Circumstances, circumstances_in
from evolvability.tasks.locomotion import driven
from evolvability.tasks.options import Ends, EpisodeOptions, RobotOptions
from evolvability.tasks.policies import MakePolicy, policy_options

if TYPE_CHECKING:
    from evolvability.tasks.robots import Robot
    from evolvability.tasks.views import View

Look = str | Callable[["View"], Any]


def robot_task(
    model: Any,
    *,
    observation: Look = "auto",
    behavior: Look = "auto",
    ends: Ends = Ends(),  # noqa: B008 (frozen)
    circumstances: Circumstances = Circumstances(),  # noqa: B008 (frozen)
    policy: MakePolicy | str | None = None,
    **options: Any,
) -> Task:
    """A robot of your own as a task: networks drive it, and its behavior is where it ends up.

    A model that cannot be compiled is stepped by MuJoCo's own library on all cores; a warning says why.

    Args:
        model: an MJCF's path, the name of one of Gymnasium's models, an ``MjSpec`` or an ``MjModel``.
        observation: what it sees: names of parts as in `RobotOptions.observation`, or a function of a `View`.
        behavior: what counts: a name as in `RobotOptions.behavior`, or a function of a `View`.
        ends: what ends an episode before its time.
        circumstances: what differs between episodes.
        policy: the network that drives it, such as ``gru(64)``, or ``"module:name"`` of your own.
        **options: further fields of `RobotOptions`, e.g. ``root="torso", control_step=0.02, num_steps=500,
            start="home", hidden=64, engine="auto"``.

    Examples:
        >>> task = robot_task("swimmer", num_steps=200, engine="mujoco")
        >>> task.behavior
        ('x (m)', 'y (m)')
    """
    texts = {
        name: value for name, value in (("observation", observation), ("behavior", behavior)) if not callable(value)
    }
    own = {name: value for name, value in (("observation", observation), ("behavior", behavior)) if callable(value)}
    known = {field.name for field in fields(RobotOptions)} - {"model", "digest"}
    for name in set(options) - known:
        raise ConfigError(unknown("option of a robot", name, known))
    low, high = ends.height
    given: dict[str, Any] = {
        "min_height": low,
        "max_height": high,
        "must_not_touch": tuple(ends.touch),
        **texts,
        **options,
        **(policy_options(policy) if policy else {}),
    }
    is_file = isinstance(model, (str, os.PathLike))
    settings = RobotOptions(model=str(model) if is_file else "", **circumstances_in(circumstances) | given)
    return _task(model, settings, own, policy)


def robot(options: RobotOptions, policy: MakePolicy | None = None) -> Task:
    """A robot by its file's name."""
    if not options.model:
        raise ConfigError("Which robot? Give its file: ees train my.xml, or --model my.xml.")
    return _task(options.model, options, {}, policy)


def _task(source: Any, options: RobotOptions, own: dict[str, Any], policy: MakePolicy | str | None) -> Task:
    # Without a name, only the object itself will do.
    make = None if policy is None or isinstance(policy, str) else policy
    try:
        import mujoco

        from evolvability.tasks.from_model import OwnFunctions, robot_from
        from evolvability.tasks.mjcf import checked_model, packed
    except ModuleNotFoundError as error:
        raise missing_extra("A robot", error.name, "locomotion") from None
    if isinstance(source, mujoco.MjModel):
        # Without a file: it is Python's alone, and no run folder can hold it.
        name = source.names[: source.names.index(b"\0")].decode() or "robot"
        return driven(robot_from(name, checked_model(source, name), options, OwnFunctions(**own)), options, make)
    name, archive = packed(source) if (known := archive_of(options.digest)) is None else (_stem(options.model), known)
    digest = digest_of(archive)
    if options.digest not in ("", digest):
        raise ConfigError(f"{source} is not the robot that this run was trained with: its checksum is another.")
    made = driven(_made(archive, name, _defining(options), OwnFunctions(**own)), options, make)
    if own or options.policy.startswith(FROM_PYTHON):
        return made
    offer(digest, archive)
    return replace(made, options=replace(options, model=options.model or f"{name}.xml", digest=digest))


def _stem(model: str) -> str:
    return Path(model).stem or "robot"


def _defining(options: RobotOptions) -> RobotOptions:
    """What of the options makes the robot; not what makes its episodes."""
    shared: dict[str, Any] = {field.name: field.default for field in fields(EpisodeOptions)}
    return replace(options, **shared, model="", digest="")


@functools.cache  # the same object for the same robot: what was compiled for it is found again
def _made(archive: bytes, name: str, options: RobotOptions, own: Any) -> "Robot":
    from evolvability.tasks.from_model import robot_from
    from evolvability.tasks.mjcf import unpacked

    return replace(robot_from(name, unpacked(archive, name), options, own), archive=archive)
