"""What of a MuJoCo model is compiled: its joints as a tree, and a refusal of all that is not supported."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

FREE, BALL, SLIDE, HINGE = (int(kind) for kind in mujoco.mjtJoint.__members__.values())
TINY = 1e-12
"""What rounding leaves of a zero in a rotation: taken as zero, so that it costs nothing."""


class UnsupportedModelError(ValueError):
    """A model has something that is not compiled."""

    def __init__(self, what: str) -> None:
        super().__init__(f"This model cannot be compiled: {what}.")


def clean(array: Any) -> Any:
    """Numbers of a model in float64, with what is zero but for rounding as zero."""
    array = np.asarray(array, float)
    return np.where(np.abs(array) < TINY, 0.0, array)


def rotation(quaternion: Any) -> Any:
    """(3, 3) the rotation of a constant quaternion."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, float))
    return clean(matrix.reshape(3, 3))


@dataclass(frozen=True)
class Rigid:
    """A body with all that is welded to it: its mass, center of mass and inertia there, in the body's frame."""

    mass: float
    center: Any
    inertia: Any


class Tree:
    """The joints of a model: which degree of freedom moves which body."""

    def __init__(self, model: mujoco.MjModel) -> None:
        check(model)
        self.model = model
        self.num_dofs: int = model.nv
        self.parent = [int(parent) for parent in model.body_parentid]
        self.bodies = range(1, model.nbody)
        # Each degree of freedom with those that it rides on, from the root, itself last.
        self.chains: list[list[int]] = []
        for dof, parent in enumerate(model.dof_parentid):
            self.chains.append([*(self.chains[parent] if parent >= 0 else []), dof])
        # The entries of a matrix with the tree's sparsity: the mass matrix, and the solver's Hessian.
        self.entries = {pair: k for k, pair in enumerate((i, j) for i, chain in enumerate(self.chains) for j in chain)}

    def joints(self, body: int) -> range:
        """The joints between a body and its parent."""
        first = int(self.model.body_jntadr[body])
        return range(first, first + int(self.model.body_jntnum[body]))

    def dofs(self, body: int) -> range:
        """The degrees of freedom between a body and its parent."""
        first = int(self.model.body_dofadr[body])
        return range(first, first + int(self.model.body_dofnum[body]))

    def chain(self, body: int) -> list[int]:
        """All degrees of freedom that move a body."""
        body = int(self.model.body_weldid[body])
        return self.chains[self.dofs(body)[-1]] if body else []

    @cached_property
    def rigid(self) -> dict[int, Rigid]:
        """Bodies that move on their own, by number, each with what is welded to it."""
        parts: dict[int, list[tuple[float, Any, Any]]] = {}
        for body in self.bodies:
            weld, place, turn = self.weld(body)
            turn = turn @ rotation(self.model.body_iquat[body])
            center = place + self.weld(body)[2] @ self.model.body_ipos[body]
            inertia = turn @ np.diag(self.model.body_inertia[body]) @ turn.T
            parts.setdefault(weld, []).append((float(self.model.body_mass[body]), center, inertia))
        return {weld: _together(own) for weld, own in parts.items() if weld}

    def weld(self, body: int) -> tuple[int, Any, Any]:
        """The body that a body is welded to (itself, if it has joints), and its place and rotation there."""
        if body == 0 or len(self.joints(body)):
            return body, np.zeros(3), np.eye(3)
        weld, place, turn = self.weld(self.parent[body])
        return weld, place + turn @ self.model.body_pos[body], turn @ rotation(self.model.body_quat[body])


def _together(parts: list[tuple[float, Any, Any]]) -> Rigid:
    mass = sum(part[0] for part in parts)
    center = sum(part[0] * part[1] for part in parts) / mass
    inertia = np.zeros((3, 3))
    for part_mass, place, own in parts:
        away = place - center
        inertia += own + part_mass * (away @ away * np.eye(3) - np.outer(away, away))
    return Rigid(mass, clean(center), inertia)


def check(model: mujoco.MjModel) -> None:
    """Raise `UnsupportedModelError` for the first thing that is not compiled, by its name."""
    option, disable = model.opt, mujoco.mjtDisableBit
    # What may be switched off: it changes nothing of what is computed here.
    harmless = disable.mjDSBL_AUTORESET | disable.mjDSBL_SENSOR | disable.mjDSBL_MIDPHASE | disable.mjDSBL_NATIVECCD
    harmless |= disable.mjDSBL_ISLAND | disable.mjDSBL_MULTICCD | disable.mjDSBL_EQUALITY | disable.mjDSBL_FRICTIONLOSS
    driven = model.actuator_trnid[:, 0]
    problems = {
        f"the integrator {_name('mjtIntegrator', option.integrator)}; set it to Euler": option.integrator,
        f"the solver {_name('mjtSolver', option.solver)}; set it to Newton": option.solver
        != mujoco.mjtSolver.mjSOL_NEWTON,
        "elliptic friction cones; set pyramidal ones": option.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL,
        "disable flags that change the dynamics": option.disableflags & ~int(harmless),
        "enable flags": option.enableflags & ~int(mujoco.mjtEnableBit.mjENBL_ENERGY),
        "air (density, viscosity or wind)": option.density or option.viscosity or option.wind.any(),
        "noslip iterations": option.noslip_iterations,
        "equality constraints": model.neq,
        "tendons with springs, damping, friction, limits or armature": _active_tendons(model),
        "flexible bodies": model.nflex,
        "plugins": model.nplugin,
        "mocap bodies": model.nmocap,
        "contact pairs": model.npair,
        "gravity compensation": model.body_gravcomp.any(),
        "friction loss of joints": model.dof_frictionloss.any(),
        "plastic joints": model.nplastic,
        "springs that are not linear": model.jnt_stiffnesspoly.any() or model.jnt_springyield.any(),
        "springs or limits of free or ball joints": ((model.jnt_stiffness > 0) | (model.jnt_limited > 0))[
            model.jnt_type <= BALL
        ].any(),
        "joints whose limits are nearer than their margin": (
            (np.diff(model.jnt_range)[:, 0] <= 2 * model.jnt_margin) & (model.jnt_limited > 0)
        ).any(),
        "limits on the forces of joints": model.jnt_actfrclimited.any(),
        "actuators with a state, a delay or a bias": model.na
        or model.nhistory
        or model.actuator_dyntype.any()
        or model.actuator_biastype.any()
        or model.actuator_gaintype.any(),
        "actuators that drive something else than one hinge or slide": model.actuator_trntype.any()
        or (model.jnt_type[driven] <= BALL).any(),
        "actuators with damping or armature": model.actuator_damping.any()
        or model.actuator_dampingpoly.any()
        or model.actuator_armature.any(),
        "more than 64 joints": model.njnt > 64,
        "no joint": model.njnt == 0,
    }
    for problem, present in problems.items():
        if present:
            raise UnsupportedModelError(f"it has {problem}")


def _active_tendons(model: mujoco.MjModel) -> bool:
    names = ("stiffness", "damping", "frictionloss", "limited", "armature")
    return any(getattr(model, f"tendon_{name}").any() for name in names)


def _name(enumeration: str, value: int) -> str:
    return str(getattr(mujoco, enumeration)(value).name).split("_")[-1]
