"""What a robot is, whatever it was made of: a MuJoCo model with what it sees, does and ends by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco_fused import Kinematics, own_parameters

from evolvability.tasks.actions import Actions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.views import Arrays, View


class Torso(NamedTuple):
    """Where a torso is: (x, y, z), its velocity along them, and, of the paper's robots, angles, each (...)."""

    position: tuple[Arrays, Arrays, Arrays]
    """Its x, y and z."""
    velocity: tuple[Arrays, Arrays, Arrays]
    """Its velocity along x, y and z."""
    roll: Arrays = 0.0
    """The angle about its x axis."""
    pitch: Arrays = 0.0
    """The angle about its y axis."""
    yaw: Arrays = 0.0
    """The angle about its z axis."""


@dataclass(frozen=True, eq=False)  # each is itself: what was compiled for it can be looked up
class Robot:
    """Any MuJoCo model that a network drives: how it is controlled, what it sees, what it did, and when it is over."""

    name: str
    """The robot's name."""
    model: mujoco.MjModel
    """Its MuJoCo model."""
    kinematics: Kinematics
    """Where its bodies are, in states of any kind."""
    steps_per_control: int
    """The model's time steps in one control step."""
    start: HostArray
    """(num_positions,) the pose at the start."""
    torso: Callable[[Arrays, Arrays], Torso]
    """`(positions, velocities) -> Torso`: what is followed on the ground, and must not go astray."""
    actions: Actions
    """From a network's outputs to controls."""
    look: Callable[[View], Arrays]
    """`(view) -> (..., num_observations)`, what it sees."""
    measure: Callable[[View], Arrays]
    """`(view) -> (..., num_behaviors)`, what it has done by now."""
    behavior: tuple[str, ...]
    """The names of what is measured."""
    num_observations: int
    """The length of an observation."""
    joints: tuple[int, ...]
    """Where in positions the joints are that a start varies: all that turn or slide, but for the root's own.
    `start_range` holds those that slide."""
    joint_range: HostArray
    """(num_joints, 2) their limits."""
    start_range: HostArray | None = None
    """(2, num_positions) the lowest and highest positions at the start, of a robot of one's own; None for any."""
    activation: HostArray | None = None
    """(na,) the states of its actuators at the start; None for 0."""
    ends: Callable[[View], Arrays] | None = None
    """`(view) -> (...)`, whether its episode is over; None where it never is before its time."""
    ground: tuple[int, ...] = ()
    """Where in velocities its root's along x and y are; empty where it stands on a fixed base."""
    ground_axes: tuple[int, ...] = (0, 1)
    """The axes that it can go along, 0 for x and 1 for y."""
    followed: int = 0
    """The body that `torso` is about: its root, or the end of an arm."""
    root: int = 0
    """The body that is its root; 0 where the model stands on a fixed base."""
    floors: dict[int, Any] = field(default_factory=dict)
    """By body whose contacts with the floor are seen: whether it touches, as a value of its `kinematics`."""
    links: tuple[int, ...] = ()
    """Of the paper's robots: the capsules whose contacts with the floor are watched while physics is stepped."""
    contact_distance: float = 0.0
    """A link nearer to the floor than this touches it."""
    drag: float = 0.0
    """The share of its velocities that it loses per second at rest; in motion, times 1 + speed in m/s."""
    is_averaged: bool = False
    """Whether its behavior is the mean over its episode, not what it is in the end."""
    archive: bytes = b""
    """Its file with all assets, see `evolvability.tasks.robots.mjcf`; empty of robots that are made otherwise."""
    changes: tuple[str, ...] = ()
    """What was changed of its file so that it is compiled, in words."""
    sensors: tuple[str, ...] = ()
    """Those that it reads of forces: as they were at the last time step, and 0 at the start."""

    @property
    def control_step(self) -> float:
        """Seconds per control step."""
        return float(self.steps_per_control * self.model.opt.timestep)

    @property
    def parameters(self) -> dict[str, HostArray]:
        """What circumstances may change of its physics: the model's own values, by name."""
        model, own = self.model, own_parameters(self.model)
        is_hinge = np.isin(
            model.actuator_trnid[:, 0], np.flatnonzero(model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))
        )
        if not (is_hinge & (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT))).all():
            own["gear"] = model.actuator_gear.copy()  # (num_motors, 6): others have six, and are not compiled
        return own

    @property
    def num_joints(self) -> int:
        """Joints that a start varies."""
        return len(self.joints)

    @property
    def num_motors(self) -> int:
        """Controls, which is also the number of a network's outputs."""
        return int(self.model.nu)

    @property
    def num_links(self) -> int:
        """Links that are watched."""
        return len(self.links)

    @property
    def watched(self) -> tuple[int | str, ...]:
        """What is read while physics is stepped: heights of links, and sensors of forces."""
        return *self.links, *self.sensors

    @property
    def num_readings(self) -> int:
        """Numbers that its sensors of forces read."""
        return sum(int(self.model.sensor(name).dim[0]) for name in self.sensors)

    def readings(self, values: Arrays) -> dict[str, Arrays]:
        """What sensors of forces read, by name; values: (..., num_readings), one after another."""
        found, first = {}, 0
        for name in self.sensors:
            size = int(self.model.sensor(name).dim[0])
            found[name], first = values[..., first : first + size], first + size
        return found

    def view(
        self, qpos: Arrays, qvel: Arrays, contacts: Arrays = None, readings: Mapping[str, Arrays] | None = None
    ) -> View:
        """The robot at one moment; contacts: (..., num_links) of links that are watched; readings: of its sensors."""
        return View(self, qpos, qvel, contacts if self.links else None, readings or {})
