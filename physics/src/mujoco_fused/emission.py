"""A model as C++: statements that advance one world by several time steps, in float or double."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.constraints import Contact, contacts, limits
from mujoco_fused.dynamics import bias_forces, damping_of, joint_forces, mass_matrix
from mujoco_fused.errors import UnsupportedModelError
from mujoco_fused.expressions import Scalar, Tape, Value, is_zero, literal, select, within
from mujoco_fused.kernel import warp
from mujoco_fused.kinematics import moving
from mujoco_fused.parameters import Numbers
from mujoco_fused.solver import Solver
from mujoco_fused.sparse import block, factor, solve
from mujoco_fused.support import unsupported
from mujoco_fused.tree import BALL, FREE, Tree


class Precision(NamedTuple):
    """A type of numbers; what programs need of it, macros and functions, is in the file NAME.h."""

    name: str
    """The name of the type in C++."""

    @property
    def dtype(self) -> Any:
        """The type of NumPy's arrays."""
        return {"float": np.float32, "double": np.float64}[self.name]

    @property
    def warp(self) -> Any:
        """The type of Warp's arrays."""
        return {"float": warp().float32, "double": warp().float64}[self.name]


FLOAT, DOUBLE = Precision("float"), Precision("double")


def prelude(precision: Precision) -> str:
    """What a program needs before it."""
    return Path(__file__).with_name(f"{precision.name}.h").read_text()


def epilogue() -> str:
    """Undo the macros, for what is compiled after a program."""
    return "".join(f"#undef {name}\n" for name in re.findall(r"#define (\w+)", prelude(FLOAT)))


def emit(model: mujoco.MjModel, num_steps: int = 1, watched: Sequence[int] = (), parameters: Sequence[str] = ()) -> str:
    """C++ statements that advance one world, for a program that embeds them.

    Names in scope: they read and write the arrays ``q``, ``v``, ``w`` (the last accelerations) and ``u`` (controls,
    which are limited to their ranges), write ``clearance`` (one number per watched geom), and read ``p_NAME`` of each
    parameter. They need what a `prelude` defines.

    Args:
        model: the model; `UnsupportedModelError` says what of it is not supported.
        num_steps: time steps with the same controls.
        watched: geoms whose height above planes is wanted, at the beginning of the last time step, as sensors see it.
        parameters: names of what differs between worlds (see `PARAMETERS`): of each the array, or pointer, ``p_NAME``
            has a world's values in a row, as many as `own_parameters` has.
    """
    if reasons := unsupported(model):
        raise UnsupportedModelError(reasons)
    tape = Tape()
    tree = Tree(model, Numbers(model, parameters, Tape(tape.number)))
    control = tape.inputs("u", model.nu)
    inside = [within(control[k], *model.actuator_ctrlrange[k]) for k in range(model.nu)]
    clamped = [(f"u[{k}]", inside[k]) for k in np.flatnonzero(model.actuator_ctrllimited)]
    loop = f'_Pragma("unroll 1") for (int substep = 0; substep < {num_steps}; substep++)'
    return block(tape.code(clamped)) + f"{loop} {block(_time_step(tree, watched, tape.number))}"


def _time_step(tree: Tree, watched: Sequence[int], number: Iterator[int]) -> str:
    tape, model = tree.numbers.tape, tree.model
    position, velocity, control = tape.inputs("q", model.nq), tape.inputs("v", model.nv), tape.inputs("u", model.nu)
    motion = moving(tree, position, velocity)
    touching = contacts(tree, motion)
    solver = Solver(tree, motion, touching, limits(tree, position, velocity), number)
    force = joint_forces(tree, position, velocity, control) - bias_forces(tree, motion)
    outputs = [(f"M[{tree.entries[pair]}]", value) for pair, value in mass_matrix(tree, motion).items()]
    outputs += [(f"force[{dof}]", value) for dof, value in enumerate(force)]
    outputs += [(f"clearance[{k}]", lowest(touching, geom)) for k, geom in enumerate(watched)]
    parts = [
        _normalized_quaternions(tree),
        solver.declarations(),
        tape.code(outputs, solver.kept()),
        solver.detection(),
        solver.code(),
        _integrated(tree, number),
    ]
    return "".join(parts)


