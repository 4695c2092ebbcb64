"""A model as C++: statements that advance one world by several time steps, in float or double."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.between import Between
from mujoco_fused.constraints import contacts, limits, rubbing
from mujoco_fused.dynamics import bias_forces, damping_of, joint_forces, mass_matrix, momenta, speed_slopes
from mujoco_fused.errors import FusedError, UnsupportedModelError, check_number
from mujoco_fused.expressions import Scalar, Tape, Value, literal, within
from mujoco_fused.kernel import warp
from mujoco_fused.kinematics import Motion, moving
from mujoco_fused.parameters import Numbers
from mujoco_fused.sensing import Scene, Watched, seen
from mujoco_fused.solver import Constraints, Solver
from mujoco_fused.sparse import block, factor, products, solve
from mujoco_fused.support import unsupported
from mujoco_fused.touch import touches
from mujoco_fused.tree import BALL, FREE, Tree, disabled


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


def check_precision(precision: Any) -> None:
    """Raise an error for what is neither of the two."""
    if precision not in (FLOAT, DOUBLE):
        raise FusedError(f"The precision is {precision!r}, expected mujoco_fused.FLOAT or mujoco_fused.DOUBLE.")


def prelude(precision: Precision) -> str:
    """What a program needs before it."""
    return Path(__file__).with_name(f"{precision.name}.h").read_text()


def epilogue() -> str:
    """Undo the macros, for what is compiled after a program."""
    return "".join(f"#undef {name}\n" for name in re.findall(r"#define (\w+)", prelude(FLOAT)))


def emit(
    model: mujoco.MjModel, num_steps: int = 1, watched: Sequence[Watched] = (), parameters: Sequence[str] = ()
) -> str:
    """C++ statements that advance one world, for a program that embeds them.

    Names in scope: they read and write the arrays ``q``, ``v``, ``w`` (the last accelerations) and ``u`` (controls,
    which are limited to their ranges), write ``clearance`` (`num_watched` numbers), and read ``p_NAME`` of each
    parameter. They need what a `prelude` defines: that of `DOUBLE` if `needs_double` says so.

    Args:
        model: the model; `UnsupportedModelError` says what of it is not supported.
        num_steps: time steps with the same controls.
        watched: geoms, by number, whose height above planes is wanted, and sensors, by name: all as they are at the
            beginning of the last time step.
        parameters: names of what differs between worlds (see `PARAMETERS`): of each the array, or pointer, ``p_NAME``
            has a world's values in a row, as many as `own_parameters` has.
    """
    check_number("num_steps", num_steps)
    if reasons := unsupported(model):
        raise UnsupportedModelError(reasons)
    tape = Tape()
    tree = Tree(model, Numbers(model, parameters, Tape(tape.number)))
    control = tape.inputs("u", model.nu)
    inside = [within(control[k], *model.actuator_ctrlrange[k]) for k in range(model.nu)]
    limited = model.actuator_ctrllimited * (not disabled(model, "CLAMPCTRL"))
    clamped = [(f"u[{k}]", inside[k]) for k in np.flatnonzero(limited)]
    loop = f'_Pragma("unroll 1") for (int substep = 0; substep < {num_steps}; substep++)'
    return block(tape.code(clamped) + _good_controls(model)) + f"{loop} {block(_time_step(tree, watched, tape.number))}"


def _good_controls(model: mujoco.MjModel) -> str:
    """Without a number that is not one, or is huge: MuJoCo lets go of all controls then."""
    each = f"for (int i = 0; i < {model.nu}; i++)"
    bad = f"int bad = 0; {each} if (!(FABS(u[i]) <= R(1e10))) bad = 1;\nif (bad) {each} u[i] = R(0);\n"
    return bad if model.nu else ""


def _time_step(tree: Tree, watched: Sequence[Watched], number: Iterator[int]) -> str:
    tape, model = tree.numbers.tape, tree.model
    position, velocity, control = tape.inputs("q", model.nq), tape.inputs("v", model.nv), tape.inputs("u", model.nu)
    motion = moving(tree, position, velocity)
    touching = contacts(tree, motion)
    found = Constraints(touching, limits(tree, position, velocity), rubbing(tree), Between(tree, motion))
    solver = Solver(tree, motion, found, number, touches(tree, motion, watched))
    force = joint_forces(tree, position, velocity, control) - bias_forces(tree, motion)
    outputs = _masses(tree, motion)
    outputs += [(f"force[{dof}]", value) for dof, value in enumerate(force)]
    is_staged = model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    heights = "height" if is_staged else "clearance"
    told = seen(Scene(tree, motion, position, velocity, control, touching), watched)
    outputs += [(f"{heights}[{k}]", value) for k, value in enumerate(told)]
    forward = [
        _normalized_quaternions(tree),
        solver.declarations(),
        tape.code(outputs, solver.kept()),
        _multiplied(tree) if tree.is_long else "",
        solver.detection(),
        solver.code(),
        solver.readings(heights),
    ]
    if is_staged:
        return _in_stages(tree, "".join(forward), len(told))
    return "".join(forward) + _integrated(tree, number)


def _masses(tree: Tree, motion: Motion) -> list[tuple[str, Value]]:
    """The mass matrix; of a long chain what it is multiplied from."""
    if not tree.is_long:
        return [(f"M[{tree.entries[pair]}]", value) for pair, value in mass_matrix(tree, motion).items()]
    arrays = {"axes": motion.axes, "pushes": dict(momenta(tree, motion))}
    return [
        (f"{name}[{dof * 6 + k}]", value)
        for name, own in arrays.items()
        for dof in own
        for k, value in enumerate(own[dof])
    ]


def _multiplied(tree: Tree) -> str:
    """The mass matrix of a long chain."""
    armature = enumerate(map(float, tree.model.dof_armature))
    more = "".join(f"M[{tree.entries[dof, dof]}] += {literal(own)};\n" for dof, own in armature if own)
    return products(tree, "M") + more


def _in_stages(tree: Tree, forward: str, num_watched: int) -> str:
    """Runge and Kutta's rule of fourth order: accelerations at four moments, of which heights are told at the first."""
    model = tree.model
    nq, nv, step = model.nq, model.nv, literal(float(model.opt.timestep))
    heights = f"R height[{num_watched}];" if num_watched else ""
    told = f"if (stage == 0) for (int i = 0; i < {num_watched}; i++) clearance[i] = height[i];" if num_watched else ""
    return f"""
R q0[{nq}], v0[{nv}], speed[{nv}], rate[{nv}], speeds[{nv}], rates[{nv}]; {heights}
for (int i = 0; i < {nq}; i++) q0[i] = q[i];
R share = R(0);
for (int i = 0; i < {nv}; i++) {{ v0[i] = v[i]; speed[i] = R(0); speeds[i] = R(0); rates[i] = R(0); }}
_Pragma("unroll 1") for (int stage = 0; stage < 4; stage++) {{
{forward}{told}
R turn[{nv}];
for (int i = 0; i < {nv}; i++) {{ turn[i] = share * speed[i]; speed[i] = v[i]; }}
{"".join(_untwisted(spin) for _, spin in _quaternions(tree.model))}
const R weight = stage == 0 || stage == 3 ? R(1) / R(6) : R(1) / R(3);
share = stage < 2 ? R(0.5) * {step} : {step};
for (int i = 0; i < {nv}; i++) {{
  speeds[i] += weight * speed[i]; rates[i] += weight * w[i];
  speed[i] = stage < 3 ? speed[i] : speeds[i]; rate[i] = stage < 3 ? w[i] : rates[i];
  v[i] = v0[i] + share * rate[i];
}}
for (int i = 0; i < {nq}; i++) q[i] = q0[i];
{_moved(tree, "speed", "share")}}}
"""


