"""Whole episodes of robots with their networks as one C++ function, for the cores of a CPU.

A member's network is read at every control step. Its episode runs through to its end on one core, so that the network
stays in that core's cache.
"""

from typing import NamedTuple

import warp as wp
from mujoco_fused import FLOAT, Precision, block, epilogue, literal, make_kernel, prelude

from evolvability.tasks.engines.control import advanced, observed, row_of
from evolvability.tasks.engines.network_text import NetworkText
from evolvability.tasks.normalizer import LIMIT
from evolvability.tasks.robots.robot import Robot
from evolvability.tasks.robots.tracing import scene

ARGUMENTS = {"params": "R**", "poses": "R**", "kept": "int*", "mean": "R*", "std": "R*"}
ARGUMENTS |= dict.fromkeys(("num_steps", "may_fall", "frames"), "int")
ARGUMENTS |= {"ended": "R**", "status": "int**", "seen": "R**", "path": "R***"}
"""Of an episode, by name: a type, with an asterisk for each axis of an array."""


class Given(NamedTuple):
    """What else a member's row of ``poses`` has, in this order."""

    velocities: bool = False
    """Whether a pose is followed by velocities; robots start at rest where it is not."""
    parameters: tuple[str, ...] = ()
    """The parameters of the physics that follow, see `Circumstances.parameters`."""


def episode_kernel(robot: Robot, network: NetworkText, precision: Precision, given: Given) -> wp.Kernel:
    """A kernel of one thread per member: from its parameters and pose to where its episode ended.

    It reads: parameters, poses with what else is given, whether to keep statistics of observations, the mean and
    standard deviation to scale observations by, the number of steps, whether a fall ends an episode, and the number of
    frames to record per member (0, or one more than steps). It writes: displacement, (valid, steps), statistics as
    (count, means, sums of squared deviations), and frames.
    """
    dtypes = {"R": precision.warp, "int": wp.int32}
    kinds = {name: (dtypes[kind.rstrip("*")], kind.count("*")) for name, kind in ARGUMENTS.items()}
    types = {name: wp.array(dtype=dtype, ndim=axes) if axes else int for name, (dtype, axes) in kinds.items()}
    text = episode_text(robot, network, precision, given) + epilogue()
    return make_kernel(f"episodes_{robot.name}", text, types, fuse=precision is FLOAT)


def episode_text(robot: Robot, network: NetworkText, precision: Precision, given: Given = Given()) -> str:  # noqa: B008
    """The program of a kernel's thread."""
    nq, nv, nu, num_seen = robot.model.nq, robot.model.nv, robot.model.nu, robot.num_observations
    row, pointers = row_of(robot, given.parameters, "poses", nq + nv * given.velocities)
    # C++ knows no array without elements.
    num_links, num_readings, total = max(robot.num_links, 1), robot.num_readings, ""
    if num_readings:
        total = f"for (int i = 0; i < {num_readings}; i++) clearance[{robot.num_links} + i] = R(0);\n"
    if robot.is_averaged:
        total += f"R total[{len(robot.behavior)}];\nfor (int i = 0; i < {len(robot.behavior)}; i++) total[i] = R(0);\n"
    velocity = f"poses.data[(size_t)tid * {row} + {nq} + i]" if given.velocities else "R(0)"
    return f"""{prelude(precision)}
const R* p = params.data + (size_t)tid * {network.length};
R* const moments = seen.data + (size_t)tid * {1 + 2 * num_seen};
R q[{nq}], v[{nv}], w[{nv}], u[{nu}], before[{nq}], clearance[{num_links + num_readings}], contacts[{num_links}];
R observation[{num_seen}], inputs[{num_seen}];
int steps = 0, good = 1, running = 1;
{total}{network.begins}{pointers}for (int i = 0; i < {nq}; i++) q[i] = poses.data[(size_t)tid * {row} + i];
for (int i = 0; i < {nv}; i++) {{ v[i] = {velocity}; w[i] = R(0); }}
for (int i = 0; i < {robot.num_links}; i++) contacts[i] = R(0);
for (int i = 0; i < {1 + 2 * num_seen}; i++) moments[i] = R(0);
while (running && steps < num_steps) {{
  for (int i = 0; i < {nq} && steps < frames; i++) path.data[((size_t)tid * frames + steps) * {nq} + i] = q[i];
  {observed(robot)}
  {_noted(num_seen)}
  for (int i = 0; i < {num_seen}; i++) {{
    const R x = (observation[i] - mean.data[i]) / std.data[i];
    inputs[i] = x < {literal(-LIMIT)} ? {literal(-LIMIT)} : (x > {literal(LIMIT)} ? {literal(LIMIT)} : x); }}
  {network.acts}
  steps++;
  for (int i = 0; i < {nq}; i++) before[i] = q[i];
  {advanced(robot, given.parameters)}
  // What has broken down stays where it was. Not a condition of the loop: LLVM compiles that into something else.
  if (!good) {{ for (int i = 0; i < {nq}; i++) q[i] = before[i]; }}
{_summed(robot)}}}
for (int i = 0; i < {nq} && steps < frames; i++) path.data[((size_t)tid * frames + steps) * {nq} + i] = q[i];
status.data[(size_t)tid * 2] = good; status.data[(size_t)tid * 2 + 1] = steps;
{_arrived(robot)}
"""


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


def _summed(robot: Robot) -> str:
    """What is measured after every step, where behavior is the mean of it."""
    if not robot.is_averaged:
        return ""
    tape, view = scene(robot)
    values = [literal(value) for value in robot.measure(view)]
    return block(tape.code(keep=robot.measure(view)) + "".join(f"total[{k}] += {v};\n" for k, v in enumerate(values)))


def _arrived(robot: Robot) -> str:
    tape, view = scene(robot)
    size = len(robot.behavior)
    if robot.is_averaged:
        return f"for (int i = 0; i < {size}; i++) ended.data[(size_t)tid * {size} + i] = total[i] / R(steps);\n"
    return tape.code((f"ended.data[(size_t)tid * {size} + {k}]", one) for k, one in enumerate(robot.measure(view)))
