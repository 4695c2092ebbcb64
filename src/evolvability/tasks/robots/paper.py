"""The paper's robots: Gymnasium's MuJoCo assets, edited in code. One definition of each body serves every engine.

The body `paper` is PyBullet's, see `paper_bodies`; the body `gymnasium` is that of the assets, with time steps of 8.25
ms, two per control step, which is the paper's control rate of 0.0165 s. Changed in both, and why:

- Contacts are with the floor alone, and of the ant only its torso and shins touch it: a thigh lies inside the hull of
  the torso and the knees, so it cannot touch first. Few contacts, and always the same ones, keep programs small.
- A simulation that breaks down is not reset behind our back (MuJoCo's own habit): it must be seen to be left out.
- Sensors say where every link that may touch the floor is and which way it points.
"""

import functools
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco_fused import Kinematics

from evolvability.tasks.actions import clipped
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots import paper_bodies
from evolvability.tasks.robots.mjcf import ASSETS
from evolvability.tasks.robots.observations import displacement, fallen_beyond, pybullet_observation
from evolvability.tasks.robots.robot import Robot, Torso
from evolvability.tasks.robots.views import Arrays, View

TIME_STEP = 0.00825  # seconds, of the body gymnasium

BODIES = ("paper", "gymnasium")


Solver = tuple[int, int]
"""How hard MuJoCo's Newton solver tries: iterations, and line-search iterations in each of them, at most."""
# In the order of PyBullet's contact flags.
CHEETAH_LINKS = ("ffoot", "fshin", "fthigh", "bfoot", "bshin", "bthigh")
SOLVER: Solver = (8, 8)
ANT_LINKS = ("left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom")
ANT_FRICTION = 1.5  # of the body gymnasium
FALLEN = 0.26  # meters: an ant's torso below it lies on the floor
ANT_HEIGHTS = {"paper": (FALLEN, np.inf), "gymnasium": (FALLEN, 1.0)}  # the light one may fly


@functools.cache
def cheetah(body: str = "paper", solver: Solver = SOLVER, fit: paper_bodies.Fit = paper_bodies.CHEETAH_FIT) -> Robot:
    """The planar half-cheetah: six torques. It stands while it leans less than 1 rad, on its feet alone."""
    spec = _spec("half_cheetah.xml", CHEETAH_LINKS, solver)
    if body == "paper":
        paper_bodies.edit_cheetah(spec, fit)
    model = _compiled(spec, body, total_mass=14.0)
    start_height = model.body("torso").pos[2]

    def torso(qpos: Arrays, qvel: Arrays) -> Torso:
        xp = qpos.__array_namespace__()
        zero = xp.zeros_like(qpos[..., 0])
        # The planar joints count from the pose of the asset.
        position = qpos[..., 0], zero, qpos[..., 1] + start_height
        velocity = qvel[..., 0], zero, qvel[..., 1]
        # A planar joint counts full turns; an angle is wanted.
        pitch = xp.remainder(qpos[..., 2] + np.pi, 2 * np.pi) - np.pi
        return Torso(position, velocity, zero, pitch, zero)

    fallen = fallen_beyond(pitch_limit=1.0, knees=(1, 2, 4, 5))  # of the links, all but the feet
    return _robot("cheetah", body, model, model.qpos0, ("x (m)",), torso, CHEETAH_LINKS, fallen)


@functools.cache
def ant(body: str = "paper", solver: Solver = SOLVER, fit: paper_bodies.Fit = paper_bodies.ANT_FIT) -> Robot:
    """The four-legged ant: eight torques; while it stands, its torso is higher than 0.26 m."""
    spec = _spec("ant.xml", ANT_LINKS, solver)
    for geom in spec.geoms:
        geom.friction[0] = ANT_FRICTION
        if geom.name not in ("floor", "torso_geom", *ANT_LINKS):
            geom.contype = 0  # no contacts: see above
    if body == "paper":
        paper_bodies.edit_ant(spec, fit)
    model = _compiled(spec, body)
    # PyBullet's ant starts with its legs stretched out, 0.2 m higher.
    start = model.qpos0 if body == "paper" else model.numeric("init_qpos").data
    behavior = "x (m)", "y (m)"
    fallen = fallen_beyond(*ANT_HEIGHTS[body])
    return _robot("ant", body, model, start, behavior, _free_torso, ANT_LINKS, fallen)


