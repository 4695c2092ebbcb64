"""A robot's control step as C++: what it does with torques, what it sees, and whether its episode goes on.

The texts are those of whole episodes, too. Names in scope: ``q``, ``v``, ``w``, ``u``, ``observation``, ``contacts``,
``clearance``, and the flags ``good``, ``running`` and ``may_fall``.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import warp as wp
from jax import Array
from mujoco_fused import (
    FLOAT,
    Tape,
    block,
    emit,
    epilogue,
    jax_function,
    literal,
    make_kernel,
    prelude,
    read_row,
    within,
    write_row,
)

from evolvability.tasks.engines.drawing import Drawn
from evolvability.tasks.robots.observations import is_plausible, slowed
from evolvability.tasks.robots.robot import Robot
from evolvability.tasks.robots.tracing import outside, scene


class Progress(NamedTuple):
    """Robots in mid-episode; arrays have the axis (num_robots,) in front."""

    qpos: Array
    """Positions."""
    qvel: Array
    """Velocities."""
    qacc_warmstart: Array
    """The last accelerations, where the solver begins."""
    observation: Array
    """What each one sees."""
    running: Array
    """1 while the episode goes on, int32."""
    valid: Array
    """1 unless the simulation has broken down, int32."""


Control = Callable[[Progress, Array, dict[str, Array]], Progress]


def first_of(robot: Robot, drawn: Drawn) -> Progress:
    """Robots at the beginning of their episodes."""
    number, poses = len(drawn.qpos), drawn.qpos
    still, ones = jnp.zeros((number, robot.model.nv)), jnp.ones(number, jnp.int32)
    moving = still if drawn.qvel is None else drawn.qvel
    seen = robot.look(
        robot.view(
            poses, moving, jnp.zeros((number, robot.num_links)), robot.readings(jnp.zeros((number, robot.num_readings)))
        )
    )
    return Progress(poses, moving, still, seen, ones, ones)


@functools.cache
def controller(robot: Robot, early_termination: bool, parameters: tuple[str, ...]) -> Control:
    """A function ``(progress, torques, physics) -> progress`` of JAX's arrays; what has ended stays as it is.

    It is one kernel. ``physics`` has the rows of all ``parameters``, as in `Drawn`.
    """
    rows, flags = wp.array2d(dtype=wp.float32), wp.array(dtype=wp.int32)
    kinds = dict.fromkeys(Progress._fields, rows) | {"running": flags, "valid": flags}
    after_step = {f"{name}_out": kind for name, kind in kinds.items()}
    types = {f"{name}_in": kind for name, kind in kinds.items()} | {"torques": rows} | after_step
    text = prelude(FLOAT) + _text(robot, early_termination, parameters) + epilogue()
    call = jax_function(make_kernel(f"control_{robot.name}", text, types), len(after_step))

    def step(now: Progress, torques: Array, physics: dict[str, Array]) -> Progress:
        shapes = {name: array.shape for name, array in zip(after_step, now, strict=True)}
        torques = jnp.concatenate([torques, *physics.values()], axis=1) if physics else torques
        after = Progress(*call(*now, torques, output_dims=shapes, launch_dims=len(torques)))
        return _beside(robot, early_termination, now, after) if outside(robot) else after

    return step


def _beside(robot: Robot, early_termination: bool, before: Progress, now: Progress) -> Progress:
    """What is not part of the compiled program, by JAX: of those that were under way and are sound."""
    view, moved = robot.view(now.qpos, now.qvel), (before.running > 0) & (now.valid > 0)
    if "observation" in outside(robot):
        now = now._replace(observation=jnp.where(moved[:, None], robot.look(view), now.observation))
    if "end" in outside(robot) and robot.ends is not None and early_termination:
        now = now._replace(running=jnp.where(moved & robot.ends(view), 0, now.running))
    return now


def _text(robot: Robot, early_termination: bool, parameters: tuple[str, ...] = ()) -> str:
    """The program of a kernel's thread. A world's row of ``torques`` goes on with its parameters."""
    model = robot.model
    row, pointers = row_of(robot, parameters, "torques", model.nu)
    arrays = [("qpos", "q", model.nq), ("qvel", "v", model.nv), ("qacc_warmstart", "w", model.nv)]
    arrays += [("observation", "observation", robot.num_observations)]
    before = "".join(read_row(size, own, f"{name}_in") for name, own, size in arrays)
    after = "".join(write_row(size, f"{name}_out", own) for name, own, size in arrays)
    return f"""
