"""What is compiled of a model, and a refusal of all else."""

import mujoco
import numpy as np

from mujoco_fused.pairs import pair_problems
from mujoco_fused.tree import BALL


def unsupported(model: mujoco.MjModel) -> list[str]:
    """All reasons why a model cannot be compiled, each a sentence that names what it is about; empty where it can."""
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
    return [f"It has {problem}." for problem, present in problems.items() if present] + pair_problems(model)


def _active_tendons(model: mujoco.MjModel) -> bool:
    names = ("stiffness", "damping", "frictionloss", "limited", "armature")
    return any(getattr(model, f"tendon_{name}").any() for name in names)


def _name(enumeration: str, value: int) -> str:
    return str(getattr(mujoco, enumeration)(value).name).split("_")[-1]
