"""What sensors of a MuJoCo model read, as far as positions and velocities decide it: at this moment, in any arrays."""

from typing import Any

import mujoco

from evolvability.tasks.robots.kinematics import (
    BALL,
    FREE,
    SLIDE,
    Kinematics,
    Vector,
    cross,
    dot,
    inside,
    matrix,
    numbers,
    plus,
    scaled,
    times,
)

OBJECTS = {
    int(mujoco.mjtObj.mjOBJ_SITE): "site",
    int(mujoco.mjtObj.mjOBJ_GEOM): "geom",
    int(mujoco.mjtObj.mjOBJ_XBODY): "xbody",
    int(mujoco.mjtObj.mjOBJ_BODY): "body",
}
STILL = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]


def read_sensor(kinematics: Kinematics, number: int) -> Vector | None:
    """The numbers that a sensor reads; None of one that is about forces, or anything else."""
    model = kinematics.model
    kind = mujoco.mjtSensor(int(model.sensor_type[number])).name.removeprefix("mjSENS_")
    about = int(model.sensor_objid[number])
    # What is limited, delayed or seen from elsewhere is left to MuJoCo.
    if model.sensor_cutoff[number] or model.sensor_refid[number] >= 0 or model.sensor_delay[number]:
        return None
    if kind == "JOINTPOS":
        return [kinematics.qpos[..., int(model.jnt_qposadr[about])]]
    if kind == "JOINTVEL":
        return [kinematics.qvel[..., int(model.jnt_dofadr[about])]]
    name = OBJECTS.get(int(model.sensor_objtype[number]))
    return _of_frame(kinematics, kind, name, about) if name else None


def _of_frame(kinematics: Kinematics, kind: str, name: str, about: int) -> Vector | None:
    body, place, quat = _placed(kinematics.model, name, about)
    if kind == "FRAMEQUAT":
        return _product(_body_quaternion(kinematics, body), quat)
    now = kinematics.body(body).carried(place, matrix(quat))
    if kind in ("FRAMEXAXIS", "FRAMEYAXIS", "FRAMEZAXIS"):
        return [row["XYZ".index(kind[5])] for row in now.turn]
    return {
        "FRAMEPOS": now.place,
        "FRAMELINVEL": now.velocity,
        "FRAMEANGVEL": now.spin,
        "VELOCIMETER": inside(now.turn, now.velocity),
        "GYRO": inside(now.turn, now.spin),
    }.get(kind)


def _placed(model: mujoco.MjModel, name: str, about: int) -> tuple[int, Vector, Vector]:
    """The body of a sensor's object, and the object's place and quaternion there."""
    if name == "xbody":
        return about, *STILL
    if name == "body":
        return about, numbers(model.body_ipos[about]), numbers(model.body_iquat[about])
    body, place, quat = (getattr(model, f"{name}_{part}")[about] for part in ("bodyid", "pos", "quat"))
    return int(body), numbers(place), numbers(quat)


def _body_quaternion(kinematics: Kinematics, body: int) -> Vector:
    """With the sign that MuJoCo gives it."""
    model, xp = kinematics.model, kinematics.qpos.__array_namespace__()
    if body == 0:
        return [1.0, 0.0, 0.0, 0.0]
    result = _product(_body_quaternion(kinematics, int(model.body_parentid[body])), numbers(model.body_quat[body]))
    first = int(model.body_jntadr[body])
    for joint in range(first, first + int(model.body_jntnum[body])):
        kind, at = int(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
        if kind == FREE:
            result = [kinematics.qpos[..., at + k] for k in range(3, 7)]
        elif kind == BALL:
            result = _product(result, [kinematics.qpos[..., at + k] for k in range(4)])
        elif kind != SLIDE:
            half = 0.5 * (kinematics.qpos[..., at] - float(model.qpos0[at]))
            axis = numbers(model.jnt_axis[joint])
            result = _product(result, [xp.cos(half), *scaled(axis, xp.sin(half))])
    return result


def _product(one: Vector, two: Vector) -> Vector:
    """Two rotations as quaternions, the second in the first one's frame."""
    a, b = list(one[1:]), list(two[1:])
    turned: Any = zip(scaled(b, one[0]), scaled(a, two[0]), cross(a, b), strict=True)
    real = plus(times(one[0], two[0]), times(-1.0, dot(a, b)))
    return [real, *(plus(plus(p, q), r) for p, q, r in turned)]
