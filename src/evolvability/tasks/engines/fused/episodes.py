"""Whole episodes of robots with their networks as one C++ function, for the cores of a CPU.

A member's network is read at every control step. Its episode runs through to its end on one core, so that the network
stays in that core's cache.
"""

import functools
import math
from typing import Any

import numpy as np
import warp as wp

from evolvability.core.noise import Shapes
from evolvability.tasks.engines.base import TORQUE_LIMIT
from evolvability.tasks.engines.fused.emission import FLOAT, Precision, emit, epilogue, prelude
from evolvability.tasks.engines.fused.expressions import Tape, literal
from evolvability.tasks.engines.fused.kernel import TYPES, made
from evolvability.tasks.engines.fused.sparse import block
from evolvability.tasks.engines.fused.symbols import symbols
from evolvability.tasks.normalizer import LIMIT
from evolvability.tasks.observations import displacement, has_fallen, is_plausible, observe, slowed
from evolvability.tasks.robots import Robot

# Both halves are computed and one is taken, so that a compiler can do many at a time: an odd polynomial near zero, and
# an exponential elsewhere, from the Cephes library.
TANH = {
    "float": """
auto squash = [&](float x) {
  const float z = x * x;
  const float near = x + x * z * (z * (z * (z * (z * -5.70498872745e-3f + 2.06390887954e-2f) - 5.37397155531e-2f)
                                       + 1.33314422036e-1f) - 3.33332819422e-1f);
  const float y = FABS(x) < 9.0f ? 2.0f * FABS(x) : 18.0f;  // beyond it a float is 1
  const float k = rintf(y * 1.44269504088896341f);
  const float r = y - k * 0.693359375f + k * 2.12194440e-4f;
  const float p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r
                   + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  union { int i; float f; } power;  // of two
  power.i = ((int)k + 127) << 23;
  const float far = 1.0f - 2.0f / ((p * r * r + r + 1.0f) * power.f + 1.0f);
  return FABS(x) < 0.625f ? near : (x < 0.0f ? -far : far);
};
""",
    "double": """
auto squash = [&](double x) {
  const double z = x * x;
  const double near = x + x * z * ((-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z
    - 1.61468768441708447952e3) / (((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z
    + 4.84406305325125486048e3);
  const double y = fabs(x) < 20.0 ? 2.0 * fabs(x) : 40.0;
  const double k = rint(y * 1.4426950408889634074);
  const double r = y - k * 6.93145751953125e-1 - k * 1.42860682030941723212e-6, s = r * r;
  const double p = r * ((1.26177193074810590878e-4 * s + 3.02994407707441961300e-2) * s + 9.99999999999999999910e-1);
  const double q = ((3.00198505138664455042e-6 * s + 2.52448340349684104192e-3) * s + 2.27265548208155028766e-1) * s
    + 2.00000000000000000005;
  const double far = 1.0 - 2.0 / (ldexp(1.0 + 2.0 * (p / (q - p)), (int)k) + 1.0);
  return fabs(x) < 0.625 ? near : (x < 0.0 ? -far : far);
};
""",
}


@functools.cache
def episode_kernel(robot: Robot, shapes: Shapes, precision: Precision = FLOAT) -> wp.Kernel:
    """A kernel of one thread per member: from its parameters and pose to where its episode ended.

    It reads: parameters, poses, whether to keep statistics of observations, the mean and standard deviation to scale
    observations by, the number of steps, whether a fall ends an episode, and the number of frames to record per member
    (0, or one more than steps). It writes: displacement, (valid, steps), statistics as (count, means, sums of squared
    deviations), and frames.
    """

    def native(
        params: Any, poses: Any, kept: Any, mean: Any, std: Any, num_steps: Any, may_fall: Any, frames: Any,
        ended: Any, status: Any, seen: Any, path: Any, tid: Any,
    ) -> None: ...  # fmt: skip

    def whole(
        params: Any, poses: Any, kept: Any, mean: Any, std: Any, num_steps: Any, may_fall: Any, frames: Any,
        ended: Any, status: Any, seen: Any, path: Any,
    ) -> None:  # fmt: skip
        native(
            params, poses, kept, mean, std, num_steps, may_fall, frames, ended, status, seen, path, wp.tid()
        )  # fmt: skip

    rows, line, cube = (wp.array(dtype=TYPES[precision.name], ndim=ndim) for ndim in (2, 1, 3))
    types = {"params": rows, "poses": rows, "kept": wp.array(dtype=wp.int32), "mean": line, "std": line}
    types |= dict.fromkeys(("num_steps", "may_fall", "frames"), int)
    types |= {"ended": rows, "status": wp.array2d(dtype=wp.int32), "seen": rows, "path": cube}
    text = episode_text(robot, shapes, precision) + epilogue()
    return made(f"episodes_{robot.name}", text, types, native, whole, fuse=precision is FLOAT)