const int may_fall = {int(early_termination)};
R q[{model.nq}], v[{model.nv}], w[{model.nv}], u[{model.nu}], observation[{robot.num_observations}];
R clearance[{max(robot.num_links + robot.num_readings, 1)}], contacts[{max(robot.num_links, 1)}];
int running = running_in.data[tid], good = 1;
{before}
if (running) {{
  {pointers}for (int i = 0; i < {model.nu}; i++) u[i] = torques.data[(size_t)tid * {row} + i];

  {advanced(robot, parameters)}
  if (good) {{ {"" if "observation" in outside(robot) else observed(robot)} }} else {{ {before} }}
}}
{after}
running_out.data[tid] = running; valid_out.data[tid] = valid_in.data[tid] && good;
"""


def row_of(robot: Robot, parameters: tuple[str, ...], array: str, first: int) -> tuple[int, str]:
    """The length of a world's row of an array, and statements that declare ``p_NAME`` of all parameters in it.

    They follow one another, after ``first`` numbers of something else.
    """
    sizes = [robot.parameters[name].size for name in parameters]
    row, text = first + sum(sizes), ""
    for name, size in zip(parameters, sizes, strict=True):
        text += f"const R* const p_{name} = {array}.data + (size_t)tid * {row} + {first};\n"
        first += size
    return row, text


def advanced(robot: Robot, parameters: tuple[str, ...]) -> str:
    """One control step: limited torques, physics, air, and the verdict in ``good`` and ``running``."""
    physics = emit(robot.model, robot.steps_per_control, robot.watched, parameters)
    return f"""
{_acted(robot)}
{physics}{_slowed(robot)}{_judged(robot)}"""


def _acted(robot: Robot) -> str:
    """Controls, of a network's outputs."""
    number, (low, high, middle, half) = robot.num_motors, robot.actions[:4]
    tape = Tape()
    outputs = tape.inputs("u", number)
    acted = [float(middle[k]) + float(half[k]) * within(outputs[k], low[k], high[k]) for k in range(number)]
    checked = f"for (int i = 0; i < {number}; i++) good = good && ISFINITE(u[i]);\n"
    return checked + block(tape.code((f"u[{k}]", value) for k, value in enumerate(acted)))


def observed(robot: Robot) -> str:
    """``observation``, of a state."""
    tape, view = scene(robot)
    return block(tape.code((f"observation[{k}]", value) for k, value in enumerate(robot.look(view))))


def _slowed(robot: Robot) -> str:
    """Velocities after the air had its share."""
    if not robot.drag:
        return ""
    tape, view = scene(robot)
    after = slowed(robot, view.qpos, view.qvel)
    return block(tape.code((f"v[{k}]", value) for k, value in enumerate(after)))


def _judged(robot: Robot) -> str:
    """Whether the episode goes on."""
    tape, view = scene(robot)
    plausible = np.asarray(is_plausible(view.torso, view.qpos, view.qvel)).item()
    text = tape.code(keep=[plausible]) + f"good = good && {literal(plausible)};\n"
    text += "if (!good) running = 0;\n"
    height = literal(robot.contact_distance)
    flags = f"for (int i = 0; i < {robot.num_links}; i++) contacts[i] = clearance[i] < {height} ? R(1) : R(0);\n"
    over = ""
    if robot.ends is not None and "end" not in outside(robot):
        tape, view = scene(robot)
        ended = np.asarray(robot.ends(view)).item()
        over = tape.code(keep=[ended]) + f"if (may_fall && {literal(ended)}) running = 0;\n"
    return block(text + "else {\n" + (flags if robot.links else "") + over + "}\n")
