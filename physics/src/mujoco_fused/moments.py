"""A model at one moment, in arrays of any kind: where its bodies are, and what its sensors read.

All of it is recorded once, over symbols. What is asked for is evaluated by the functions of the arrays that are given:
NumPy's, JAX's (so it can be compiled and differentiated), or symbols of a program that goes on with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.arrays import Symbols, symbols
from mujoco_fused.errors import FusedError
from mujoco_fused.expressions import Tape, Value, Vector
from mujoco_fused.kinematics import moving
from mujoco_fused.sensing import OF_FORCES, Scene, frame_of, kind_of, read
from mujoco_fused.tree import Tree, clean, rotation


class Frame(NamedTuple):
    """Where something is and how it moves, in the world's axes; in values of a recording."""

    place: Vector
    """(3,) its place."""
    turn: Vector
    """(3, 3) the rotation from its own axes to the world's."""
    velocity: Vector
    """(3,) how its place changes."""
    spin: Vector
    """(3,) its angular velocity."""


class Kinematics:
    """Where a model's bodies are and how they move, recorded for states of any kind.

    Examples:
        >>> body = "<body><joint axis='0 1 0'/><geom size='.1' pos='1 0 0'/></body>"
        >>> model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        >>> seen = Kinematics(model)
        >>> at = seen.at(np.array([[0.0], [np.pi / 2]]), np.zeros((2, 1)))
        >>> at(seen.frame("geom", 0).place).round(6).astype(int).tolist()
        [[1, 0, 0], [0, 0, -1]]
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model, self._tape, tree = model, Tape(), Tree(model)
        position, velocity = self._tape.inputs("q", model.nq), self._tape.inputs("v", model.nv)
        self._scene = Scene(tree, moving(tree, position, velocity), position, velocity, (), [])

    def frame(self, kind: str, number: int) -> Frame:
        """Of a ``body``, ``site`` or ``geom``, by its number."""
        motion = self._scene.motion
        body, offset, quaternion = frame_of(self.model, "xbody" if kind == "body" else kind, number)
        turn, place = motion.rotation[body], motion.place[body] + motion.rotation[body] @ clean(offset)
        spin, speed = motion.velocity[body][:3], motion.velocity[body][3:]
        velocity = speed + np.cross(spin, place)
        return Frame(place + motion.origin[body], turn @ rotation(quaternion), velocity, np.array(spin))

    def sensor(self, name: str) -> list[Value]:
        """What a sensor reads; refused where positions and velocities do not decide it."""
        if kind_of(self.model, name) in OF_FORCES:
            raise FusedError(f"The sensor '{name}' reads more than positions and velocities.")
        return read(self._scene, name)

    def at(self, qpos: Any, qvel: Any) -> Callable[[Any], Any]:
        """Evaluates values in states: ``(values) -> (..., *shape of values)``; qpos: (..., nq), qvel: (..., nv)."""
        is_recorded, like, known = isinstance(qpos, Symbols), qpos[..., 0], dict[str, Any]()
        for name, array in (("q", qpos), ("v", qvel)):
            parts = list(array) if is_recorded else [array[..., k] for k in range(array.shape[-1])]
            known |= {f"{name}[{k}]": part for k, part in enumerate(parts)}
        xp = like.__array_namespace__()

        def apply(operation: str, *values: Any) -> Any:
            return known["q[0]"].tape.record(operation, *values) if is_recorded else getattr(xp, operation)(*values)

        def evaluate(values: Any) -> Any:
            found, shape = [self._tape.evaluated(one, known, apply) for one in np.ravel(values)], np.shape(values)
            if is_recorded:
                return symbols(found).reshape(shape)
            # A number is the same in all states.
            whole = [one if hasattr(one, "shape") and one.shape else xp.zeros_like(like) + one for one in found]
            return xp.reshape(xp.stack(whole, axis=-1), (*like.shape, *shape)) if whole else like[..., None][..., :0]

        return evaluate
