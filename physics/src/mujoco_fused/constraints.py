r"""What may push: points of geoms that meet a plane, and joints at their limits.

MuJoCo's constraints are soft: a row with the violation $x$ pulls its velocity towards $-B v - K d(x)\, x$, with the
impedance $d(x)$ between 0 and 1, and yields by $R$, which is written here as its inverse $D = 1/R$.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.expressions import Value, Vector, is_zero, raised, select, sqrt
from mujoco_fused.kinematics import Motion
from mujoco_fused.pairs import BOX, CAPSULE, PLANE, SPHERE, Pair, pairs
from mujoco_fused.tree import Tree, clean, disabled, rotation

MIN_VALUE = 1e-15
"""MuJoCo's smallest divisor."""
MIN_IMPEDANCE, MAX_IMPEDANCE = 1e-4, 1 - 1e-4
MIN_FRICTION = 1e-5
DEFAULT_SOLREF = (0.02, 1.0)


@dataclass(frozen=True)
class Softness:
    """A constraint's parameters, `solref` and `solimp` in MuJoCo's words."""

    solref: Any
    solimp: Any
    shortest: float
    """The shortest time constant that is allowed."""

    @classmethod
    def of(cls, model: mujoco.MjModel, solref: Any, solimp: Any) -> "Softness":
        """Parameters as MuJoCo takes them: within bounds, and its default for a `solref` of mixed signs."""
        low, high, width, middle, power = map(float, solimp)
        low, high, middle = np.clip([low, high, middle], MIN_IMPEDANCE, MAX_IMPEDANCE).tolist()
        is_mixed = (solref[0] > 0) != (solref[1] > 0)
        shortest = 0.0 if disabled(model, "REFSAFE") else 2 * float(model.opt.timestep)
        bounded = (low, high, max(width, 0.0), middle, max(power, 1.0))
        return cls(DEFAULT_SOLREF if is_mixed else solref, bounded, shortest)

    @property
    def stiffness(self) -> float:
        """K."""
        if self._is_direct:
            return float(-self.solref[0] / self.solimp[1] ** 2)
        return 1 / max((self.solimp[1] * self._time_constant * self.solref[1]) ** 2, MIN_VALUE)

    @property
    def damping(self) -> float:
        """B."""
        if self._is_direct:
            return float(-self.solref[1] / self.solimp[1])
        return 2 / max(self.solimp[1] * self._time_constant, MIN_VALUE)

    @property
    def _is_direct(self) -> bool:
        """Whether `solref` is stiffness and damping themselves, negated, and not a time constant and a ratio."""
        return bool(self.solref[0] <= 0)

    @property
    def _time_constant(self) -> float:
        return max(self.solref[0], self.shortest)

    def impedance(self, violation: Value) -> Value:
        """d(x), from its two ends in two arcs that meet at the midpoint."""
        low, high, width, middle, power = self.solimp
        if low == high or width <= MIN_VALUE:
            return 0.5 * (low + high)
        x = abs(violation) / width
        if power == 1:
            arc = x
        else:
            rise, fall = middle ** (power - 1), (1 - middle) ** (power - 1)
            arc = select(x <= middle, _power(x, power) / rise, 1 - _power(1 - x, power) / fall)
        return low + select(x >= 1.0, 1.0, arc) * (high - low)


def _power(value: Value, power: float) -> Value:
    """Products where they do: they are faster, and every compiler rounds them alike."""
    return math.prod([value] * int(power)) if power == int(power) else raised(value, power)


def strength(impedance: Value, weight: Value) -> Value:
    """D, from the impedance and how much acceleration a unit force gives, roughly."""
    yielding = (1 - impedance) * weight / impedance
    return 1 / select(yielding > MIN_VALUE, yielding, MIN_VALUE)


class Contact(NamedTuple):
    """A point that may touch a plane."""

    geom: int  # whose point it is
    body: int  # what moves it
    distance: Value  # how far it is above the plane
    present: Value  # whether it counts now
    fields: dict[str, Value]  # what the solver needs of it, by name


class Limit(NamedTuple):
    """A joint that may meet a limit."""

    dof: int  # which it is
    present: Value  # whether it is beyond its margin
    sign: Value  # 1 at the lower limit, -1 at the upper
    strength: Value  # D, 0 where it is not present
    target: Value  # minus the acceleration that the limit asks for


def contacts(tree: Tree, motion: Motion) -> list[Contact]:
    """All points that may touch a plane."""
    on_planes = [pair for pair in pairs(tree.model) if tree.model.geom_type[pair.plane] == PLANE]
    return [contact for pair in on_planes for contact in _on_plane(tree, motion, pair)]


