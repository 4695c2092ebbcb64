"""What functions of a robot are given: it at one moment, in arrays of NumPy, of JAX, or of a program's symbols.

An observation, a behavior or an end is a function of a `View`, written in what arrays of all three have: arithmetic,
indices that begin with an ellipsis, and functions of `view.xp`.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
from mujoco_fused import Frame as Recorded
from mujoco_fused import FusedError, Kinematics, contact_pairs, symbols

from evolvability.core.errors import ConfigError, unknown

Arrays = Any
"""A NumPy or JAX array with any leading axes, or symbols."""


class Frame:
    """Where a body or a site is, which way it points and how it moves."""

    def __init__(self, parts: Recorded, at: Any) -> None:
        self._parts, self._at = parts, at

    @property
    def position(self) -> Arrays:
        """(..., 3) its place in the world, in meters."""
        return self._at(self._parts.place)

    @property
    def velocity(self) -> Arrays:
        """(..., 3) its velocity along the world's axes, in m/s."""
        return self._at(self._parts.velocity)

    @property
    def spin(self) -> Arrays:
        """(..., 3) its angular velocity about the world's axes, in rad/s."""
        return self._at(self._parts.spin)

    @property
    def own_velocity(self) -> Arrays:
        """(..., 3) its velocity along its own axes."""
        return self._at(self._parts.turn.T @ self._parts.velocity)

    @property
    def own_spin(self) -> Arrays:
        """(..., 3) its angular velocity about its own axes."""
        return self._at(self._parts.turn.T @ self._parts.spin)

    @property
    def down(self) -> Arrays:
        """(..., 3) the direction down, in its own axes: (0, 0, -1) of what stands upright."""
        return self._at(-self._parts.turn[2])

    @property
    def axes(self) -> Arrays:
        """(..., 3, 3) its own axes in the world, as columns."""
        return self._at(self._parts.turn)


class View:
    """A robot at one moment. Arrays have the axes of its episodes in front.

    Examples:
        >>> def lying_down(view):
        ...     return view.root.position[..., 2:] * view.root.down[..., 2:]
    """

    def __init__(
        self, robot: Any, qpos: Arrays, qvel: Arrays, contacts: Arrays, readings: Mapping[str, Arrays]
    ) -> None:
        self.robot, self.qpos, self.qvel = robot, qpos, qvel
        """The `Robot`; (..., nq) its positions; (..., nv) its velocities."""
        self._contacts, self._readings = contacts, readings

    @property
    def xp(self) -> Any:
        """The functions of its arrays: `sin`, `cos`, `sqrt`, `stack`, ..."""
        return self.qpos.__array_namespace__()

    @cached_property
    def at(self) -> Any:
        """Evaluates values of the robot's `Kinematics` at this moment."""
        return self.robot.kinematics.at(self.qpos, self.qvel)

    @cached_property
    def torso(self) -> Any:
        """The robot's `Torso`."""
        return self.robot.torso(self.qpos, self.qvel)

    @property
    def root(self) -> Frame:
        """The robot's root."""
        return self.frame("body", self.robot.root)

    def body(self, name: str) -> Frame:
        """A body, by name."""
        return self.frame("body", named(self.robot.model, "body", name))

    def site(self, name: str) -> Frame:
        """A site, by name."""
        return self.frame("site", named(self.robot.model, "site", name))

    def frame(self, kind: str, number: int) -> Frame:
        """A ``body``, ``site`` or ``geom``, by number."""
        return Frame(self.robot.kinematics.frame(kind, number), self.at)

    def sensor(self, name: str) -> Arrays:
        """(..., dim) what a sensor of the model reads at this moment; of forces, at the last time step."""
        named(self.robot.model, "sensor", name)
        if name in self._readings:
            return self._readings[name]
        try:
            return self.at(self.robot.kinematics.sensor(name))
        except FusedError as error:
            raise NotCompiledError(name, str(error)) from None

    @property
    def contacts(self) -> Arrays:
        """(..., num_links) 1 where a link touches the floor."""
        if self._contacts is not None:
            return self._contacts
        return self.at(list(self.robot.floors.values()))

    def touches(self, body: int | str) -> Arrays:
        """(...) 1 where a body touches the floor, or any other fixed plane."""
        number = named(self.robot.model, "body", body) if isinstance(body, str) else body
        return self.at([self.robot.floors.get(number, 0.0)])[..., 0]


class NotCompiledError(Exception):
    """Raised by a sensor whose readings are needed and not there; its arguments are the sensor's name and why."""


def floor_flags(kinematics: Kinematics) -> dict[int, Any]:
    """Of each body that may touch a fixed plane, whether it does, as a value of a recording: 1, or 0."""
    model, found = kinematics.model, dict[int, Any]()
    is_plane = model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    fixed = set(np.flatnonzero(is_plane & (model.body_weldid[model.geom_bodyid] == 0)).tolist())
    for pair in contact_pairs(model) if fixed else ():
        if pair.plane in fixed:
            floor, one = (kinematics.frame("geom", number) for number in (pair.plane, pair.geom))
            up, body = floor.turn[:, 2], int(model.geom_bodyid[pair.geom])
            height = up @ (one.place - floor.place) - _reach(model, pair.geom, one.turn.T @ -up)
            found[body] = (height < pair.margin) | found.get(body, False)
    return {body: _function("where", found[body], 1.0, 0.0) for body in sorted(found)}


def named(model: Any, kind: str, name: str) -> int:
    """The number of a body, site or sensor by its name; where none has this name, it may be the number itself."""
    number = getattr(model, f"n{kind}")
    names = [getattr(model, kind)(index).name for index in range(number)]
    if name not in names:
        if name.isdecimal() and int(name) < number:
            return int(name)
        known = [one for one in names if one]
        if not known:
            raise ConfigError(f"The model has no {kind} with a name, so there is no '{name}'.")
        raise ConfigError(unknown(kind, name, known))
    return names.index(name)


def stacked(values: Any, like: Arrays) -> Arrays:
    """Components as one array, (..., num_values); numbers are the same everywhere. like: (...) of its type."""
    xp = like.__array_namespace__()
    full = [xp.zeros_like(like) + value for value in values]
    return xp.stack(full, axis=-1) if full else xp.stack([like], axis=-1)[..., :0]


def _reach(model: Any, geom: int, direction: Any) -> Any:
    """How far a geom reaches from its center along a direction in its own axes, in values of a recording.

    What is neither a sphere, capsule, cylinder, ellipsoid nor box counts as the box around it.
    """
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return size[0]
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return size[0] + size[1] * abs(direction[2])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return size[0] * _length(direction[:2]) + size[1] * abs(direction[2])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return _length(size * direction)
    center, half = model.geom_aabb[geom].reshape(2, 3)
    return center @ direction + half @ abs(direction)


def _length(vector: Any) -> Any:
    return _function("sqrt", vector @ vector)


def _function(name: str, *values: Any) -> Any:
    """A function of values of a recording."""
    return getattr(symbols([]).__array_namespace__(), name)(*values).item()