def _free_torso(qpos: Arrays, qvel: Arrays) -> Torso:
    """A torso on a free joint; its angles as PyBullet computes them."""
    xp = qpos.__array_namespace__()
    # MuJoCo's free joint: three positions, then a quaternion with its real part first.
    w, x, y, z = (qpos[..., k] for k in (3, 4, 5, 6))
    return Torso(
        position=(qpos[..., 0], qpos[..., 1], qpos[..., 2]),
        velocity=(qvel[..., 0], qvel[..., 1], qvel[..., 2]),
        roll=xp.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        # Clipped: rounding may lead beyond 1, where the arcsine is nan.
        pitch=xp.arcsin(xp.clip(2 * (w * y - z * x), -1, 1)),
        yaw=xp.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )


def _spec(file: str, links: tuple[str, ...], solver: Solver) -> mujoco.MjSpec:
    """An asset with what all robots share; textures stay, so that it can be rendered."""
    spec = mujoco.MjSpec.from_file(str(ASSETS / file))
    spec.option.timestep = TIME_STEP
    # The ant's own integrator, a Runge-Kutta method, costs four times as much.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.iterations, spec.option.ls_iterations = solver
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    for link in links:
        for kind in (mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMEZAXIS):
            spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_GEOM, objname=link)
    return spec


def _compiled(spec: mujoco.MjSpec, body: str, total_mass: float | None = None) -> mujoco.MjModel:
    spec.compiler.settotalmass = -1  # deprecated; done below instead
    model = spec.compile()
    if body == "gymnasium" and total_mass is not None:
        mujoco.mj_setTotalmass(model, total_mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))  # what the model has derived from the masses is out of date
    return model


def _robot(
    name: str,
    body: str,
    model: mujoco.MjModel,
    start: HostArray,
    behavior: tuple[str, ...],
    torso: Callable[[Arrays, Arrays], Torso],
    links: tuple[str, ...],
    fallen: Callable[[View], Arrays],
) -> Robot:
    is_paper, num_joints = body == "paper", model.nu
    margin = float(model.geom("floor").margin[0] + model.geom(links[0]).margin[0])
    # One motor per driven joint, and these come last: after the root's.
    joint_range = np.array(model.jnt_range[-num_joints:])
    start_height = float(torso(np.array(start), np.zeros(model.nv)).position[2])
    return Robot(
        name=name,
        model=model,
        kinematics=Kinematics(model),
        steps_per_control=round(paper_bodies.CONTROL_STEP / model.opt.timestep),
        start=np.array(start),
        torso=torso,
        actions=clipped(num_joints, 1.0),
        look=pybullet_observation(start_height, joint_range),
        measure=displacement(np.array(start[: len(behavior)])),
        behavior=behavior,
        num_observations=8 + 2 * num_joints + len(links),
        joints=tuple(range(model.nq - num_joints, model.nq)),
        joint_range=joint_range,
        ends=fallen,
        ground=tuple(range(len(behavior))),  # x comes first, then y if there is one
        ground_axes=tuple(range(len(behavior))),
        followed=model.body("torso").id,
        root=model.body("torso").id,
        links=tuple(model.geom(link).id for link in links),
        contact_distance=paper_bodies.CONTACT_DISTANCE[name] if is_paper else margin,
        drag=paper_bodies.DRAG if is_paper else 0.0,
    )


ROBOTS: dict[str, Callable[..., Robot]] = {"cheetah": cheetah, "ant": ant}