def episode_text(robot: Robot, shapes: Shapes, precision: Precision) -> str:
    """The program of a kernel's thread."""
    return prelude(precision) + TANH[precision.name] + _episode(robot, shapes)


def _episode(robot: Robot, shapes: Shapes) -> str:
    nq, nv, nu, num_seen = robot.model.nq, robot.model.nv, robot.model.nu, robot.num_observations
    torques = literal(TORQUE_LIMIT)
    return f"""
const R* p = params.data + (size_t)tid * {sum(map(math.prod, shapes))};
R* const moments = seen.data + (size_t)tid * {1 + 2 * num_seen};
R q[{nq}], v[{nv}], w[{nv}], u[{nu}], before[{nq}], clearance[{robot.num_links}], contacts[{robot.num_links}];
R observation[{num_seen}], inputs[{num_seen}];
int steps = 0, good = 1, running = 1;
for (int i = 0; i < {nq}; i++) q[i] = poses.data[(size_t)tid * {nq} + i];
for (int i = 0; i < {nv}; i++) {{ v[i] = R(0); w[i] = R(0); }}
for (int i = 0; i < {robot.num_links}; i++) contacts[i] = R(0);
for (int i = 0; i < {1 + 2 * num_seen}; i++) moments[i] = R(0);
while (running && steps < num_steps) {{
  for (int i = 0; i < {nq} && steps < frames; i++) path.data[((size_t)tid * frames + steps) * {nq} + i] = q[i];
  {_observed(robot)}
  {_noted(num_seen)}
  for (int i = 0; i < {num_seen}; i++) {{
    const R x = (observation[i] - mean.data[i]) / std.data[i];
    inputs[i] = x < {literal(-LIMIT)} ? {literal(-LIMIT)} : (x > {literal(LIMIT)} ? {literal(LIMIT)} : x); }}
  {_network(shapes)}
  steps++;
  for (int i = 0; i < {nu}; i++) {{
    good = good && ISFINITE(u[i]); u[i] = u[i] < -{torques} ? -{torques} : (u[i] > {torques} ? {torques} : u[i]); }}
  for (int i = 0; i < {nq}; i++) before[i] = q[i];
  {emit(robot.model, robot.steps_per_control, robot.links)}
  {_slowed(robot)}
  {_judged(robot)}
}}
for (int i = 0; i < {nq} && steps < frames; i++) path.data[((size_t)tid * frames + steps) * {nq} + i] = q[i];
status.data[(size_t)tid * 2] = good; status.data[(size_t)tid * 2 + 1] = steps;
{_arrived(robot)}
"""


def _inputs(robot: Robot) -> tuple[Tape, Any, Any, Any]:
    """A tape, and the state that a robot is seen in."""
    tape = Tape()
    position, velocity = (
        symbols(tape.inputs(name, size)) for name, size in (("q", robot.model.nq), ("v", robot.model.nv))
    )
    return tape, position, velocity, symbols(tape.inputs("contacts", robot.num_links))


def _observed(robot: Robot) -> str:
    tape, position, velocity, contacts = _inputs(robot)
    seen = observe(robot, robot.torso(position, velocity), position, velocity, contacts)
    return block(tape.code((f"observation[{k}]", value) for k, value in enumerate(seen)))