def lowest(touching: list[Contact], geom: int) -> Value:
    """A geom's height above planes."""
    heights = [contact.distance for contact in touching if contact.geom == geom]
    result: Value = heights[0]
    for height in heights[1:]:
        result = select(height < result, height, result)
    return result


def _quaternions(tree: Tree) -> list[tuple[int, int]]:
    """Where quaternions begin in positions, and their angular velocities in velocities."""
    model, found = tree.model, []
    for joint in range(model.njnt):
        offset = {FREE: 3, BALL: 0}.get(int(model.jnt_type[joint]))
        if offset is not None:
            found.append((int(model.jnt_qposadr[joint]) + offset, int(model.jnt_dofadr[joint]) + offset))
    return found


def _normalized_quaternions(tree: Tree) -> str:
    lines = []
    for first, _ in _quaternions(tree):
        square = " + ".join(f"q[{first + k}] * q[{first + k}]" for k in range(4))
        scaled = " ".join(f"q[{first + k}] *= scale;" for k in range(4))
        lines.append(f"{{ const R scale = R(1) / SQRT({square}); {scaled} }}")
    return "\n".join(lines) + "\n"


def _integrated(tree: Tree, number: Iterator[int]) -> str:
    """Euler's rule: new velocities first, then positions."""
    model, step, moved = tree.model, float(tree.model.opt.timestep), []
    for joint in np.flatnonzero(model.jnt_type != BALL):
        index, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        size = 3 if model.jnt_type[joint] == FREE else 1
        moved += [f"q[{index + k}] += {literal(step)} * v[{dof + k}];" for k in range(size)]
    turned = "".join(_turned(first, spin, step) for first, spin in _quaternions(tree))
    is_damped = any(not is_zero(own) for dof in range(model.nv) for own in damping_of(tree, dof))
    return f"""{_damped(tree, number) if is_damped else ""}
for (int i = 0; i < {model.nv}; i++) v[i] += {literal(step)} * {"Ma" if is_damped else "w"}[i];
{" ".join(moved)}
{turned}
"""


def _damped(tree: Tree, number: Iterator[int]) -> str:
    """Accelerations in ``Ma``, with damping as it is at the end of the time step."""
    step, tape, stiffer = float(tree.model.opt.timestep), Tape(number), []
    for dof in range(tree.num_dofs):
        constant, linear, square = damping_of(tree, dof)
        speed = Scalar(tape, f"v[{dof}]")
        slope = tape.here(constant) + 2 * linear * abs(speed) + 3 * square * (speed * speed)
        stiffer.append((f"H[{tree.entries[dof, dof]}]", Scalar(tape, f"M[{tree.entries[dof, dof]}]") + step * slope))
    return f"""
for (int i = 0; i < {len(tree.entries)}; i++) H[i] = M[i];
{block(tape.code(stiffer))}
{factor(tree, "H")}
{solve(tree, "H", "Ma")}"""


def _turned(first: int, spin: int, step: float) -> str:
    """A quaternion turned by an angular velocity in the body's own frame."""
    half = literal(0.5 * step)
    return f"""{{
  const R wx = v[{spin}], wy = v[{spin + 1}], wz = v[{spin + 2}], speed = SQRT(wx * wx + wy * wy + wz * wz);
  const R scale = speed > R(1e-12) ? SIN({half} * speed) / speed : {half}, c = COS({half} * speed);
  const R x = wx * scale, y = wy * scale, z = wz * scale;
  const R qw = q[{first}], qx = q[{first + 1}], qy = q[{first + 2}], qz = q[{first + 3}];
  q[{first}] = qw * c - qx * x - qy * y - qz * z;
  q[{first + 1}] = qw * x + qx * c + qy * z - qz * y;
  q[{first + 2}] = qw * y - qx * z + qy * c + qz * x;
  q[{first + 3}] = qw * z + qx * y - qy * x + qz * c;
}}
"""
