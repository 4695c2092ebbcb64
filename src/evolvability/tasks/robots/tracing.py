"""A robot on symbols: what it sees, does and ends by, recorded for a compiled program, or left out of it."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mujoco_fused import Tape, symbols

from evolvability.core.errors import described
from evolvability.tasks.robots.robot import Robot
from evolvability.tasks.robots.views import View


def scene(robot: Robot) -> tuple[Tape, View]:
    """A tape, and the robot as it is seen on it."""
    tape, links = Tape(), robot.num_links
    sizes = {"q": robot.model.nq, "v": robot.model.nv, "contacts": links, "clearance": links + robot.num_readings}
    qpos, qvel, contacts, watched = (symbols(tape.inputs(name, size)) for name, size in sizes.items())
    return tape, robot.view(qpos, qvel, contacts, robot.readings(watched[links:]))


@functools.cache
def outside(robot: Robot) -> dict[str, str]:
    """What of a robot cannot be part of a compiled program, and why."""

    def trace(function: Callable[[View], Any]) -> None:
        tape, view = scene(robot)
        # A behavior is also measured outside of programs, where forces are not known.
        view = robot.view(view.qpos, view.qvel, view.contacts) if function is robot.measure else view
        tape.code((f"x[{k}]", value) for k, value in enumerate(np.ravel(function(view))))

    return {what: text for what, text in _errors(robot, trace).items() if text}


@functools.cache
def beyond_jax(robot: Robot) -> dict[str, str]:
    """What of a robot JAX cannot compute either, and why: it takes NumPy's arrays alone, or MuJoCo's sensors."""
    sizes = robot.model.nq, robot.model.nv

    def trace(function: Callable[[View], Any]) -> None:
        states = [jax.ShapeDtypeStruct((2, size), jnp.float32) for size in sizes]
        jax.eval_shape(lambda qpos, qvel: function(robot.view(qpos, qvel)), *states)

    return {what: text for what, text in _errors(robot, trace).items() if text and what in outside(robot)}


def _errors(robot: Robot, trace: Callable[[Callable[[View], Any]], None]) -> dict[str, str]:
    functions = {"observation": robot.look, "behavior": robot.measure, "end": robot.ends}
    found = {}
    for what, function in functions.items():
        try:
            if function is not None:
                trace(function)
            found[what] = ""
        except Exception as error:  # a function of the user's may raise anything
            found[what] = " ".join(described(error).split())[:200]
    return found
