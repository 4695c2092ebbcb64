"""What of a model is not compiled: all reasons at once, by names."""

from typing import Any

import mujoco
import numpy as np

from mujoco_fused.errors import check_model
from mujoco_fused.fields import NOT_NEGATIVE, REFUSED
from mujoco_fused.pairs import listed, pair_problems, pairs
from mujoco_fused.tree import BALL, FREE, disabled

INTEGRATORS = ("EULER", "IMPLICITFAST", "RK4")
ENABLED = ("OVERRIDE", "SLEEP", "DIAGEXACT", "IPC", "SPECULATIVE")
"""Flags that change the dynamics if they are set; others only add to what is reported."""
OBJECTS = {"body": "bodies", "jnt": "joints", "geom": "geoms", "actuator": "actuators", "tendon": "tendons"}


def unsupported(model: mujoco.MjModel) -> list[str]:
    """All reasons why a model cannot be compiled, each with the names it is about and what would help; empty if none.

    The solver is not a reason: Newton's method, which is compiled, solves the problem that others (PGS, CG) solve.
    """
    check_model(model)
    reasons = [
        text + _about(model, name, mask)
        for name, (default, text) in REFUSED.items()
        if (mask := np.asarray(field(model, name)) != default).any() and not _is_off(model, name)
    ]
    negative = {name: np.asarray(field(model, name)) < 0 for name in NOT_NEGATIVE.split()}
    reasons += [f"It has a negative {name}.{_about(model, name, own)}" for name, own in negative.items() if own.any()]
    found = reasons + _options(model) + _joints(model) + _actuators(model)
    return list(dict.fromkeys(found + pair_problems(model)))


def field(model: mujoco.MjModel, name: str) -> Any:
    """A field by its name, also of the model's options and statistics."""
    owner, _, last = name.rpartition(".")
    return getattr(getattr(model, owner) if owner else model, last)


def _is_off(model: mujoco.MjModel, name: str) -> bool:
    """Whether a flag disables what a field sets."""
    flags = {"neq": "EQUALITY", "body_gravcomp": "GRAVITY", "jnt_stiffnesspoly": "SPRING", "tendon_limited": "LIMIT"}
    flags |= {"tendon_frictionloss": "FRICTIONLOSS", "jnt_actgravcomp": "GRAVITY"}
    flags |= dict.fromkeys(("tendon_stiffness", "tendon_stiffnesspoly"), "SPRING")
    flags |= dict.fromkeys(("tendon_damping", "tendon_dampingpoly"), "DAMPER")
    constraints = ("neq", "tendon_limited", "tendon_frictionloss")
    return (name in flags and disabled(model, flags[name])) or (name in constraints and disabled(model, "CONSTRAINT"))


def _about(model: mujoco.MjModel, name: str, mask: Any) -> str:
    """The names of objects that a reason is about."""
    kind = name.partition("_")[0]
    if kind not in OBJECTS or not np.shape(mask):
        return ""
    rows = np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1))
    return _named(model, kind, rows)


def _named(model: mujoco.MjModel, kind: str, rows: Any) -> str:
    names = [repr(getattr(model, kind)(int(row)).name or int(row)) for row in rows]
    return f" {OBJECTS[kind].capitalize()}: {listed(names)}."


def _options(model: mujoco.MjModel) -> list[str]:
    option, found = model.opt, []
    integrator = mujoco.mjtIntegrator(option.integrator).name.removeprefix("mjINT_")
    if integrator not in INTEGRATORS:
        found.append(f"It has the integrator {integrator}. Compiled are: {', '.join(INTEGRATORS)}.")
    if option.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL and any(pair.dimension > 1 for pair in pairs(model)):
        found.append("It has elliptic friction cones. Set cone='pyramidal'.")
    friction = model.pair_friction[:, 0] != model.pair_friction[:, 1]
    if (friction & (model.pair_dim > 1)).any():
        found.append("It has contact pairs with two different sliding frictions. Give one twice.")
    flags = [name for name in ENABLED if option.enableflags & int(getattr(mujoco.mjtEnableBit, f"mjENBL_{name}"))]
    return found + [f"It has the flag {name.lower()} enabled. Disable it." for name in flags]


def _joints(model: mujoco.MjModel) -> list[str]:
    turning = model.jnt_type <= BALL
    limited = (model.jnt_limited > 0) & (not disabled(model, "LIMIT", "CONSTRAINT"))
    sprung = (model.jnt_stiffness != 0) & (not disabled(model, "SPRING"))
    narrow = limited & (np.diff(model.jnt_range)[:, 0] <= 2 * model.jnt_margin)
    masses = np.bincount(model.body_weldid, model.body_mass)
    problems = {
        "It has joints of bodies without mass. Give them mass": masses[model.jnt_bodyid] <= 0,
        "It has ball joints with limits. Remove range": limited & turning,
        "It has springs of free or ball joints. Remove stiffness": sprung & turning,
        "It has joints whose limits are nearer to each other than their margins. Make margin smaller": narrow,
        "It has free bodies without joints of their own, whose spin implicitfast treats apart. Set the integrator to "
        "Euler": _alone(model),
        "It has free or ball joints with a limit on forces. Remove actuatorfrcrange": turning
        & (model.jnt_actfrclimited > 0),
    }
    found = [f"{text}.{_named(model, 'jnt', np.flatnonzero(mask))}" for text, mask in problems.items() if mask.any()]
    if not model.njnt:
        found.append("It has no joint: nothing moves.")
    return found


def _alone(model: mujoco.MjModel) -> Any:
    """(njnt,) which free joints are a tree's only one, where the integrator is implicitfast."""
    is_implicit = model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    trees = model.dof_treeid[model.jnt_dofadr]
    return (model.jnt_type == FREE) & (np.bincount(model.dof_treeid, minlength=1)[trees] == 6) & is_implicit


def _actuators(model: mujoco.MjModel) -> list[str]:
    if model.nactuator != model.nu or model.nout != model.nu:
        return ["It has actuators with several controls or forces. Compiled are motors with one each."]
    joints = np.where(model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT), model.actuator_trnid[:, 0], 0)
    elsewhere = (model.actuator_trntype > 0) | (model.jnt_type[joints] <= BALL if model.njnt else True)
    kinds = mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE
    none, fixed, affine = map(int, kinds)
    gains, biases = model.actuator_gaintype, (int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE))
    problems = {
        "It has actuators that drive something else than one hinge or slide. Let them drive joints": elsewhere,
        "It has actuators with a state. Set dyntype to none": (model.actuator_dyntype != none) & (model.na == 0),
        "It has actuators with a gain that is neither fixed nor affine. Set gaintype": ~np.isin(gains, (fixed, affine)),
        "It has actuators with a bias that is not affine. Set biastype": ~np.isin(model.actuator_biastype, biases),
    }
    return [
        f"{text}.{_named(model, 'actuator', np.flatnonzero(mask))}" for text, mask in problems.items() if mask.any()
    ]
