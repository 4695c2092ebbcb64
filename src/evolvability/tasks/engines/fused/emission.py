"""A model as C++: statements that advance one world by several time steps, in float or double."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from evolvability.tasks.engines.fused.constraints import Contact, contacts, limits
from evolvability.tasks.engines.fused.dynamics import bias_forces, damping_of, joint_forces, mass_matrix, within
from evolvability.tasks.engines.fused.expressions import Scalar, Tape, Value, literal, select
from evolvability.tasks.engines.fused.kinematics import moving
from evolvability.tasks.engines.fused.solver import Solver
from evolvability.tasks.engines.fused.sparse import block, factor, solve
from evolvability.tasks.engines.fused.tree import BALL, FREE, Tree


class Precision(NamedTuple):
    """A type of numbers, and what is small in it."""

    name: str
    suffix: str
    arctangent: str
    arcsine: str
    tolerance: float
    slope_tolerance: float
    step_tolerance: float


FLOAT = Precision("float", "f", "atan2f", "asinf", 1e-8, 1e-5, 1e-3)
DOUBLE = Precision("double", "", "arctangent", "arcsine", 1e-14, 1e-12, 1e-9)

MACROS = """
typedef {name} R;
#define SIN(x) sine(x, 0)
#define COS(x) sine(x, 1)
#define SQRT sqrt{suffix}
#define FABS fabs{suffix}
#define FLOOR floor{suffix}
#define ATAN2 {arctangent}
#define ASIN {arcsine}
#define ISFINITE(x) ((x) - (x) == R(0))
#define RECIPROCAL(x) (R(1) / (x))
#define TOLERANCE R({tolerance})
#define SLOPE_TOLERANCE R({slope_tolerance})
#define STEP_TOLERANCE R({step_tolerance})
"""
# Without a branch: the angle less its whole quarters, in three steps that keep all digits (Cody and Waite), and the
# polynomials of the Cephes library. No library's own in double: a browser and a compiler then agree to the last bit.
FUNCTIONS = {
    "float": """
auto sine = [&](float x, int quarter) {
  const float k = rintf(x * 0.63661977f);
  float r = fmaf(k, -1.57079601287841796875f, x);
  r = fmaf(k, -3.1391647326017846e-7f, r);
  r = fmaf(k, -5.390302529957764e-15f, r);
  const float z = r * r;
  const int n = (int)k + quarter;
  const float s = fmaf(r * z, fmaf(z, fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), r);
  const float c = fmaf(z * z, fmaf(z, fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f),
                       fmaf(z, -0.5f, 1.0f));
  const float y = n & 1 ? c : s;
  return n & 2 ? -y : y;
};
""",
    "double": """
auto sine = [&](double x, int quarter) {
  const double k = rint(x * 0.6366197723675814);
  const double r = x - k * 1.57079625129699707031 - k * 7.54978941586159635336e-8 - k * 5.39030285815811905290e-15;
  const double z = r * r;
  const int n = (int)k + quarter;
  const double s = r + r * z * (((((1.58962301576546568060e-10 * z - 2.50507477628578072866e-8) * z
    + 2.75573136213857245213e-6) * z - 1.98412698295895385996e-4) * z + 8.33333333332211858878e-3) * z
    - 1.66666666666666307295e-1);
  const double c = 1.0 - 0.5 * z + z * z * (((((-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z
    - 2.75573141792967388112e-7) * z + 2.48015872888517045348e-5) * z - 1.38888888888730564116e-3) * z
    + 4.16666666666665929218e-2);
  const double y = n & 1 ? c : s;
  return n & 2 ? -y : y;
};
auto arctangent = [&](double y, double x) {
  const double a = fabs(y), b = fabs(x), t = (a < b ? a : b) / (a < b ? b : (a > 0.0 ? a : 1.0));
  const bool steep = t > 0.4142135623730950488;
  const double u = steep ? (t - 1.0) / (t + 1.0) : t, z = u * u;
  const double p = (((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z
    - 1.228866684490136173410e2) * z - 6.485021904942025371773e1;
  const double q = ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z
    + 4.328810604912902668951e2) * z + 4.853903996359136964868e2) * z + 1.945506571482613964425e2;
  const double near = (steep ? 0.78539816339744830962 : 0.0) + (u + u * z * p / q);
  const double half = a < b ? near : 1.57079632679489661923 - near;
  const double whole = x < 0.0 ? 3.14159265358979323846 - half : half;
  return y < 0.0 ? -whole : whole;
};
auto arcsine = [&](double x) { return arctangent(x, sqrt((1.0 - x) * (1.0 + x))); };
""",
}


def prelude(precision: Precision) -> str:
    """What a program needs before it."""
    return MACROS.format(**precision._asdict()) + FUNCTIONS[precision.name]


def epilogue() -> str:
    """Undo the macros, for what is compiled after a program."""
    return (
        "\n".join(f"#undef {line.split()[1].split('(')[0]}" for line in MACROS.splitlines() if "#define" in line) + "\n"
    )


def emit(model: mujoco.MjModel, num_steps: int = 1, watched: Sequence[int] = ()) -> str:
    """Statements on the arrays ``q``, ``v``, ``w`` (the last accelerations), ``u`` (controls) and ``clearance``.

    Args:
        model: the model; `UnsupportedModelError` says what of it is not supported.
        num_steps: time steps with the same controls.
        watched: geoms whose height above planes is wanted, at the beginning of the last time step, as sensors see it.
    """
    tree, tape = Tree(model), Tape()
    control = tape.inputs("u", model.nu)
    inside = [within(control[k], *model.actuator_ctrlrange[k]) for k in range(model.nu)]
    clamped = [(f"u[{k}]", inside[k]) for k in np.flatnonzero(model.actuator_ctrllimited)]
    loop = f'_Pragma("unroll 1") for (int substep = 0; substep < {num_steps}; substep++)'
    return block(tape.code(clamped)) + f"{loop} {block(_time_step(tree, watched, tape.number))}"


def _time_step(tree: Tree, watched: Sequence[int], number: Iterator[int]) -> str:
    tape, model = Tape(number), tree.model
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
    """Euler's rule, with damping at the end of the time step: new velocities first, then positions."""
    model, step, tape = tree.model, float(tree.model.opt.timestep), Tape(number)
    stiffer, moved = [], []
    for dof in range(model.nv):
        constant, linear, square = damping_of(tree, dof)
        speed = Scalar(tape, f"v[{dof}]")
        slope = constant + 2 * linear * abs(speed) + 3 * square * (speed * speed)
        stiffer.append((f"H[{tree.entries[dof, dof]}]", Scalar(tape, f"M[{tree.entries[dof, dof]}]") + step * slope))
    for joint in np.flatnonzero(model.jnt_type != BALL):
        index, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        size = 3 if model.jnt_type[joint] == FREE else 1
        moved += [f"q[{index + k}] += {literal(step)} * v[{dof + k}];" for k in range(size)]
    turned = "".join(_turned(first, spin, step) for first, spin in _quaternions(tree))
    return f"""
for (int i = 0; i < {len(tree.entries)}; i++) H[i] = M[i];
{block(tape.code(stiffer))}
{factor(tree, "H")}
for (int i = 0; i < {model.nv}; i++) force[i] += push[i];
{solve(tree, "H", "force")}
for (int i = 0; i < {model.nv}; i++) v[i] += {literal(step)} * force[i];
{" ".join(moved)}
{turned}
"""


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
