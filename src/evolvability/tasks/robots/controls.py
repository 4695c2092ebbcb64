"""From a network's outputs to a model's controls: over the ranges of its actuators."""

import mujoco
import numpy as np

from evolvability.core.errors import ConfigError
from evolvability.tasks.actions import Actions
from evolvability.tasks.replay import HostArray

BALL = int(mujoco.mjtJoint.mjJNT_BALL)


def actions_of(model: mujoco.MjModel, start: HostArray, home: HostArray | None, scale: float) -> Actions:
    """Controls over their ranges: of motors around the middle, of those that hold a position around the first pose.

    Args:
        model: the model.
        start: its first pose.
        home: controls that hold it there, if they are known.
        scale: by an output of 1 a control moves by this times half of its range.
    """
    low, middle, high = np.array([_range(model, number, start, home) for number in range(model.nu)]).T
    for number in np.flatnonzero(~(low < high)):
        name, ends = model.actuator(number).name or str(number), f"{low[number]:g} to {high[number]:g}"
        raise ConfigError(f"The actuator '{name}' has the range {ends}, in which nothing can be controlled.")
    half = scale * (high - low) / 2
    return Actions((low - middle) / half, (high - middle) / half, middle, half, (model.nu,), "float32")


def _range(model: mujoco.MjModel, number: int, start: HostArray, home: HostArray | None) -> tuple[float, float, float]:
    """The lowest control, that of an output of 0, and the highest."""
    low, high = model.actuator_ctrlrange[number]
    is_limited, gear = bool(model.actuator_ctrllimited[number]), float(model.actuator_gear[number, 0])
    joint = int(model.actuator_trnid[number, 0]) if model.actuator_trntype[number] == mujoco.mjtTrn.mjTRN_JOINT else -1
    if model.actuator_biasprm[number, 1] >= 0 or joint < 0 or model.jnt_type[joint] <= BALL:
        low, high = (low, high) if is_limited else (-1.0, 1.0)
        return low, (low + high) / 2, high
    at_start = gear * start[model.jnt_qposadr[joint]] if home is None else home[number]
    if not is_limited:
        low, high = sorted(gear * model.jnt_range[joint]) if model.jnt_limited[joint] else (at_start - 1, at_start + 1)
    return low, np.clip(at_start, low, high), high
