"""The paper's robots: what PyBullet, its simulator, makes of the same assets, as edits of Gymnasium's for MuJoCo.

PyBullet ignores springs, damping and armature, takes a density of 1,000 kg per cubic meter, gives each foot of the
cheetah the 10 kg that its file names, and puts the cheetah's centers of mass into the joints. So masses and moments of
inertia are written down here as it reports them, motors and joint ranges too. What it does besides:

- Air: every link loses 0.04 (1 + its speed) of its momentum per second, see `observations.slowed`.
- Stops: a joint at its limit loses its speed within a time step, but hardly is pushed back, however far beyond it is.
  The ant starts with its ankles 30 degrees beyond theirs.
- Ankles of the ant: their axes are written as (-1, 1, 0), which it does not normalize. Alone, a shin is accelerated
  by half as much as it should; against the floor it pushes with 71 % of its torque.

What no file tells is fitted to motions that were recorded in PyBullet: ``benchmarks/fit_bodies.py`` fits,
``benchmarks/bullet.py`` compares.
"""

from typing import Any, NamedTuple

import mujoco
import numpy as np

CONTROL_STEP = 0.0165  # seconds
DRAG = 0.04
GRAVITY = 9.8
CONTACT_DISTANCE = {"cheetah": 0.006, "ant": 0.009}  # meters: so near to the floor PyBullet calls it touched


class BodyInertia(NamedTuple):
    """A link's mass (kg) and its moments of inertia (kg m^2) about x, y, z."""

    mass: float
    """The mass in kg."""
    moments: tuple[float, float, float]
    """The moments of inertia about x, y and z in kg m^2."""


class ContactSettings(NamedTuple):
    """How hard floor or stops are, as shares of one time step."""

    damping: float
    """The share of the speed into the surface that is lost per time step."""
    stiffness: float
    """The share of the depth that is pushed out per time step."""
    impedance: tuple[float, float, float]
    """MuJoCo's solimp: at the surface, at depth, and that depth in meters or rad."""

    def reference(self, time_step: float) -> tuple[float, float]:
        """MuJoCo's solref."""
        return -self.stiffness / time_step**2, -self.damping / time_step


class Fit(NamedTuple):
    """What is fitted to PyBullet's motions."""

    floor: ContactSettings
    """The contact with the floor."""
    stop: ContactSettings
    """The stops of joints."""
    friction: float
    """The friction of the floor."""
    armature: float = 0.0
    """The armature of the cheetah's joints or the ant's ankles, in kg m^2."""
    damping: float = 0.0
    """The damping of all joints, in N m s / rad."""
    ankle: float = 0.0
    """The torque of the ant's ankles, in N m."""
    steps_per_control: int = 4
    """Time steps per control step, as in PyBullet."""


CHEETAH: dict[str, BodyInertia] = {
    "torso": BodyInertia(9.457333, (0.118510, 1.564630, 1.492760)),
    "bthigh": BodyInertia(2.335527, (0.026653, 0.043289, 0.019931)),
    "bshin": BodyInertia(2.402003, (0.014835, 0.043925, 0.032479)),
    "bfoot": BodyInertia(10.0, (0.079277, 0.094460, 0.029290)),
    "fthigh": BodyInertia(2.175984, (0.024567, 0.035076, 0.013579)),
    "fshin": BodyInertia(1.817013, (0.015169, 0.023169, 0.010563)),
    "ffoot": BodyInertia(10.0, (0.056433, 0.085062, 0.042736)),
}
CHEETAH_RANGES = {"fthigh": (-1.5, 0.8), "fshin": (-1.2, 1.1), "ffoot": (-3.1, -0.3)}  # rad, others as Gymnasium's
CHEETAH_MOTORS = {"bthigh": 108.0, "bshin": 81.0, "bfoot": 54.0, "fthigh": 126.0, "fshin": 54.0, "ffoot": 27.0}  # N m
CHEETAH_FIT = Fit(
    ContactSettings(0.885, 0.15, (0.8, 0.955, 0.01)), ContactSettings(1.0, 0.0005, (0.99, 0.99, 0.01)), friction=0.64
)
ANT_TORSO = BodyInertia(65.449847, (1.636246, 1.636246, 1.636246))
ANT_THIGH = BodyInertia(7.831550, (0.163940, 0.163940, 0.252698))  # each of the two parts of a leg above its knee
ANT_SHIN = BodyInertia(13.518440, (0.526318, 0.526318, 0.922859))
ANT_HIP = 250.0  # N m
ANT_FIT = Fit(
    ContactSettings(0.875, 0.17, (0.93, 0.96, 0.0075)),
    ContactSettings(1.0, 0.0005, (0.99, 0.99, 0.01)),
    friction=1.3,
    armature=0.55,
    ankle=179.0,
)
FITS = {"cheetah": CHEETAH_FIT, "ant": ANT_FIT}


def edit_cheetah(spec: mujoco.MjSpec, fit: Fit) -> None:
    """Gymnasium's cheetah becomes PyBullet's."""
    _edit(spec, fit)
    for name, inertia in CHEETAH.items():
        _weigh(spec.body(name), inertia, (0.0, 0.0, 0.0))
        if name != "torso":
            spec.joint(name).armature = fit.armature
    for name, limits in CHEETAH_RANGES.items():
        spec.joint(name).range = limits
    for motor in spec.actuators:
        motor.gear[0] = CHEETAH_MOTORS[motor.target]


def edit_ant(spec: mujoco.MjSpec, fit: Fit) -> None:
    """Gymnasium's ant becomes PyBullet's."""
    _edit(spec, fit)
    for geom in spec.geoms:
        if geom.parent.name == "torso":
            _weigh(geom.parent, ANT_TORSO, (0.0, 0.0, 0.0))
        elif geom.name != "floor":
            ends = geom.fromto
            _weigh(geom.parent, ANT_SHIN if "ankle" in geom.name else ANT_THIGH, (ends[:3] + ends[3:]) / 2)
    for joint in spec.joints:
        if joint.name.startswith("hip"):
            joint.range = (-40, 40)  # degrees, as the asset has them
        elif joint.name.startswith("ankle"):
            joint.range = (30, 100) if joint.range[0] > 0 else (-100, -30)
            joint.armature = fit.armature
    for motor in spec.actuators:
        motor.gear[0] = ANT_HIP if motor.target.startswith("hip") else fit.ankle


def _edit(spec: mujoco.MjSpec, fit: Fit) -> None:
    time_step = CONTROL_STEP / fit.steps_per_control
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    spec.option.timestep = time_step
    spec.option.gravity[2] = -GRAVITY
    for joint in spec.joints:
        joint.stiffness, joint.damping, joint.armature, joint.margin = np.zeros(3), np.zeros(3), 0.0, 0.0
        if joint.name.startswith("root"):
            continue
        joint.damping[0] = fit.damping
        joint.solref_limit = fit.stop.reference(time_step)
        joint.solimp_limit[:3] = fit.stop.impedance
    for geom in spec.geoms:
        geom.friction[0], geom.margin = fit.friction, 0.0
        geom.solref = fit.floor.reference(time_step)
        geom.solimp[:3] = fit.floor.impedance


def _weigh(body: mujoco.MjsBody, inertia: BodyInertia, center: Any) -> None:
    body.explicitinertial = True
    body.mass, body.inertia = inertia.mass, inertia.moments
    body.ipos, body.iquat = center, (1.0, 0.0, 0.0, 0.0)
