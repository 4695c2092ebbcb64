"""A model changed until it can be compiled, with a list of what was changed."""

import copy
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco_fused import LEAST_FRICTION, contact_pairs, needs_double, unsupported

from evolvability.core.errors import ConfigError

BITS = 31
"""Of contype and conaffinity, that are used."""
Change = Callable[[mujoco.MjModel], str]
"""Edits a model, and says how; empty where there was nothing to do."""


def simplified(model: mujoco.MjModel, name: str) -> tuple[mujoco.MjModel, list[str]]:
    """A copy of a model that is compiled, and its changes in words; refused where changes do not help."""
    model, said = copy.copy(model), list[str]()
    is_compiled = not (unsupported(model) or needs_double(model))
    # One after another, and only as long as something is in the way.
    for change in CHANGES:
        if not is_compiled and (text := change(model)):
            said.append(text)
            is_compiled = not (unsupported(model) or needs_double(model))
    mujoco.mj_setConst(model, mujoco.MjData(model))
    if reasons := unsupported(model):
        floor = " Contacts with what is fixed stay. Let it stand on a plane." if _on_other_floors(model) else ""
        raise ConfigError(f"{name} cannot be simplified until it is compiled.{floor} {' '.join(reasons)}")
    return model, said


def without_states(spec: mujoco.MjSpec) -> list[str]:
    """Actuators that act at once, where they had a state: edits a model before it is compiled."""
    found = [actuator for actuator in spec.actuators if actuator.dyntype != mujoco.mjtDyn.mjDYN_NONE]
    for actuator in found:
        actuator.dyntype, actuator.actlimited = mujoco.mjtDyn.mjDYN_NONE, 0
    for key in spec.keys:
        key.act = []
    return [f"{len(found)} actuators act at once"] if found else []


def _solving(model: mujoco.MjModel) -> str:
    """An integrator, cones and flags that are compiled."""
    option, said = model.opt, []
    kept = (mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_IMPLICITFAST, mujoco.mjtIntegrator.mjINT_RK4)
    if option.integrator not in kept:
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        said.append("the integrator is implicitfast")
    if option.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL:
        option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
        said.append("friction cones are pyramidal")
    if option.noslip_iterations:
        option.noslip_iterations = 0
        said.append("no noslip iterations")
    for flag in ("SLEEP", "OVERRIDE", "IPC", "SPECULATIVE", "DIAGEXACT"):
        bit = int(getattr(mujoco.mjtEnableBit, f"mjENBL_{flag}"))
        if option.enableflags & bit:
            option.enableflags &= ~bit
            said.append(f"the flag {flag.lower()} is off")
    return ", ".join(said)


def _alone(model: mujoco.MjModel) -> str:
    """Free bodies without joints of their own, whose spin implicitfast treats apart."""
    if not any("implicitfast treats apart" in reason for reason in unsupported(model)):
        return ""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    return "the integrator is Euler"


def _without(said: str, *fields: str) -> Change:
    """What sets numbers of a model to 0."""

    def change(model: mujoco.MjModel) -> str:
        found = False
        for owner, _, name in (field.rpartition(".") for field in fields):
            holder = getattr(model, owner) if owner else model
            found |= bool(np.any(getattr(holder, name)))
            setattr(holder, name, np.zeros_like(getattr(holder, name)))
        return said if found else ""

    return change


def _equalities(model: mujoco.MjModel) -> str:
    if not model.neq:
        return ""
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    return "no equality constraints"


def _ball_limits(model: mujoco.MjModel) -> str:
    turning = model.jnt_type <= int(mujoco.mjtJoint.mjJNT_BALL)
    found = turning & ((model.jnt_limited > 0) | (model.jnt_stiffness > 0) | (model.jnt_actfrclimited > 0))
    model.jnt_limited[turning], model.jnt_actfrclimited[turning], model.jnt_stiffness[turning] = 0, 0, 0
    return "ball joints without limits and springs" if found.any() else ""


def _touching(model: mujoco.MjModel) -> str:
    """Contacts with what is fixed alone: what moves passes through itself."""
    kept = _standing(model)
    floors = sorted({floor for _, floor in kept})
    if len(kept) == len(contact_pairs(model)) or len(floors) > BITS:
        return ""
    # A bit for each fixed thing, for all that may touch it.
    model.geom_contype[:], model.geom_conaffinity[:] = 0, 0
    for geom, floor in kept:
        model.geom_contype[floor] = 1 << floors.index(floor)
        model.geom_conaffinity[geom] |= 1 << floors.index(floor)
    return "it does not touch itself, nor other things that move"


def _standing(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """All geoms that may touch something fixed, each with that."""
    is_fixed = model.body_weldid[model.geom_bodyid] == 0
    both = [(pair.geom, pair.plane) for pair in contact_pairs(model)]
    return [two if is_fixed[two[1]] else two[::-1] for two in both if is_fixed[list(two)].any()]


def _on_other_floors(model: mujoco.MjModel) -> bool:
    return any(model.geom_type[floor] != int(mujoco.mjtGeom.mjGEOM_PLANE) for _, floor in _standing(model))


def _shapes(model: mujoco.MjModel) -> str:
    """Meshes, cylinders and ellipsoids touch the floor as boxes around them."""
    plain = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind}")) for kind in ("SPHERE", "CAPSULE", "BOX", "PLANE")}
    found = sorted({pair.geom for pair in contact_pairs(model) if int(model.geom_type[pair.geom]) not in plain})
    for geom in found:
        center, half = model.geom_aabb[geom, :3].copy(), model.geom_aabb[geom, 3:].copy()
        turned = np.zeros(3)
        mujoco.mju_rotVecQuat(turned, center, model.geom_quat[geom])
        model.geom_pos[geom] += turned
        model.geom_type[geom], model.geom_size[geom] = int(mujoco.mjtGeom.mjGEOM_BOX), half
        model.geom_aabb[geom, :3], model.geom_dataid[geom] = 0, -1
        model.geom_rbound[geom] = np.linalg.norm(half)
    return f"boxes touch the floor in the place of {len(found)} other shapes" if found else ""


def _sliding(model: mujoco.MjModel) -> str:
    """Contacts that slide, and neither roll nor twist; not too slippery."""
    said = []
    if (found := (model.geom_condim > 3) | (model.geom_condim == 2)).any():
        model.geom_condim[found] = 3
        said.append("contacts without rolling and twisting friction")
    if needs_double(model):
        model.geom_friction[:, 0] = np.maximum(model.geom_friction[:, 0], LEAST_FRICTION)
        said.append(f"a friction of {LEAST_FRICTION} at least")
    return ", ".join(said)


TENDONS = ("limited", "frictionloss", "armature", "stiffness", "stiffnesspoly", "damping", "dampingpoly")
CHANGES: tuple[Change, ...] = (
    _solving,
    _alone,
    _without("no air or water around it", "opt.density", "opt.viscosity", "opt.wind"),
    _without("no gravity compensation", "body_gravcomp", "jnt_actgravcomp"),
    _without("tendons without limits, springs, damping and friction", *(f"tendon_{name}" for name in TENDONS)),
    _ball_limits,
    _sliding,
    _touching,
    _shapes,
    _equalities,
)
"""The less a change matters, the sooner it is tried."""
