"""A `Robot` of any MuJoCo model: what it sees, how it is driven and what counts as its behavior, by defaults."""

import re
import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco_fused import Kinematics

from evolvability.core.errors import ConfigError, given, unknown
from evolvability.tasks.options import RobotOptions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.controls import actions_of
from evolvability.tasks.robots.robot import Robot, Torso
from evolvability.tasks.robots.views import Arrays, NotCompiledError, View, floor_flags, named, stacked

AUTO = "auto"
FREE, BALL, SLIDE = (int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE"))
PARTS = ("root", "joints", "contacts", "sensors")
"""What an observation may be made of, beside places and single sensors."""
SPEED = 0.1  # what a joint's speed is multiplied by when it is seen
FORMS = "root.xy, body:NAME.xyz, site:NAME.xyz or sensor:NAME"

Function = Callable[[View], Arrays]


class Part(NamedTuple):
    """Something that can be told of a robot at one moment."""

    look: Function
    """`(view) -> (..., num_values)`."""
    names: tuple[str, ...]
    """The names of its values."""


class OwnFunctions(NamedTuple):
    """What a user wrote in the place of names."""

    observation: Function | None = None
    """`(view) -> (..., num_observations)`."""
    behavior: Function | None = None
    """`(view) -> (..., num_behaviors)`."""


def robot_from(name: str, model: mujoco.MjModel, options: RobotOptions, own: OwnFunctions = OwnFunctions()) -> Robot:  # noqa: B008
    """A robot of a model, as its options say."""
    start, home, activation = _keyframe(model, options.start, name)
    root = _root(model, options.root, name)
    outline = Outline(model, root, start)
    behavior = Part(_as_array(own.behavior), ()) if own.behavior else outline.behavior(options.behavior)
    look = _as_array(own.observation) if own.observation else outline.observation(options.observation)
    kinematics = Kinematics(model)
    steps = max(1, round(options.control_step / model.opt.timestep))
    followed, floors = root or outline.tip, floor_flags(kinematics)
    robot = Robot(
        name=name,
        model=model,
        kinematics=kinematics,
        steps_per_control=steps,
        start=start,
        torso=_followed(kinematics, followed),
        actions=actions_of(model, start, home, options.action_scale),
        look=look,
        measure=behavior.look,
        behavior=behavior.names,
        num_observations=0,
        joints=outline.joints,
        joint_range=np.array(model.jnt_range[list(outline.turning)]),
        # Robots that come with the package are trained as they always were, a little beyond their limits.
        start_range=outline.start_range if type(options) is RobotOptions else None,
        activation=activation,
        ends=outline.ends(options, floors),
        ground=tuple(outline.ground.values()),
        ground_axes=tuple(outline.ground) or (0, 1),
        followed=followed,
        root=root,
        floors=floors,
        is_averaged=options.average,
    )
    return _measured(robot)


def _measured(robot: Robot) -> Robot:
    """The robot with the sizes of what it sees and does, by a look at it in its first pose."""
    try:
        sizes, batches = (
            [np.shape(part(view)) for part in (robot.look, robot.measure)]
            for view in (_at_rest(robot), _at_rest(robot, 3))
        )
    except NotCompiledError as error:
        return _measured(replace(robot, sensors=(*robot.sensors, error.args[0])))
    for what, shape, batch in zip(("observation", "behavior"), sizes, batches, strict=True):
        if len(shape) != 1 or not shape[0]:
            raise ConfigError(f"{robot.name}: its {what} must be (..., number) values, got an array of shape {shape}.")
        if batch != (3, *shape):
            text = f"{robot.name}: its {what} must be {(3, *shape)} values of 3 robots, got an array of shape {batch}"
            raise ConfigError(f"{text}. Begin indices with an ellipsis, as view.qpos[..., :2].")
    names = robot.behavior or tuple(f"behavior {k}" for k in range(sizes[1][0]))
    return replace(robot, num_observations=sizes[0][0], behavior=names)


def _at_rest(robot: Robot, *rows: int) -> View:
    """The robot in its first pose; rows: of so many of them."""
    pose, still = (np.broadcast_to(part, (*rows, len(part))) for part in (robot.start, np.zeros(robot.model.nv)))
    return robot.view(pose, still, readings=robot.readings(np.zeros((*rows, robot.num_readings))))


def _as_array(function: Function) -> Function:
    """A function of the user, who may return a tuple of values."""

    def look(view: View) -> Arrays:
        found = function(view)
        return stacked(found, view.qpos[..., 0]) if isinstance(found, (tuple, list)) else found

    return look


class Outline:
    """What of a model is its root, and what are its joints."""

    def __init__(self, model: mujoco.MjModel, root: int, start: HostArray) -> None:
        self.model, self.root, self.start = model, root, start
        chain = set(_chain(model, root))
        driven = _driven(model)
        joints = [j for j in range(model.njnt) if model.jnt_bodyid[j] not in chain or j in driven]
        self.turning = tuple(j for j in joints if model.jnt_type[j] not in (FREE, BALL))
        """The joints that turn about an axis or slide, but for the root's own."""
        self.joints = tuple(int(model.jnt_qposadr[j]) for j in self.turning)
        """Where they are in positions."""
        self.loose = tuple(j for j in joints if model.jnt_type[j] in (FREE, BALL))
        """Other joints: of balls, and of things that lie around."""
        self.ground = _ground(model, chain) if root else {}
        """By axis of the ground, 0 for x and 1 for y, along which the root moves: where in velocities that is."""
        depth = [len(_chain(model, body)) for body in range(model.nbody)]
        self.tip = int(np.argmax(depth))
        """The end of the longest chain of bodies."""

    @property
    def start_range(self) -> HostArray:
        """(2, nq) where a start may be: hinges within their limits, or where they begin; what slides does not vary."""
        model, found = self.model, np.outer((-np.inf, np.inf), np.ones(self.model.nq))
        for joint, at in zip(self.turning, self.joints, strict=True):
            if model.jnt_type[joint] == SLIDE:
                found[:, at] = self.start[at]
            elif model.jnt_limited[joint]:
                low, high = model.jnt_range[joint]
                found[:, at] = min(low, self.start[at]), max(high, self.start[at])
        return found

    def behavior(self, text: str) -> Part:
        """A behavior by name."""
        if text == AUTO:
            if not self.root:
                return self._place("body", self.tip, self.model.body(self.tip).name or str(self.tip), "xyz")
            text = f"root.{''.join('xy'[axis] for axis in self.ground) or 'x'}"
        return self._part(text)

    def observation(self, text: str) -> Function:
        """An observation by the names of its parts."""
        parts = [*(["root"] if self.root else []), "joints", "contacts"] if text == AUTO else text.split(",")
        looks = [getattr(self, f"_{one}")() if one in PARTS else self._part(one).look for one in parts]

        return lambda view: view.xp.concatenate([one(view) for one in looks], axis=-1)

    def ends(self, options: RobotOptions, floors: Collection[int]) -> Function | None:
        """When an episode is over; None for never before its time."""
        low, high, touching = options.min_height, options.max_height, options.must_not_touch
        if (low or high) and not self.root:
            raise ConfigError("min_height and max_height are those of a root, and this model stands on a fixed base.")
        bodies = [named(self.model, "body", name) for name in touching]
        if never := [name for name, body in zip(touching, bodies, strict=True) if body not in floors]:
            text = f"'{never[0]}' can touch no fixed plane, which is what counts as the floor, and would end nothing"
            raise ConfigError(f"must_not_touch: {text}. Name a body with a geom that collides with a plane.")
        if not (low or high or bodies):
            return None

        def over(view: View) -> Arrays:
            height, ended = view.torso.position[2], False
            ended = (height < low) | ended if low else ended
            ended = (height > high) | ended if high else ended
            for body in bodies:
                ended = (view.touches(body) > 0.5) | ended
            return ended

        return over

    def _root(self) -> Function:
        def look(view: View) -> Arrays:
            frame = view.root
            parts = [frame.position[..., 2:], frame.down, frame.own_velocity, SPEED * frame.own_spin]
            return view.xp.concatenate(parts, axis=-1)

        return look

    def _joints(self) -> Function:
        model, places, speeds = self.model, list[int](), list[int]()
        for j in (*self.turning, *self.loose):
            num_places, num_speeds = {FREE: (7, 6), BALL: (4, 3)}.get(int(model.jnt_type[j]), (1, 1))
            places += range(model.jnt_qposadr[j], model.jnt_qposadr[j] + num_places)
            speeds += range(model.jnt_dofadr[j], model.jnt_dofadr[j] + num_speeds)
        at, dof = np.array(places, int), np.array(speeds, int)
        home = np.where(np.isin(at, self.joints), self.start[at], 0.0)
        return lambda view: view.xp.concatenate([view.qpos[..., at] - home, SPEED * view.qvel[..., dof]], axis=-1)

    def _contacts(self) -> Function:
        return lambda view: view.contacts

    def _sensors(self) -> Function:
        if not self.model.nsensor:
            raise ConfigError("observation: the model has no sensors. Add <sensor>, or leave the observation at auto.")
        names = [self.model.sensor(number).name for number in range(self.model.nsensor)]
        if "" in names:
            raise ConfigError(f"observation: sensor {names.index('')} of the model has no name. Give it one.")
        return lambda view: view.xp.concatenate([view.sensor(name) for name in names], axis=-1)

    def _part(self, text: str) -> Part:
        """A place, such as ``site:tray.xyz``, or a sensor."""
        if found := re.fullmatch(r"(?:root|(body|site):(.+))\.([xyz]+)", text):
            kind, name, axes = found.groups()
            if not (name or self.root):
                text = "The model stands on a fixed base and has no root. Name a body or a site: site:NAME.xyz."
                raise ConfigError(text)
            return self._place(kind or "body", named(self.model, kind, name) if name else self.root, name or "", axes)
        name = text.removeprefix("sensor:")
        if text.startswith("sensor:") or name in [self.model.sensor(k).name for k in range(self.model.nsensor)]:
            size = int(self.model.sensor_dim[named(self.model, "sensor", name)])
            return Part(
                lambda view: view.sensor(name), tuple(f"{name} {k}" for k in range(size)) if size > 1 else (name,)
            )
        raise ConfigError(unknown("part of a robot", text, [*PARTS, *FORMS.replace(" or", ",").split(", ")]))

    def _place(self, kind: str, number: int, name: str, axes: str) -> Part:
        """Where a body or a site is; without a name it is the root."""
        model, columns = self.model, np.array(["xyz".index(axis) for axis in axes])
        # A root counts from where it starts, along the ground; others from the world's origin.
        data, first = mujoco.MjData(model), np.zeros(3)
        data.qpos[:] = self.start
        mujoco.mj_kinematics(model, data)
        first[:2] = 0.0 if name else data.xpos[number, :2]

        def look(view: View) -> Arrays:
            return view.frame(kind, number).position[..., columns] - first[columns]

        return Part(look, tuple(f"{name} {axis} (m)".strip() for axis in axes))


def _keyframe(model: mujoco.MjModel, name: str, robot: str) -> tuple[HostArray, HostArray | None, HostArray | None]:
    """A keyframe's pose, its controls and its actuators' states, if it has any; of `home`, the model's own pose where
    it has no such one. Its mocap bodies become the model's, which do not move.
    """
    names = [model.key(number).name for number in range(model.nkey)]
    if name not in names:
        if name != "home":
            raise ConfigError(f"{robot}: {unknown('keyframe', name, [*names, 'home'])}")
        return np.array(model.qpos0), None, None
    key, mocap = model.key(name), model.body_mocapid >= 0
    model.body_pos[mocap] = key.mpos.reshape(-1, 3)[model.body_mocapid[mocap]]
    model.body_quat[mocap] = key.mquat.reshape(-1, 4)[model.body_mocapid[mocap]]
    if key.qvel.any():
        warnings.warn(
            f"{robot} starts at rest: the velocities (qvel) of the keyframe '{name}' do not count.", stacklevel=2
        )
    controls, states = (np.array(part) if part.any() else None for part in (key.ctrl, key.act))
    return np.array(key.qpos), controls, states


def _root(model: mujoco.MjModel, name: str, robot: str) -> int:
    """The body that is free, or slides without a motor in two directions, and carries motors; 0 for a fixed base."""
    if name != AUTO:
        return named(model, "body", name)
    driven = _driven(model)
    moved = {body for joint in driven for body in _chain(model, int(model.jnt_bodyid[joint]))}
    free = [int(body) for body in model.jnt_bodyid[model.jnt_type == FREE]]
    # A ball that lies around is not a root; of free bodies alone, without a motor on any, nobody knows.
    likely = [body for body in free if body in moved] or free
    if len(likely) > 1:
        names = [model.body(body).name or str(body) for body in likely]
        text = f"{robot} has {len(likely)} free bodies ({', '.join(names)})"
        raise ConfigError(f"{text}: say which of them is the robot's root, e.g. {given(root=names[0])}.")
    slides = [int(model.jnt_bodyid[j]) for j in range(model.njnt) if model.jnt_type[j] == SLIDE and j not in driven]
    planar = [body for body in slides if slides.count(body) > 1 and body in moved]
    return next(iter(likely + planar), 0)


def _driven(model: mujoco.MjModel) -> set[int]:
    """The joints that motors drive."""
    return set(model.actuator_trnid[model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT), 0].tolist())


def _chain(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and those that it hangs on, but for the world."""
    found = []
    while body:
        found.append(body)
        body = int(model.body_parentid[body])
    return found


def _ground(model: mujoco.MjModel, chain: set[int]) -> dict[int, int]:
    """Where in velocities a root's along x and y are, by axis."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    found: dict[int, int] = {}
    for joint in range(model.njnt):
        if model.jnt_bodyid[joint] not in chain:
            continue
        dof = int(model.jnt_dofadr[joint])
        if model.jnt_type[joint] == FREE:
            found |= {0: dof, 1: dof + 1}
        elif model.jnt_type[joint] == SLIDE:
            found[int(np.argmax(np.abs(data.xaxis[joint])))] = dof
    return {axis: found[axis] for axis in (0, 1) if axis in found}


def _followed(kinematics: Kinematics, body: int) -> Callable[[Arrays, Arrays], Torso]:
    frame = kinematics.frame("body", body)

    def torso(qpos: Arrays, qvel: Arrays) -> Torso:
        at = kinematics.at(qpos, qvel)
        return Torso(*(tuple(at(part)[..., k] for k in range(3)) for part in (frame.place, frame.velocity)))

    return torso
