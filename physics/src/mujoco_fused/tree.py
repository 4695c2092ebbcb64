"""What of a MuJoCo model is compiled: its joints as a tree, and a refusal of all that is not supported."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mujoco_fused.parameters import Numbers

FREE, BALL, SLIDE, HINGE = (int(kind) for kind in mujoco.mjtJoint.__members__.values())
LONG = 24
"""Degrees of freedom in a row, above which matrices are worked on by loops and not by a statement per entry."""
TINY = 1e-12
"""What rounding leaves of a zero in a rotation: taken as zero, so that it costs nothing."""


def disabled(model: mujoco.MjModel, *flags: str) -> bool:
    """Whether any of these flags is disabled."""
    return any(model.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")) for flag in flags)


def clean(array: Any) -> Any:
    """Numbers of a model in float64, with what is zero but for rounding as zero."""
    array = np.asarray(array, float)
    return np.where(np.abs(array) < TINY, 0.0, array)


def rotation(quaternion: Any) -> Any:
    """(3, 3) the rotation of a constant quaternion."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, float))
    return clean(matrix.reshape(3, 3))


@dataclass(frozen=True)
class Rigid:
    """A body with all that is welded to it: its mass, center of mass and inertia there, in the body's frame."""

    mass: float
    center: Any
    inertia: Any


class Tree:
    """The joints of a model: which degree of freedom moves which body.

    Args:
        model: the model.
        numbers: which of its numbers are inputs; default: none.
    """

    def __init__(self, model: mujoco.MjModel, numbers: Numbers | None = None) -> None:
        self.model, self.numbers = model, numbers or Numbers(model)
        self.num_dofs: int = model.nv
        self.parent = [int(parent) for parent in model.body_parentid]
        self.bodies = range(1, model.nbody)
        # Each degree of freedom with those that it rides on, from the root, itself last.
        self.chains: list[list[int]] = []
        for dof, parent in enumerate(model.dof_parentid):
            self.chains.append([*(self.chains[parent] if parent >= 0 else []), dof])
        # The entries of a matrix with the tree's sparsity: the mass matrix, and the solver's Hessian.
        self.entries = {pair: k for k, pair in enumerate((i, j) for i, chain in enumerate(self.chains) for j in chain)}

    @cached_property
    def is_long(self) -> bool:
        """Whether a chain is so long that a statement per entry of a matrix would be too much to compile."""
        return max(map(len, self.chains), default=0) > LONG

    def joints(self, body: int) -> range:
        """The joints between a body and its parent."""
        first = int(self.model.body_jntadr[body])
        return range(first, first + int(self.model.body_jntnum[body]))

    def dofs(self, body: int) -> range:
        """The degrees of freedom between a body and its parent."""
        first = int(self.model.body_dofadr[body])
        return range(first, first + int(self.model.body_dofnum[body]))

    def chain(self, body: int) -> list[int]:
        """All degrees of freedom that move a body."""
        body = int(self.model.body_weldid[body])
        return self.chains[self.dofs(body)[-1]] if body else []

    @cached_property
    def parts(self) -> dict[int, dict[int, Rigid]]:
        """Bodies that move on their own, by number: each with all that is welded to it, itself too, in its frame."""
        parts: dict[int, dict[int, Rigid]] = {}
        for body in self.bodies:
            weld, place, turn = self.weld(body)
            turn = turn @ rotation(self.model.body_iquat[body])
            center = place + self.weld(body)[2] @ self.model.body_ipos[body]
            inertia = turn @ np.diag(self.model.body_inertia[body]) @ turn.T
            if weld:
                parts.setdefault(weld, {})[body] = Rigid(float(self.model.body_mass[body]), center, inertia)
        return parts

    @cached_property
    def rigid(self) -> dict[int, Rigid]:
        """Bodies that move on their own, by number, each as one with what is welded to it."""
        return {weld: _together(list(own.values())) for weld, own in self.parts.items()}

    def weld(self, body: int) -> tuple[int, Any, Any]:
        """The body that a body is welded to (itself, if it has joints), and its place and rotation there."""
        if body == 0 or len(self.joints(body)):
            return body, np.zeros(3), np.eye(3)
        weld, place, turn = self.weld(self.parent[body])
        return weld, place + turn @ self.model.body_pos[body], turn @ rotation(self.model.body_quat[body])


def _together(parts: list[Rigid]) -> Rigid:
    mass = sum(part.mass for part in parts)
    center = sum(part.mass * part.center for part in parts) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        away = part.center - center
        inertia += part.inertia + part.mass * (away @ away * np.eye(3) - np.outer(away, away))
    return Rigid(mass, clean(center), inertia)
