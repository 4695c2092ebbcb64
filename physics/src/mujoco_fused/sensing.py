"""What is told beside a state: heights of geoms above planes, and what a model's own sensors read."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from mujoco_fused.constraints import Contact
from mujoco_fused.dynamics import motor_force
from mujoco_fused.errors import FusedError
from mujoco_fused.expressions import Value, Vector, cos, select, sin, within
from mujoco_fused.kinematics import Motion
from mujoco_fused.pairs import listed
from mujoco_fused.tree import BALL, FREE, SLIDE, Tree, clean, rotation

Watched = int | str
"""A geom by its number, or a sensor by its name."""
SENSORS = "FRAMEPOS FRAMEQUAT FRAMEXAXIS FRAMEYAXIS FRAMEZAXIS FRAMELINVEL FRAMEANGVEL GYRO VELOCIMETER JOINTPOS"
SENSORS += " JOINTVEL ACTUATORFRC TOUCH"
"""Those that are compiled, by MuJoCo's names."""
OF_FORCES = ("ACTUATORFRC", "TOUCH")
"""Those of them that read more than positions and velocities."""
KINDS = {int(getattr(mujoco.mjtSensor, f"mjSENS_{name}")): name for name in SENSORS.split()}


class Scene(NamedTuple):
    """A model at one moment, as values."""

    tree: Tree
    motion: Motion
    position: Vector
    velocity: Vector
    control: Vector
    touching: list[Contact]


def num_watched(model: mujoco.MjModel, watched: Sequence[Watched]) -> int:
    """How many numbers are told: one per geom, and those of each sensor; refused where a sensor is not compiled."""
    return sum(int(model.sensor(one).dim[0]) if isinstance(one, str) and kind_of(model, one) else 1 for one in watched)


def seen(scene: Scene, watched: Sequence[Watched]) -> list[Value]:
    """All that is watched, one after another."""
    values: list[Value] = []
    for one in watched:
        values += read(scene, one) if isinstance(one, str) else [lowest(scene.touching, one)]
    return values


def lowest(touching: list[Contact], geom: int) -> Value:
    """A geom's height above planes."""
    heights = [contact.distance for contact in touching if contact.geom == geom]
    if not heights:
        raise FusedError(f"The geom {geom} is watched and may touch no plane. Watch geoms that may.")
    return functools.reduce(lambda lower, height: select(height < lower, height, lower), heights)


def kind_of(model: mujoco.MjModel, name: str) -> str:
    """The kind of a sensor; refused where it is not compiled."""
    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
    if number < 0:
        known = listed([model.sensor(k).name for k in range(model.nsensor)]) or "none"
        raise FusedError(f"The model has no sensor '{name}' to watch. Its sensors: {known}.")
    kind = KINDS.get(int(model.sensor_type[number]))
    if kind is None or model.sensor_refid[number] >= 0 or model.sensor_delay[number]:
        raise FusedError(f"The sensor '{name}' is not compiled. Compiled are {SENSORS}, without a reference frame.")
    return kind


def read(scene: Scene, name: str) -> list[Value]:
    """What a sensor reads, within its cutoff."""
    model, number, kind = scene.tree.model, int(scene.tree.model.sensor(name).id), kind_of(scene.tree.model, name)
    about = mujoco.mjtObj(int(model.sensor_objtype[number])).name.removeprefix("mjOBJ_").lower()
    values = _read(scene, kind, about, int(model.sensor_objid[number]))
    cutoff = float(model.sensor_cutoff[number])
    is_real = model.sensor_datatype[number] == mujoco.mjtDataType.mjDATATYPE_REAL
    return [within(value, -cutoff, cutoff) for value in values] if cutoff > 0 and is_real else values


def _read(scene: Scene, kind: str, about: str, number: int) -> list[Value]:
    model, motion = scene.tree.model, scene.motion
    if kind == "TOUCH":
        return [0.0]  # it is read after the accelerations are known, see `Solver.readings`
    if kind == "JOINTPOS":
        return [scene.position[int(model.jnt_qposadr[number])]]
    if kind == "JOINTVEL":
        return [scene.velocity[int(model.jnt_dofadr[number])]]
    if kind == "ACTUATORFRC":
        return [motor_force(scene.tree, number, scene.position, scene.velocity, scene.control)[0]]
    body, place, turn = frame_of(model, about, number)
    if kind == "FRAMEQUAT":
        return list(_product(_body_quaternion(scene, body), _quaternion(turn)))
    axes, where = motion.rotation[body] @ rotation(turn), motion.place[body] + motion.rotation[body] @ clean(place)
    if kind == "FRAMEPOS":
        return list(where + motion.origin[body])
    if kind.endswith("AXIS"):
        return list(axes[:, "XYZ".index(kind[5])])
    spin, speed = motion.velocity[body][:3], motion.velocity[body][3:]
    found = spin if kind in ("FRAMEANGVEL", "GYRO") else speed + np.cross(spin, where)
    return list(found if kind.startswith("FRAME") else axes.T @ found)


def frame_of(model: mujoco.MjModel, kind: str, number: int) -> tuple[int, Vector, Vector]:
    """The body of an object, and the object's place and quaternion there; an ``xbody`` is a body's own frame."""
    if kind == "xbody":
        return number, np.zeros(3), np.array([1.0, 0, 0, 0])
    if kind == "body":  # its center of mass
        return number, model.body_ipos[number], model.body_iquat[number]
    if kind not in ("site", "geom"):
        raise FusedError("Compiled are sensors of bodies, geoms and sites.")
    place, turn = (getattr(model, f"{kind}_{part}")[number] for part in ("pos", "quat"))
    return int(getattr(model, f"{kind}_bodyid")[number]), place, turn


def _quaternion(numbers: Vector) -> Vector:
    return clean(numbers).astype(object)


def _product(one: Vector, two: Vector) -> Vector:
    """Two rotations, the second in the first one's frame."""
    a, b = one[1:], two[1:]
    return np.array([one[0] * two[0] - a @ b, *(one[0] * b + two[0] * a + np.cross(a, b))], object)


def _body_quaternion(scene: Scene, body: int) -> Vector:
    """A body's rotation as a quaternion, with the sign that MuJoCo gives it."""
    tree = scene.tree
    if body == 0:
        return np.array([1.0, 0.0, 0.0, 0.0], object)
    model, result = tree.model, _body_quaternion(scene, tree.parent[body])
    result = _product(result, _quaternion(model.body_quat[body]))
    for joint in tree.joints(body):
        kind, index = int(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
        if kind == FREE:
            result = scene.position[index + 3 : index + 7]
        elif kind == BALL:
            result = _product(result, scene.position[index : index + 4])
        elif kind != SLIDE:
            half = 0.5 * (scene.position[index] - float(model.qpos0[index]))
            turn = np.array([cos(half), *(sin(half) * clean(model.jnt_axis[joint]))], object)
            result = _product(result, turn)
    return result
