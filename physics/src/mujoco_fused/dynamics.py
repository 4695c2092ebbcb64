"""The mass matrix, and the forces that act without contacts and limits: gravity, inertia, springs, damping, motors."""

import functools
from typing import NamedTuple

import numpy as np

from mujoco_fused.expressions import Value, Vector, within
from mujoco_fused.kinematics import Motion, cross_force
from mujoco_fused.tree import Rigid, Tree, clean


class Inertia(NamedTuple):
    """The inertia of bodies about their tree's origin."""

    mass: Value  # all of it
    moment: Vector  # (3,) mass times center of mass
    rotational: Vector  # (3, 3) about the origin

    def plus(self, other: "Inertia") -> "Inertia":
        """Both as one."""
        return Inertia(self.mass + other.mass, self.moment + other.moment, self.rotational + other.rotational)

    def times(self, motion: Vector) -> Vector:
        """(6,) the momentum of a motion, or the force of an acceleration."""
        angular = self.rotational @ motion[:3] + np.cross(self.moment, motion[3:])
        return np.concatenate([angular, self.mass * motion[3:] - np.cross(self.moment, motion[:3])])


def inertia_at(tree: Tree, motion: Motion, body: int) -> Inertia:
    """The inertia of a body that moves on its own, with all that is welded to it, where it is now."""
    frame, rigid = (motion.place[body], motion.rotation[body]), tree.rigid[body]
    if "mass" not in tree.numbers.given:
        return inertia_of(rigid, rigid.mass, *frame)
    parts = [inertia_of(own, tree.numbers("mass", part), *frame) for part, own in tree.parts[body].items()]
    return functools.reduce(Inertia.plus, parts)


def inertia_of(rigid: Rigid, mass: Value, place: Vector, turn: Vector) -> Inertia:
    """A body's inertia where it is now; with another mass than its own it is of denser matter."""
    center = place + turn @ rigid.center
    away = center @ center * np.eye(3) - np.outer(center, center)
    denser = mass / rigid.mass if rigid.mass else 1.0
    return Inertia(mass, mass * center, denser * _turned(rigid.inertia, turn) + mass * away)


def _turned(inertia: Vector, turn: Vector) -> Vector:
    """A constant inertia in the world's axes; a ball and a cylinder, as most bodies are, cost little."""
    values, axes = np.linalg.eigh(inertia)
    alike = np.diff(values) < 1e-7 * values[2]
    if alike.all():
        return values.mean() * np.eye(3)
    if alike.any():
        odd = 2 if alike[0] else 0
        side = float(np.delete(values, odd).mean())
        axis = turn @ clean(axes[:, odd])
        return side * np.eye(3) + (float(values[odd]) - side) * np.outer(axis, axis)
    return turn @ clean(inertia) @ turn.T


def mass_matrix(tree: Tree, motion: Motion) -> dict[tuple[int, int], Value]:
    """The mass matrix's entries, by two degrees of freedom (composite rigid bodies)."""
    composite = {body: inertia_at(tree, motion, body) for body in tree.rigid}
    for body in reversed(tree.rigid):
        parent = tree.weld(tree.parent[body])[0]
        if parent:
            composite[parent] = composite[parent].plus(composite[body])
    matrix = {}
    for dof, chain in enumerate(tree.chains):
        force = composite[int(tree.model.dof_bodyid[dof])].times(motion.axes[dof])
        for other in chain:
            matrix[dof, other] = motion.axes[other] @ force
        matrix[dof, dof] = matrix[dof, dof] + float(tree.model.dof_armature[dof])
    return matrix


def bias_forces(tree: Tree, motion: Motion) -> Vector:
    """(num_dofs,) what gravity and the motion itself ask of the joints (recursive Newton-Euler)."""
    force = {}
    for body in tree.rigid:
        inertia = inertia_at(tree, motion, body)
        momentum = inertia.times(motion.velocity[body])
        force[body] = inertia.times(motion.acceleration[body]) + cross_force(motion.velocity[body], momentum)
    if "force" in tree.numbers.given:
        for body, parts in tree.parts.items():
            force[body] = force[body] - sum(_outer_force(tree, motion, part) for part in parts)
    for body in reversed(tree.rigid):
        parent = tree.weld(tree.parent[body])[0]
        if parent:
            force[parent] = force[parent] + force[body]
    owners = tree.model.dof_bodyid
    return np.array([motion.axes[dof] @ force[int(owners[dof])] for dof in range(tree.num_dofs)], object)


def _outer_force(tree: Tree, motion: Motion, body: int) -> Vector:
    """(6,) the force that a world applies to a body's center of mass, at its tree's origin."""
    force, torque = np.split(np.array([tree.numbers("force", 6 * body + k) for k in range(6)], object), 2)
    center = motion.place[body] + motion.rotation[body] @ clean(tree.model.body_ipos[body])
    return np.concatenate([torque + np.cross(center, force), force])


def joint_forces(tree: Tree, position: Vector, velocity: Vector, control: Vector) -> Vector:
    """(num_dofs,) springs, damping and motors; controls are within their limits already."""
    model = tree.model
    force = np.array([-damping(tree, dof, velocity[dof]) * velocity[dof] for dof in range(tree.num_dofs)], object)
    for joint in np.flatnonzero(model.jnt_stiffness):
        index = int(model.jnt_qposadr[joint])
        pull = float(model.jnt_stiffness[joint]) * (position[index] - float(model.qpos_spring[index]))
        force[model.jnt_dofadr[joint]] = force[model.jnt_dofadr[joint]] - pull
    for motor in range(model.nu):
        dof = int(model.jnt_dofadr[model.actuator_trnid[motor, 0]])
        push = float(model.actuator_gainprm[motor, 0]) * control[motor]
        if model.actuator_forcelimited[motor]:
            push = within(push, *model.actuator_forcerange[motor])
        force[dof] = force[dof] + tree.numbers("gear", motor) * push
    return force


def damping(tree: Tree, dof: int, speed: Value) -> Value:
    """The coefficient of damping: constant, and with parts that grow with the speed and its square."""
    constant, linear, square = damping_of(tree, dof)
    return constant + linear * abs(speed) + square * (speed * speed)


def damping_of(tree: Tree, dof: int) -> tuple[Value, float, float]:
    """A joint's three coefficients of damping."""
    linear, square = tree.model.dof_dampingpoly[dof]
    return tree.numbers("damping", dof), float(linear), float(square)
