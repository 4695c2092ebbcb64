"""The mass matrix, and the forces that act without contacts and limits: gravity, inertia, springs, damping, motors."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

from mujoco_fused.expressions import Value, Vector, is_zero, select, within
from mujoco_fused.kinematics import Motion, cross_force
from mujoco_fused.tree import TINY, Rigid, Tree, clean, disabled


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
    return turn @ np.where(np.abs(inertia) < TINY * values[2], 0.0, inertia) @ turn.T


def mass_matrix(tree: Tree, motion: Motion) -> dict[tuple[int, int], Value]:
    """The mass matrix's entries, by two degrees of freedom."""
    matrix = {}
    for dof, force in momenta(tree, motion):
        for other in tree.chains[dof]:
            matrix[dof, other] = motion.axes[other] @ force
        matrix[dof, dof] = matrix[dof, dof] + float(tree.model.dof_armature[dof])
    return matrix


def momenta(tree: Tree, motion: Motion) -> Iterator[tuple[int, Vector]]:
    """Each degree of freedom with the momentum, (6,), of what it moves at unit velocity (composite rigid bodies)."""
    composite = {body: inertia_at(tree, motion, body) for body in tree.rigid}
    for body in reversed(tree.rigid):
        parent = tree.weld(tree.parent[body])[0]
        if parent:
            composite[parent] = composite[parent].plus(composite[body])
    owners = tree.model.dof_bodyid
    return ((dof, composite[int(owners[dof])].times(motion.axes[dof])) for dof in range(tree.num_dofs))


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
    for joint in [] if disabled(model, "SPRING") else np.flatnonzero(model.jnt_stiffness):
        index = int(model.jnt_qposadr[joint])
        pull = float(model.jnt_stiffness[joint]) * (position[index] - float(model.qpos_spring[index]))
        force[model.jnt_dofadr[joint]] = force[model.jnt_dofadr[joint]] - pull
    for dof, motors in driving(tree, position, velocity, control).items():
        own, push = int(model.dof_jntid[dof]), motors.force
        if model.jnt_actfrclimited[own]:
            push = within(push, *model.jnt_actfrcrange[own])
        force[dof] = force[dof] + push
    return force


class Driven(NamedTuple):
    """What motors do to one degree of freedom."""

    force: Value  # before the joint's own limits
    slope: Value  # how it grows with the joint's speed


def driving(tree: Tree, position: Vector, velocity: Vector, control: Vector) -> dict[int, Driven]:
    """What motors do, by degree of freedom."""
    model = tree.model
    found: dict[int, Driven] = {}
    for motor in range(model.nu):
        if disabled(model, "ACTUATION") or _is_idle(model, motor):
            continue
        push, slope = motor_force(tree, motor, position, velocity, control)
        dof = int(model.jnt_dofadr[model.actuator_trnid[motor, 0]])
        before = found.get(dof, Driven(0.0, 0.0))
        found[dof] = Driven(before.force + tree.numbers("gear", motor) * push, before.slope + slope)
    return found


def motor_force(tree: Tree, motor: int, position: Vector, velocity: Vector, control: Vector) -> tuple[Value, Value]:
    """A motor's force before its gear, and how its force on the joint grows with the joint's speed."""
    model = tree.model
    if disabled(model, "ACTUATION") or _is_idle(model, motor):
        return 0.0, 0.0
    joint, gear = int(model.actuator_trnid[motor, 0]), tree.numbers("gear", motor)
    place, speed = position[int(model.jnt_qposadr[joint])], velocity[int(model.jnt_dofadr[joint])]
    gain, bias = _factors(model, motor)
    push = _affine(gain, gear, place, speed) * control[motor] + _affine(bias, gear, place, speed)
    slope = gear * gear * (bias[2] + gain[2] * control[motor]) if bias[2] or gain[2] else 0.0
    if model.actuator_forcelimited[motor]:
        low, high = map(float, model.actuator_forcerange[motor])
        slope = _where_free(push, low, high, slope)
        push = within(push, low, high)
    return push, slope


def _is_idle(model: mujoco.MjModel, motor: int) -> bool:
    """Whether a motor's group is disabled."""
    group = int(model.actuator_group[motor])
    return 0 <= group <= 30 and bool(model.opt.disableactuator >> group & 1)


def _factors(model: mujoco.MjModel, motor: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of a motor's gain and bias each: a constant, and factors of its length and speed."""
    gain, bias = (tuple(map(float, numbers[motor, :3])) for numbers in (model.actuator_gainprm, model.actuator_biasprm))
    gain = gain if model.actuator_gaintype[motor] else (gain[0], 0.0, 0.0)
    return gain, bias if model.actuator_biastype[motor] else (0.0, 0.0, 0.0)


def _affine(factors: tuple[float, ...], gear: Value, place: Value, speed: Value) -> Value:
    """A constant, and shares of a motor's length and speed."""
    result: Value = factors[0]
    for factor, moved in zip(factors[1:], (place, speed), strict=True):
        if factor:
            result = result + factor * (gear * moved)
    return result


def _where_free(value: Value, low: float, high: float, slope: Value) -> Value:
    """A slope, or zero where a value is at a limit."""
    if is_zero(slope):
        return 0.0
    return select(value <= low, 0.0, select(value >= high, 0.0, slope))


def speed_slopes(tree: Tree, position: Vector, velocity: Vector, control: Vector) -> dict[int, Value]:
    """How motors' forces grow with joints' speeds, by degree of freedom, where they do."""
    model, found = tree.model, {}
    for dof, motors in driving(tree, position, velocity, control).items():
        joint, slope = int(model.dof_jntid[dof]), motors.slope
        if model.jnt_actfrclimited[joint]:
            low, high = map(float, model.jnt_actfrcrange[joint])
            slope = _where_free(motors.force, low, high, slope)
        if not is_zero(slope):
            found[dof] = slope
    return found


def damping(tree: Tree, dof: int, speed: Value) -> Value:
    """The coefficient of damping: constant, and with parts that grow with the speed and its square."""
    constant, linear, square = damping_of(tree, dof)
    return constant + linear * abs(speed) + square * (speed * speed)


def damping_of(tree: Tree, dof: int) -> tuple[Value, float, float]:
    """A joint's three coefficients of damping."""
    if disabled(tree.model, "DAMPER"):
        return 0.0, 0.0, 0.0
    linear, square = tree.model.dof_dampingpoly[dof]
    return tree.numbers("damping", dof), float(linear), float(square)
