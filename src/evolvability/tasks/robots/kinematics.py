"""Where the bodies of a MuJoCo model are and how they move, computed from positions and velocities alone.

Written once for NumPy's arrays, JAX's, and the symbols that become a compiled program. Vectors are tuples of components
and rotations tuples of rows; a component is an array, or a number where the model fixes it: most of a robot's are.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import mujoco
import numpy as np

Component = Any
"""An array, (...), or a number."""
Vector = Sequence[Component]
Rotation = Sequence[Vector]

FREE, BALL, SLIDE, HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE", "HINGE")
)
NOWHERE: Vector = (0.0, 0.0, 0.0)
LEVEL: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Moving(NamedTuple):
    """Where something is, which way it points, and how it moves; all in the world's axes."""

    place: Vector = NOWHERE
    """Its place in the world."""
    turn: Rotation = LEVEL
    """The rotation from its own axes to the world's."""
    velocity: Vector = NOWHERE
    """How its place changes."""
    spin: Vector = NOWHERE
    """Its angular velocity."""

    def carried(self, offset: Vector, turn: Rotation = LEVEL) -> "Moving":
        """What is fixed to it, at an offset and turned in its own axes."""
        arm = rotated(self.turn, offset)
        velocity = added(self.velocity, cross(self.spin, arm))
        return Moving(added(self.place, arm), product(self.turn, turn), velocity, self.spin)


class Kinematics:
    """All bodies of a model in some states; each is computed when it is first asked for.

    Args:
        model: the model.
        qpos: (..., nq) positions.
        qvel: (..., nv) velocities.
    """

    def __init__(self, model: mujoco.MjModel, qpos: Any, qvel: Any) -> None:
        self.model, self.qpos, self.qvel = model, qpos, qvel
        self._known: dict[int, Moving] = {0: Moving()}

    def body(self, number: int) -> Moving:
        """A body, by number."""
        if number not in self._known:
            model = self.model
            place, turn = numbers(model.body_pos[number]), matrix(numbers(model.body_quat[number]))
            now = self.body(int(model.body_parentid[number])).carried(place, turn)
            first = int(model.body_jntadr[number])
            for joint in range(first, first + int(model.body_jntnum[number])):
                now = self._moved(now, joint)
            self._known[number] = now
        return self._known[number]

    def on(self, kind: str, number: int) -> Moving:
        """A ``site`` or ``geom``, by number."""
        model = self.model
        body, place, quat = (getattr(model, f"{kind}_{part}")[number] for part in ("bodyid", "pos", "quat"))
        return self.body(int(body)).carried(numbers(place), matrix(numbers(quat)))

    def _moved(self, now: Moving, joint: int) -> Moving:
        """What a joint makes of its body."""
        model, kind = self.model, int(self.model.jnt_type[joint])
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        q, v = (lambda k: self.qpos[..., at + k]), (lambda k: self.qvel[..., dof + k])
        if kind == FREE:
            turn = matrix([q(k) for k in range(3, 7)])
            # Its angular velocity is in the body's own axes, its velocity in the world's.
            return Moving([q(k) for k in range(3)], turn, [v(k) for k in range(3)], rotated(turn, [v(3), v(4), v(5)]))
        axis, anchor = numbers(model.jnt_axis[joint]), numbers(model.jnt_pos[joint])
        if kind == SLIDE:
            way = scaled(rotated(now.turn, axis), q(0) - float(model.qpos0[at]))
            speed = added(scaled(rotated(now.turn, axis), v(0)), cross(now.spin, way))
            return now._replace(place=added(now.place, way), velocity=added(now.velocity, speed))
        if kind == HINGE:
            turn = product(now.turn, about(axis, self._sine(q(0) - float(model.qpos0[at]))))
            spin = added(now.spin, scaled(rotated(now.turn, axis), v(0)))
        else:
            turn = product(now.turn, matrix([q(k) for k in range(4)]))
            spin = added(now.spin, rotated(turn, [v(k) for k in range(3)]))
        # It turns about the anchor, which stays where its parent has it.
        fixed = now.carried(anchor)
        arm = scaled(rotated(turn, anchor), -1.0)
        return Moving(added(fixed.place, arm), turn, added(fixed.velocity, cross(spin, arm)), spin)

    def _sine(self, angle: Any) -> tuple[Any, Any]:
        xp = self.qpos.__array_namespace__()
        return xp.sin(angle), xp.cos(angle)


