"""Robots of your own: from an MJCF to a task."""

import functools
import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jax import Array

from evolvability.core.cores import num_cores
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, given, missing_extra, unknown
from evolvability.core.types import Outcome, PyTree, Sample
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import Circumstances, circumstances_in
from evolvability.tasks.options import Ends, EpisodeOptions, RobotOptions
from evolvability.tasks.policies import MakePolicy, policy_options
from evolvability.tasks.robots.archives import archive_of, digest_of, offer
from evolvability.tasks.robots.locomotion import driven

if TYPE_CHECKING:
    from evolvability.tasks.robots.robot import Robot
    from evolvability.tasks.robots.views import View

LONG_ENOUGH = 1.0
"""Seconds of a first generation from which on it is worth telling what would be faster."""
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
    looks = {"observation": observation, "behavior": behavior}
    own = {name: look for name, look in looks.items() if callable(look)}
    known = {field.name for field in fields(RobotOptions)} - {"model", "digest"}
    for name in set(options) - known:
        raise ConfigError(unknown("option of a robot", name, known))
    low, high = ends.height
    settings: dict[str, Any] = {
        "min_height": low,
        "max_height": high,
        "must_not_touch": tuple(ends.touch),
        **{name: look for name, look in looks.items() if name not in own},
        **options,
        **(policy_options(policy) if policy else {}),
    }
    is_file = isinstance(model, (str, os.PathLike))
    chosen = RobotOptions(model=str(model) if is_file else "", **circumstances_in(circumstances) | settings)
    return _task(model, chosen, own, policy)


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

        from evolvability.tasks.robots.from_model import OwnFunctions, robot_from
        from evolvability.tasks.robots.mjcf import checked_model, packed
        from evolvability.tasks.robots.simplify import simplified
    except ModuleNotFoundError as error:
        raise missing_extra("A robot", error.name, "locomotion") from None
    if isinstance(source, mujoco.MjModel):
        # Without a file: it is Python's alone, and no run folder can hold it.
        name = source.names[: source.names.index(b"\0")].decode() or "robot"
        model, changes = checked_model(source, name), list[str]()
        if options.simplify:
            model, changes = simplified(model, name)
            _tell(name, changes)
        return driven(
            replace(robot_from(name, model, options, OwnFunctions(**own)), changes=tuple(changes)), options, make
        )
    name, archive = packed(source) if (known := archive_of(options.digest)) is None else (_stem(options.model), known)
    digest = digest_of(archive)
    if options.digest not in ("", digest):
        raise ConfigError(f"{source} is not the robot that this run was trained with: its checksum is another.")
    made = driven(_made(archive, name, _defining(options), OwnFunctions(**own)), options, make)
    if options.engine == "auto" and made.engine.startswith("mujoco") and importlib.util.find_spec("warp"):
        simple = replace(options, simplify=True, engine="fused", threads=num_cores())
        made = _timed(made, lambda: driven(_made(archive, name, _defining(simple), OwnFunctions(**own)), simple, make))
    if options.simplify:
        after = " ees measure RUN --native compares with the file as it is."
        _tell(name, made.stage.robot.changes if made.stage else (), after)
    if own or options.policy.startswith(FROM_PYTHON):
        return made
    offer(digest, archive)
    return replace(made, options=replace(options, model=options.model or f"{name}.xml", digest=digest))


def _tell(name: str, changes: Iterable[str], after: str = "") -> None:
    text = "; ".join(changes) or "nothing had to be changed"
    warnings.warn(f"{name} is simplified: {text}.{after}", stacklevel=4)


def _stem(model: str) -> str:
    return Path(model).stem or "robot"


def _defining(options: RobotOptions) -> RobotOptions:
    """What of the options makes the robot; not what makes its episodes."""
    shared: dict[str, Any] = {field.name: field.default for field in fields(EpisodeOptions)}
    return replace(options, **shared, model="", digest="")


@functools.cache  # the same object for the same robot: what was compiled for it is found again
def _made(archive: bytes, name: str, options: RobotOptions, own: Any) -> "Robot":
    from evolvability.tasks.robots.from_model import robot_from
    from evolvability.tasks.robots.mjcf import unpacked

    if not options.simplify:
        return replace(robot_from(name, unpacked(archive, name), options, own), archive=archive)
    from evolvability.tasks.robots.simplify import simplified, without_states

    said: list[str] = []
    model, changes = simplified(unpacked(archive, name, lambda spec: said.extend(without_states(spec))), name)
    return replace(robot_from(name, model, options, own), archive=archive, changes=(*said, *changes))


def _timed(task: Task, make: Callable[[], Task]) -> Task:
    """A task whose first generation also tells how much faster it would be if it was simplified."""
    asked: list[bool] = []

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        begun = time.perf_counter()
        result = task.evaluate(key, sample, memory)
        if not asked and time.perf_counter() - begun > LONG_ENOUGH:
            asked.append(True)
            few = sample.of_draws(slice(0, 16 * num_cores()))
            _compare(task, make, lambda one: _pace(one, key, few, memory))
        return result

    return replace(task, evaluate=evaluate)


def _compare(task: Task, make: Callable[[], Task], pace: Callable[[Task], float]) -> None:
    """Say how much faster a simplified robot would be; nothing, where it cannot be made."""
    try:
        simple = make()
    except ConfigError:
        return
    if simple.stage and simple.stage.robot.changes:
        pace(simple)  # whatever is compiled is compiled now
        faster = f"Simplified and compiled, the {task.name} is {pace(simple) / pace(task):.1f} times as fast"
        warnings.warn(f"{faster}: {given(simplify=True)}.", stacklevel=3)


def _pace(task: Task, key: Array, sample: Sample, memory: PyTree) -> float:
    """Control steps per second."""
    begun = time.perf_counter()
    done, _ = task.evaluate(key, sample, memory)
    return float(done.num_steps.sum()) / (time.perf_counter() - begun)