def _untwisted(spin: int) -> str:
    """An angular velocity after a ``turn`` as the rate of that turn, which Runge and Kutta sum (Munthe-Kaas)."""
    x, y, z = (f"[{spin + k}]" for k in range(3))
    return f"""{{
  const R ux = turn{x}, uy = turn{y}, uz = turn{z}, wx = v{x}, wy = v{y}, wz = v{z};
  const R cx = uy * wz - uz * wy, cy = uz * wx - ux * wz, cz = ux * wy - uy * wx, t = ux * ux + uy * uy + uz * uz;
  const R half = R(0.5) * SQRT(t), far = t < R(0.01) ? R(1) : t;
  const R near = R(1) / R(12) + t * (R(1) / R(720) + t * (R(1) / R(30240) + t / R(1209600)));
  const R twice = t < R(0.01) ? near : (R(1) - half * COS(half) / SIN(half)) / far;
  speed{x} += R(0.5) * cx + twice * (uy * cz - uz * cy);
  speed{y} += R(0.5) * cy + twice * (uz * cx - ux * cz);
  speed{z} += R(0.5) * cz + twice * (ux * cy - uy * cx);
}}
"""


def _quaternions(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Where quaternions begin in positions, and their angular velocities in velocities."""
    found = []
    for joint in range(model.njnt):
        offset = {FREE: 3, BALL: 0}.get(int(model.jnt_type[joint]))
        if offset is not None:
            found.append((int(model.jnt_qposadr[joint]) + offset, int(model.jnt_dofadr[joint]) + offset))
    return found


def _normalized_quaternions(tree: Tree) -> str:
    lines = []
    for first, _ in _quaternions(tree.model):
        scaled = " ".join(f"q[{first + k}] *= scale;" for k in range(4))
        lines.append(f"{{ const R scale = R(1) / SQRT({_square(first)}); {scaled} }}")
    return "\n".join(lines) + "\n"


def from_nothing(model: mujoco.MjModel) -> str:
    """Quaternions of zeros as MuJoCo takes them: not turned."""
    return "".join(f"if ({_square(first)} < R(1e-30)) q[{first}] = R(1);\n" for first, _ in _quaternions(model))


def _square(first: int) -> str:
    """The square of a quaternion's length."""
    return " + ".join(f"q[{first + k}] * q[{first + k}]" for k in range(4))


def _integrated(tree: Tree, number: Iterator[int]) -> str:
    """Euler's rule: new velocities first, then positions."""
    model, step = tree.model, float(tree.model.opt.timestep)
    is_implicit = model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    when = "1" if is_implicit else _when_damped(tree)
    rate = {"0": "w[i]", "1": "Ma[i]"}.get(when, f"({when} ? Ma[i] : w[i])")
    return f"""{_damped(tree, number, is_implicit) if when != "0" else ""}
for (int i = 0; i < {model.nv}; i++) v[i] += {literal(step)} * {rate};
{_moved(tree, "v", literal(step))}
"""


def _when_damped(tree: Tree) -> str:
    """Whether Euler's rule looks ahead at damping, as MuJoCo decides: where it is not constant, or some is positive."""
    constants, *others = zip(*(damping_of(tree, dof) for dof in range(tree.num_dofs)), strict=True)
    if np.any(others) or disabled(tree.model, "EULERDAMP"):
        return str(int(not disabled(tree.model, "EULERDAMP")))
    given = [f"{own.name} > 0" for own in constants if isinstance(own, Scalar)]
    return f"({' || '.join(given)})" if given else str(int(any(own > 0 for own in constants)))


def _moved(tree: Tree, speed: str, step: str) -> str:
    """Positions after a time with constant speeds."""
    model, moved = tree.model, []
    for joint in np.flatnonzero(model.jnt_type != BALL):
        index, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        size = 3 if model.jnt_type[joint] == FREE else 1
        moved += [f"q[{index + k}] += {step} * {speed}[{dof + k}];" for k in range(size)]
    turned = "".join(_turned(first, speed, spin, step) for first, spin in _quaternions(tree.model))
    return " ".join(moved) + "\n" + turned


def _damped(tree: Tree, number: Iterator[int], is_implicit: bool) -> str:
    """Accelerations in ``Ma``, with damping as it is at the end of the time step; ``is_implicit``: motors' too."""
    model, step, tape, stiffer = tree.model, float(tree.model.opt.timestep), Tape(number), []
    sizes = {"q": model.nq, "v": model.nv, "u": model.nu}
    motors = speed_slopes(tree, *(tape.inputs(*own) for own in sizes.items())) if is_implicit else {}
    for dof in range(tree.num_dofs):
        constant, linear, square = damping_of(tree, dof)
        speed = Scalar(tape, f"v[{dof}]")
        slope = tape.here(constant) + 2 * linear * abs(speed) + 3 * square * (speed * speed)
        slope = slope - tape.here(motors[dof]) if dof in motors else slope
        stiffer.append((f"H[{tree.entries[dof, dof]}]", Scalar(tape, f"M[{tree.entries[dof, dof]}]") + step * slope))
    return f"""
for (int i = 0; i < {len(tree.entries)}; i++) H[i] = M[i];
{block(tape.code(stiffer))}
{factor(tree, "H")}
{solve(tree, "H", "Ma")}"""


def _turned(first: int, speed: str, spin: int, step: str) -> str:
    """A quaternion turned by an angular velocity in the body's own frame."""
    return f"""{{
  const R wx = {speed}[{spin}], wy = {speed}[{spin + 1}], wz = {speed}[{spin + 2}], half = R(0.5) * {step};
  const R rate = SQRT(wx * wx + wy * wy + wz * wz);
  const R scale = rate > R(1e-12) ? SIN(half * rate) / rate : half, c = COS(half * rate);
  const R x = wx * scale, y = wy * scale, z = wz * scale;
  const R qw = q[{first}], qx = q[{first + 1}], qy = q[{first + 2}], qz = q[{first + 3}];
  q[{first}] = qw * c - qx * x - qy * y - qz * z;
  q[{first + 1}] = qw * x + qx * c + qy * z - qz * y;
  q[{first + 2}] = qw * y - qx * z + qy * c + qz * x;
  q[{first + 3}] = qw * z + qx * y - qy * x + qz * c;
}}
"""
