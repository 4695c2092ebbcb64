"""A robot on symbols: what it sees, does and ends by, recorded for a compiled program."""

from typing import Any

from mujoco_fused import Tape, symbols

from evolvability.tasks.robots import Robot
from evolvability.tasks.views import NotCompiledError, View


def scene(robot: Robot) -> tuple[Tape, View]:
    """A tape, and the robot as it is seen on it."""
    tape = Tape()
    sizes = {"q": robot.model.nq, "v": robot.model.nv, "contacts": robot.num_links}
    qpos, qvel, contacts = (symbols(tape.inputs(name, size)) for name, size in sizes.items())
    return tape, robot.view(qpos, qvel, contacts)


def untraceable(robot: Robot) -> list[str]:
    """Why functions of a robot cannot be compiled; empty where they can."""
    found = []
    functions = {"observation": robot.look, "behavior": robot.measure, "end": robot.ends}
    for what, function in functions.items():
        if function is None:
            continue
        tape, view = scene(robot)
        try:
            values: Any = function(view)
            tape.code((f"x[{k}]", value) for k, value in enumerate(values if what != "end" else [values.item()]))
        except NotCompiledError as error:
            found.append(str(error))
        except Exception as error:  # a function of the user's may raise anything
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            found.append(
                f"Its {what} is computed outside of the compiled program, which cannot do what it does ({text})."
            )
    return found
