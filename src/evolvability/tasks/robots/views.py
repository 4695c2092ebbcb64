"""What functions of a robot are given: it at one moment, in arrays of NumPy, of JAX, or of a program's symbols.

An observation, a behavior or an end is a function of a `View`, written in what arrays of all three have: arithmetic,
indices that begin with an ellipsis, and functions of `view.xp`.
"""

from functools import cached_property
from typing import Any

from mujoco_fused import contact_pairs

from evolvability.core.errors import ConfigError, unknown
from evolvability.tasks.robots.kinematics import (
    Component,
    Kinematics,
    Moving,
    Vector,
    added,
    dot,
    inside,
    planes,
    scaled,
    support,
)
from evolvability.tasks.robots.sensors import read_sensor

Arrays = Any
"""A NumPy or JAX array with any leading axes, or symbols."""


class Frame:
    """Where a body or a site is, which way it points and how it moves."""

    def __init__(self, moving: Moving, like: Arrays) -> None:
        self.parts, self._like = moving, like

    @property
    def position(self) -> Arrays:
        """(..., 3) its place in the world, in meters."""
        return stacked(self.parts.place, self._like)

    @property
    def velocity(self) -> Arrays:
        """(..., 3) its velocity along the world's axes, in m/s."""
        return stacked(self.parts.velocity, self._like)

    @property
    def spin(self) -> Arrays:
        """(..., 3) its angular velocity about the world's axes, in rad/s."""
        return stacked(self.parts.spin, self._like)

    @property
    def own_velocity(self) -> Arrays:
        """(..., 3) its velocity along its own axes."""
        return stacked(inside(self.parts.turn, self.parts.velocity), self._like)

    @property
    def own_spin(self) -> Arrays:
        """(..., 3) its angular velocity about its own axes."""
        return stacked(inside(self.parts.turn, self.parts.spin), self._like)

    @property
    def down(self) -> Arrays:
        """(..., 3) the direction down, in its own axes: (0, 0, -1) of what stands upright."""
        return stacked(inside(self.parts.turn, (0.0, 0.0, -1.0)), self._like)

    @property
    def axes(self) -> Arrays:
        """(..., 3, 3) its own axes in the world, as columns."""
        rows = [stacked(row, self._like) for row in self.parts.turn]
        return self._like.__array_namespace__().stack(rows, axis=-2)


class View:
    """A robot at one moment. Arrays have the axes of its episodes in front.

    Examples:
        >>> def lying_down(view):
        ...     return view.root.position[..., 2:] * view.root.down[..., 2:]
    """

    def __init__(self, robot: Any, qpos: Arrays, qvel: Arrays, contacts: Arrays = None, sensordata: Any = None) -> None:
        self.robot, self.qpos, self.qvel = robot, qpos, qvel
        """The `Robot`; (..., nq) its positions; (..., nv) its velocities."""
        self._contacts, self.sensordata = contacts, sensordata

    @property
    def xp(self) -> Any:
        """The functions of its arrays: `sin`, `cos`, `sqrt`, `stack`, ..."""
        return self.qpos.__array_namespace__()

    @cached_property
    def kinematics(self) -> Kinematics:
        """Where all bodies are."""
        return Kinematics(self.robot.model, self.qpos, self.qvel)

    @cached_property
    def torso(self) -> Any:
        """The robot's `Torso`."""
        return self.robot.torso(self.qpos, self.qvel)

    @property
    def root(self) -> Frame:
        """The robot's root."""
        return self._frame(self.kinematics.body(self.robot.root))

    def body(self, name: str) -> Frame:
        """A body, by name."""
        return self._frame(self.kinematics.body(named(self.robot.model, "body", name)))

    def site(self, name: str) -> Frame:
        """A site, by name."""
        return self._frame(self.kinematics.on("site", named(self.robot.model, "site", name)))

    def sensor(self, name: str) -> Arrays:
        """(..., dim) what a sensor of the model reads at this moment."""
        number = named(self.robot.model, "sensor", name)
        read = read_sensor(self.kinematics, number)
        if read is not None:
            return stacked(read, self.qpos[..., 0])
        if self.sensordata is None:
            raise NotCompiledError(f"The sensor '{name}' is not compiled: it reads more than positions and velocities.")
        first = int(self.robot.model.sensor_adr[number])
        return self.sensordata[..., first : first + int(self.robot.model.sensor_dim[number])]

    @property
    def contacts(self) -> Arrays:
        """(..., num_links) 1 where a link touches the floor."""
        if self._contacts is not None:
            return self._contacts
        return stacked([self.touches(link) for link in self.robot.floors], self.qpos[..., 0])

    def touches(self, body: int | str) -> Arrays:
        """(...) 1 where a body touches the floor, or any other fixed plane."""
        number = named(self.robot.model, "body", body) if isinstance(body, str) else body
        touched: Any = False
        for geom, plane, margin in self.robot.floors.get(number, ()):
            touched = (self._clearance(geom, plane) < margin) | touched
        # Added to zeros: what never moves up or down touches in all episodes alike, and is a single truth.
        return self.xp.zeros_like(self.qpos[..., 0]) + self.xp.where(touched, 1.0, 0.0)

    def _clearance(self, geom: int, plane: int) -> Component:
        floor, one = (self.kinematics.on("geom", number) for number in (plane, geom))
        up: Vector = [row[2] for row in floor.turn]
        down = inside(one.turn, scaled(up, -1.0))
        reach = support(self.robot.model, geom, down, self.xp.sqrt)
        return dot(up, added(one.place, scaled(floor.place, -1.0))) - reach

    def _frame(self, moving: Moving) -> Frame:
        return Frame(moving, self.qpos[..., 0])


class NotCompiledError(Exception):
    """Raised by what a compiled program cannot compute."""


def floor_pairs(model: Any) -> dict[int, list[tuple[int, int, float]]]:
    """By body: its geoms that may touch a fixed plane, the plane, and how near they are when they do."""
    fixed, found = planes(model), dict[int, list[tuple[int, int, float]]]()
    for pair in contact_pairs(model) if fixed else ():
        if pair.plane in fixed:
            found.setdefault(int(model.geom_bodyid[pair.geom]), []).append((pair.geom, pair.plane, pair.margin))
    return dict(sorted(found.items()))


def named(model: Any, kind: str, name: str) -> int:
    """The number of a body, site or sensor by its name."""
    number = getattr(model, f"n{kind}")
    names = [getattr(model, kind)(index).name for index in range(number)]
    if name not in names:
        known = [one for one in names if one]
        if not known:
            raise ConfigError(f"The model has no {kind} with a name, so there is no '{name}'.")
        raise ConfigError(unknown(kind, name, known))
    return names.index(name)


def stacked(values: Vector, like: Arrays) -> Arrays:
    """Components as one array, (..., num_values); numbers are the same everywhere. like: (...) of its type."""
    xp = like.__array_namespace__()
    full = [xp.zeros_like(like) + value if isinstance(value, float) else value for value in values]
    return xp.stack(full, axis=-1) if full else xp.stack([like], axis=-1)[..., :0]