def _noted(num_seen: int) -> str:
    """One more observation in the member's statistics (Welford's rule)."""
    return f"""
  if (kept.data[tid]) {{
    moments[0] += R(1);
    for (int i = 0; i < {num_seen}; i++) {{
      const R change = observation[i] - moments[1 + i];
      moments[1 + i] += change / moments[0];
      moments[{1 + num_seen} + i] += change * (observation[i] - moments[1 + i]); }} }}
"""


def _slowed(robot: Robot) -> str:
    """Velocities after the air had its share."""
    if not robot.drag:
        return ""
    tape, position, velocity, _ = _inputs(robot)
    after = slowed(robot, position, velocity)
    return block(tape.code((f"v[{k}]", value) for k, value in enumerate(after)))


def _judged(robot: Robot) -> str:
    """Whether the episode goes on; what has broken down stays where it was."""
    tape, position, velocity, contacts = _inputs(robot)
    torso = robot.torso(position, velocity)
    plausible = np.asarray(is_plausible(torso, position, velocity)).item()
    text = tape.code(keep=[plausible]) + f"good = good && {literal(plausible)};\n"
    text += f"if (!good) {{ running = 0; for (int i = 0; i < {robot.model.nq}; i++) q[i] = before[i]; }}\n"
    height = literal(robot.contact_distance)
    flags = f"for (int i = 0; i < {robot.num_links}; i++) contacts[i] = clearance[i] < {height} ? R(1) : R(0);\n"
    tape, position, velocity, contacts = _inputs(robot)
    fallen = np.asarray(has_fallen(robot, robot.torso(position, velocity), contacts)).item()
    return block(
        text + "else {\n" + flags + tape.code(keep=[fallen]) + f"if (may_fall && {literal(fallen)}) running = 0;\n}}\n"
    )


def _arrived(robot: Robot) -> str:
    tape, position, _, _ = _inputs(robot)
    way, size = displacement(robot, position), len(robot.behavior)
    return tape.code((f"ended.data[(size_t)tid * {size} + {k}]", value) for k, value in enumerate(way))


def _network(shapes: Shapes) -> str:
    """The network's layers, from ``inputs`` to ``u``; its parameters begin at ``p``: weights and biases in turn."""
    text, source, offset = "", "inputs", 0
    layers = list(zip(shapes[::2], shapes[1::2], strict=True))
    for number, ((num_in, num_out), _) in enumerate(layers):
        is_last = number == len(layers) - 1
        target = "u" if is_last else f"hidden{number}"
        text += "" if is_last else f"R {target}[{num_out}];\n"
        text += _layer(source, target, num_in, num_out, offset)
        if not is_last:
            text += f"for (int o = 0; o < {num_out}; o++) {target}[o] = squash({target}[o]);\n"
        source, offset = target, offset + (num_in + 1) * num_out
    return block(text)


def _layer(source: str, target: str, num_in: int, num_out: int, offset: int) -> str:
    """``target = source @ weight + bias``, four rows of weights at a time: each sum is loaded and stored less often."""
    unrolled, weights = num_in // 4 * 4, f"p + {offset}"
    rows = " ".join(f"const R* __restrict__ r{k} = {weights} + (i + {k}) * {num_out};" for k in range(4))
    rows += " ".join(f"const R x{k} = {source}[i + {k}];" for k in range(4))
    terms = " + ".join(f"x{k} * r{k}[o]" for k in range(4))
    return f"""
for (int o = 0; o < {num_out}; o++) {target}[o] = p[{offset + num_in * num_out} + o];
for (int i = 0; i < {unrolled}; i += 4) {{ {rows}
  for (int o = 0; o < {num_out}; o++) {target}[o] += {terms}; }}
for (int i = {unrolled}; i < {num_in}; i++)
  for (int o = 0; o < {num_out}; o++) {target}[o] += {source}[i] * p[{offset} + i * {num_out} + o];
"""
