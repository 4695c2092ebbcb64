"""Where bodies are, how they move, and how they would accelerate if joints did not.

Vectors of motion and of force have six components, the angular three first. They are taken at the origin of a tree: a
point that travels with its root, so that a robot far from the world's origin loses no digits.
"""

from typing import NamedTuple

import numpy as np

from mujoco_fused.expressions import Value, Vector, cos, sin
from mujoco_fused.tree import BALL, FREE, SLIDE, Tree, clean, disabled, rotation

ZERO6 = np.zeros(6).astype(object)


class Motion(NamedTuple):
    """A tree of bodies at one moment, by the body's number; place and rotation are also those of welded bodies."""

    origin: dict[int, Vector]  # (3,) the point that places and motions are relative to, in the world
    place: dict[int, Vector]  # (3,) of the body's frame, relative to the origin
    rotation: dict[int, Vector]  # (3, 3) from the body's frame to the world's
    axes: dict[int, Vector]  # by degree of freedom, (6,) the motion that a unit of its velocity causes
    velocity: dict[int, Vector]  # (6,)
    acceleration: dict[int, Vector]  # (6,) if joints do not accelerate; gravity is an upward acceleration of the world


def cross_motion(velocity: Vector, motion: Vector) -> Vector:
    """The change of a motion that is carried along by a velocity."""
    angular, linear = velocity[:3], velocity[3:]
    return np.concatenate([np.cross(angular, motion[:3]), np.cross(angular, motion[3:]) + np.cross(linear, motion[:3])])


def cross_force(velocity: Vector, force: Vector) -> Vector:
    """The change of a force (or a momentum) that is carried along by a velocity."""
    angular, linear = velocity[:3], velocity[3:]
    return np.concatenate([np.cross(angular, force[:3]) + np.cross(linear, force[3:]), np.cross(angular, force[3:])])


def turn_of(quaternion: Vector) -> Vector:
    """(3, 3) the rotation of a unit quaternion."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ],
        object,
    )


def turn_about(axis: Vector, angle: Value) -> Vector:
    """(3, 3) the rotation about a constant unit axis (Rodrigues' formula)."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = clean(np.outer(axis, axis))

    return (along + clean(np.eye(3) - along) * cos(angle) + skew * sin(angle)).astype(object)


def moving(tree: Tree, position: Vector, velocity: Vector) -> Motion:
    """The motion of all bodies, from the joints' positions (quaternions of unit length) and velocities."""
    gravity = [0.0 if disabled(tree.model, "GRAVITY") else -tree.numbers("gravity", k) for k in range(3)]
    motion = Motion(
        origin={0: np.zeros(3).astype(object)},
        place={0: np.zeros(3).astype(object)},
        rotation={0: np.eye(3).astype(object)},
        axes={},
        velocity={0: ZERO6},
        acceleration={0: np.concatenate([np.zeros(3), gravity]).astype(object)},
    )
    for body in tree.bodies:
        _enter(tree, motion, body, position)
        for joint in tree.joints(body):
            _turn_joint(tree, motion, body, joint, position, velocity)
    return motion


def _enter(tree: Tree, motion: Motion, body: int, position: Vector) -> None:
    """Begin a body where it is before its joints move; a body on the world begins a tree."""
    model, parent = tree.model, tree.parent[body]
    turn, place = motion.rotation[parent], clean(model.body_pos[body])
    motion.rotation[body] = turn @ rotation(model.body_quat[body])
    motion.velocity[body], motion.acceleration[body] = motion.velocity[parent], motion.acceleration[parent]
    if parent:
        motion.origin[body], motion.place[body] = motion.origin[parent], motion.place[parent] + turn @ place
        return
    joints = tree.joints(body)
    if len(joints) and model.jnt_type[joints[0]] == FREE:
        place = position[model.jnt_qposadr[joints[0]] :][:3]

    for joint in joints:
        if _leads(tree, body, joint):
            place = place + _way(tree, joint, position) * (motion.rotation[body] @ clean(model.jnt_axis[joint]))
    motion.origin[body], motion.place[body] = place, np.zeros(3).astype(object)


def _leads(tree: Tree, body: int, joint: int) -> bool:
    """Whether a slide comes before all that turns: then it moves a tree's origin along an axis that is fixed."""
    return all(tree.model.jnt_type[other] == SLIDE for other in tree.joints(body) if other <= joint)


def _way(tree: Tree, joint: int, position: Vector) -> Value:
    """How far a hinge or slide is from where the model was drawn."""
    index = int(tree.model.jnt_qposadr[joint])
    return position[index] - float(tree.model.qpos0[index])


def _turn_joint(tree: Tree, motion: Motion, body: int, joint: int, position: Vector, velocity: Vector) -> None:
    """Move a body by one joint."""
    model, kind, dof = tree.model, int(tree.model.jnt_type[joint]), int(tree.model.jnt_dofadr[joint])
    if kind == FREE:
        axes = [np.concatenate([np.zeros(3), axis]).astype(object) for axis in np.eye(3)]

        motion.axes.update(enumerate(axes, dof))
        motion.velocity[body] = np.concatenate([np.zeros(3), velocity[dof : dof + 3]]).astype(object)
        index = int(model.jnt_qposadr[joint])
        motion.rotation[body] = turn_of(position[index + 3 : index + 7])
        _spin(motion, body, dof + 3, np.zeros(3).astype(object), velocity)
        return
    drawn = clean(model.jnt_pos[joint])
    anchor = motion.place[body] + motion.rotation[body] @ drawn
    if kind == BALL:
        index = int(model.jnt_qposadr[joint])
        motion.rotation[body] = motion.rotation[body] @ turn_of(position[index : index + 4])
        motion.place[body] = anchor - motion.rotation[body] @ drawn
        _spin(motion, body, dof, anchor, velocity)
        return
    axis, way = motion.rotation[body] @ clean(model.jnt_axis[joint]), _way(tree, joint, position)
    if kind == SLIDE:
        motion.axes[dof] = np.concatenate([np.zeros(3), axis]).astype(object)
        if tree.parent[body] or not _leads(tree, body, joint):
            motion.place[body] = motion.place[body] + way * axis
    else:
        motion.axes[dof] = np.concatenate([axis, np.cross(anchor, axis)])
        motion.rotation[body] = motion.rotation[body] @ turn_about(clean(model.jnt_axis[joint]), way)
        motion.place[body] = anchor - motion.rotation[body] @ drawn
    _carry(motion, body, velocity[dof] * motion.axes[dof])


def _spin(motion: Motion, body: int, dof: int, anchor: Vector, velocity: Vector) -> None:
    """Turn a body about its own three axes through an anchor."""
    for k in range(3):
        axis = motion.rotation[body][:, k]
        motion.axes[dof + k] = np.concatenate([axis, np.cross(anchor, axis)])

    _carry(motion, body, sum((velocity[dof + k] * motion.axes[dof + k] for k in range(3)), ZERO6))


def _carry(motion: Motion, body: int, own: Vector) -> None:
    """Add a joint's own motion to a body; what moved the body so far carries the joint's axis along."""
    change = cross_motion(motion.velocity[body], own)
    motion.acceleration[body] = motion.acceleration[body] + change
    motion.velocity[body] = motion.velocity[body] + own