def numbers(values: Any) -> Vector:
    """A model's numbers; what is there by rounding alone is zero, and costs nothing."""
    return [0.0 if abs(value) < 1e-12 else float(value) for value in values]


def times(one: Component, two: Component) -> Component:
    """A product, of which zeros and ones cost nothing."""
    for a, b in ((one, two), (two, one)):
        if isinstance(a, float) and a in (0.0, 1.0):
            return b if a else 0.0
    return one * two


def plus(one: Component, two: Component) -> Component:
    """A sum, of which zeros cost nothing."""
    for a, b in ((one, two), (two, one)):
        if isinstance(a, float) and a == 0.0:
            return b
    return one + two


def added(one: Vector, two: Vector) -> Vector:
    """The sum of two vectors."""
    return [plus(a, b) for a, b in zip(one, two, strict=True)]


def scaled(vector: Vector, factor: Component) -> Vector:
    """A vector, longer by a factor."""
    return [times(part, factor) for part in vector]


def dot(one: Vector, two: Vector) -> Component:
    """The inner product."""
    return reduce(plus, map(times, one, two), 0.0)


def cross(one: Vector, two: Vector) -> Vector:
    """The cross product.

    >>> cross((1.0, 0.0, 0.0), (0.0, 2.0, 0.0))
    [0.0, 0.0, 2.0]
    """
    return [plus(times(one[j], two[k]), times(-1.0, times(one[k], two[j]))) for j, k in ((1, 2), (2, 0), (0, 1))]


def rotated(turn: Rotation, vector: Vector) -> Vector:
    """A vector of a turned frame in the axes outside of it."""
    return [dot(row, vector) for row in turn]


def inside(turn: Rotation, vector: Vector) -> Vector:
    """A vector in the axes of a turned frame."""
    return [dot(column, vector) for column in zip(*turn, strict=True)]


def product(one: Rotation, two: Rotation) -> Rotation:
    """Two rotations, the second in the first one's frame."""
    return [[dot(row, column) for column in zip(*two, strict=True)] for row in one]


def matrix(quaternion: Vector) -> Rotation:
    """The rotation of a unit quaternion, its real part first.

    >>> matrix([1.0, 0.0, 0.0, 0.0]) == [list(row) for row in LEVEL]
    True
    """
    w, x, y, z = quaternion

    def twice(a: Component, b: Component, c: Component, d: Component, sign: float) -> Component:
        return times(2.0, plus(times(a, b), times(sign, times(c, d))))

    def along(a: Component, b: Component) -> Component:
        return plus(1.0, times(-2.0, plus(times(a, a), times(b, b))))

    return [
        [along(y, z), twice(x, y, w, z, -1.0), twice(x, z, w, y, 1.0)],
        [twice(x, y, w, z, 1.0), along(x, z), twice(y, z, w, x, -1.0)],
        [twice(x, z, w, y, -1.0), twice(y, z, w, x, 1.0), along(x, y)],
    ]


def about(axis: Vector, angle: tuple[Component, Component]) -> Rotation:
    """A rotation about a unit axis by an angle, given by its sine and cosine (Rodrigues)."""
    (sine, cosine), (x, y, z) = angle, axis
    rest = 1.0 - cosine
    skew = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
    return [
        [
            plus(plus(times(times(axis[i], axis[j]), rest), times(float(skew[i][j]), sine)), cosine if i == j else 0.0)
            for j in range(3)
        ]
        for i in range(3)
    ]


def support(model: mujoco.MjModel, geom: int, direction: Vector, root: Any) -> Component:
    """How far a geom reaches from its center along a direction in its own axes; ``root``: the square root.

    What is neither a sphere, capsule, cylinder, ellipsoid nor box counts as the box around it.
    """
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), numbers(model.geom_size[geom])
    x, y, z = direction
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return size[0]
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return plus(size[0], times(size[1], abs(z)))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return plus(times(size[0], root(plus(times(x, x), times(y, y)))), times(size[1], abs(z)))
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return root(reduce(plus, (times(size[k] ** 2, times(direction[k], direction[k])) for k in range(3)), 0.0))
    center, half = numbers(model.geom_aabb[geom][:3]), numbers(model.geom_aabb[geom][3:])
    return plus(dot(center, direction), dot(half, [abs(part) for part in direction]))


def planes(model: mujoco.MjModel) -> list[int]:
    """The geoms that are fixed planes: floors and walls."""
    is_plane = model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    return [int(geom) for geom in np.flatnonzero(is_plane & (model.body_weldid[model.geom_bodyid] == 0))]