def _on_plane(tree: Tree, motion: Motion, pair: Pair) -> list[Contact]:
    """A geom's points that may touch a plane, in MuJoCo's order."""
    model, geom, body = tree.model, pair.geom, int(tree.model.geom_bodyid[pair.geom])
    _, floor, turn = tree.weld(int(model.geom_bodyid[pair.plane]))
    normal = clean(turn @ rotation(model.geom_quat[pair.plane])[:, 2])
    floor = clean(floor + turn @ model.geom_pos[pair.plane])
    axes, size, kind = rotation(model.geom_quat[geom]), model.geom_size[geom], int(model.geom_type[geom])
    center, radius, along = clean(model.geom_pos[geom]), float(size[0]), None
    if kind == SPHERE:
        points = [center]
    elif kind == CAPSULE:
        points = [clean(center + end * size[1] * axes[:, 2]) for end in (1, -1)]
        along = motion.rotation[body] @ axes[:, 2]
    else:
        corners = [(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]
        points, radius = [clean(center + axes @ (corner * size)) for corner in corners], 0.0
    first = tangent(along, normal)
    parameters = parameters_of(tree, pair)
    found = []
    for point in points:
        place = motion.place[body] + motion.rotation[body] @ point
        distance = normal @ (place + motion.origin[body] - floor) - radius
        touch = place - (radius + 0.5 * distance) * normal
        found.append(Contact(geom, body, distance, distance < parameters.margin, parameters.fields(distance)))
        for name, vector in zip(("point", "normal", "first"), (touch, normal, first), strict=True):
            found[-1].fields.update({f"{name}_{axis}": value for axis, value in zip("xyz", vector, strict=True)})
    if kind != BOX:
        return found
    below = [normal @ (motion.rotation[body] @ (point - center)) <= 0.0 for point in points]
    return _first_four(found, below)


def _first_four(corners: list[Contact], below: list[Value]) -> list[Contact]:
    """Of a box, MuJoCo takes the corners below its center, and no more than the first four."""
    taken: Value = 0.0
    chosen = []
    for contact, is_below in zip(corners, below, strict=True):
        present = contact.present & is_below & (taken < 4.0)
        taken = taken + select(present, 1.0, 0.0)
        chosen.append(contact._replace(present=present))
    return chosen


def tangent(along: Vector | None, normal: Vector) -> Vector:
    """(3,) the first direction of friction: along a capsule, where it does not stand upright, or any."""
    spare = np.array([0.0, 1.0, 0.0]) if abs(normal[1]) < 0.5 else np.array([0.0, 0.0, 1.0])
    spare = spare - normal @ spare * normal
    spare = clean(spare / np.linalg.norm(spare))
    if along is None:
        return spare
    flat = along - (normal @ along) * normal
    sides = [k for k in range(3) if not is_zero(flat[k])]
    if len(sides) <= 1:
        return np.eye(3)[sides[0]] if sides else spare
    square = flat @ flat
    upright = square < 1e-20
    scale = 1 / sqrt(select(upright, 1.0, square))
    return np.array([select(upright, spare[k], scale * flat[k]) for k in range(3)], object)


class Parameters(NamedTuple):
    """What two geoms agree on."""

    softness: Softness
    friction: Value
    margin: float
    weight: Value

    def fields(self, distance: Value) -> dict[str, Value]:
        """What the solver needs to know of a contact so far above a plane."""
        violation = distance - self.margin
        impedance = self.softness.impedance(violation)
        return {
            "strength": strength(impedance, self.weight),
            "pull": self.softness.stiffness * impedance * violation,
            "damping": self.softness.damping,
            "friction": self.friction,
        }


def parameters_of(tree: Tree, pair: Pair, friction: Value = None, weight: Value = None) -> Parameters:
    """What two geoms agree on, with what is an input as such; friction and weight may be given as values."""
    model, has_friction = tree.model, pair.dimension == 3
    if friction is None:
        rubbing = [max(MIN_FRICTION, pair.friction), *(tree.numbers("friction", own) for own in pair.rubbing)]
        friction = _largest(rubbing) if has_friction else 0.0
    if weight is None:
        weight = float(model.body_invweight0[model.geom_bodyid[[pair.geom, pair.plane]], 0].sum())
    square = friction * friction
    edges = 2 * square * (1 + square) / max(float(model.opt.impratio), MIN_VALUE) if has_friction else 4.0
    return Parameters(Softness.of(model, pair.solref, pair.solimp), friction, pair.margin, weight * edges)


def _largest(values: list[Value]) -> Value:
    return functools.reduce(lambda found, value: select(found < value, value, found), values)


def limits(tree: Tree, position: Vector, velocity: Vector) -> list[Limit]:
    """All joints that may meet a limit."""
    model, found = tree.model, []
    for joint in [] if disabled(model, "LIMIT", "CONSTRAINT") else np.flatnonzero(model.jnt_limited):
        dof, margin = int(model.jnt_dofadr[joint]), float(model.jnt_margin[joint])
        softness = Softness.of(model, model.jnt_solref[joint], model.jnt_solimp[joint])
        angle = position[int(model.jnt_qposadr[joint])]
        low, high = angle - float(model.jnt_range[joint, 0]), float(model.jnt_range[joint, 1]) - angle
        nearer_low = low < high
        sign, distance = select(nearer_low, 1.0, -1.0), select(nearer_low, low, high)
        present, violation = distance < margin, distance - margin
        impedance = softness.impedance(violation)
        firmness = strength(impedance, float(model.dof_invweight0[dof]))
        target = softness.damping * sign * velocity[dof] + softness.stiffness * impedance * violation
        found.append(Limit(dof, present, sign, select(present, firmness, 0.0), target))
    return found


class Rubbing(NamedTuple):
    """A degree of freedom with dry friction."""

    dof: int  # which it is
    strength: float  # D
    most: float  # the largest force
    damping: float  # B


def rubbing(tree: Tree) -> list[Rubbing]:
    """All degrees of freedom with dry friction."""
    model, found = tree.model, []
    for dof in [] if disabled(model, "FRICTIONLOSS", "CONSTRAINT") else np.flatnonzero(model.dof_frictionloss).tolist():
        softness = Softness.of(model, model.dof_solref[dof], model.dof_solimp[dof])
        firmness = float(strength(softness.impedance(0.0), float(model.dof_invweight0[dof])))
        found.append(Rubbing(dof, firmness, float(model.dof_frictionloss[dof]), softness.damping))
    return found
