"""What of a model may differ between worlds: numbers that are inputs of the compiled function, if asked for."""

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from mujoco_fused.errors import FusedError, check_model, several
from mujoco_fused.expressions import Scalar, Tape, Value

NAMES = {
    "gear": "(nu,) in place of `actuator_gear[:, 0]`; 0 is a motor that has failed",
    "friction": "(ngeom,) in place of `geom_friction[:, 0]`; in `FLOAT` not below `LEAST_FRICTION`",
    "mass": "(nbody,) in place of `body_mass`; a body's inertia grows in proportion, as if it were of denser matter",
    "damping": "(nv,) in place of `dof_damping`",
    "gravity": "(3,) in place of `opt.gravity`",
    "force": "(nbody, 6) a force and a torque on each body's center of mass, as `xfrc_applied` of MuJoCo's data",
}
"""The parameters that worlds may differ in, each with its shape and what it stands for."""


def own_parameters(model: mujoco.MjModel) -> dict[str, Any]:
    """A model's own values of all parameters by name, in the shapes that a world's row of each has.

    A world whose rows have these values moves as the model does. What MuJoCo derives of the model when it is read
    (`body_invweight0` and the like) stays that of the model, as it does if fields of a `MjModel` are edited.
    """
    check_model(model)
    return {
        "gear": model.actuator_gear[:, 0].copy(),
        "friction": model.geom_friction[:, 0].copy(),
        "mass": model.body_mass.copy(),
        "damping": model.dof_damping.copy(),
        "gravity": np.where(np.abs(model.opt.gravity) < 1e-12, 0.0, model.opt.gravity),
        "force": np.zeros((model.nbody, 6)),
    }


class Numbers:
    """A model's numbers: constants, but for the parameters that are inputs of the program.

    Args:
        model: the model.
        given: names of parameters that are inputs: of each the array ``p_NAME`` is in scope.
        tape: what is computed of them is recorded here.
    """

    def __init__(self, model: mujoco.MjModel, given: Iterable[str] = (), tape: Tape | None = None) -> None:
        self.model, self.given, self.tape = model, several("parameters", given), tape or Tape()
        if wrong := [name for name in self.given if name not in NAMES or self.given.count(name) > 1]:
            raise FusedError(f"Unknown or repeated parameters {wrong}. Available, once each: {', '.join(NAMES)}.")
        self.shapes = {name: array.shape for name, array in own_parameters(model).items()}
        self.own = {name: np.ravel(array) for name, array in own_parameters(model).items()}

    def __call__(self, name: str, index: int) -> Value:
        """One number of a parameter: its value, or the input that has it."""
        return Scalar(self.tape, f"p_{name}[{index}]") if name in self.given else float(self.own[name][index])

    def pointers(self, array: str, kind: str) -> str:
        """Statements that declare ``p_NAME`` of all inputs: a world's row of one array, one after another."""
        text, offset, whole = "", 0, sum(self.own[name].size for name in self.given)
        for name in self.given:
            text += f"const {kind}* p_{name} = {array}.data + (size_t)tid * {whole} + {offset};\n"
            offset += self.own[name].size
        return text
