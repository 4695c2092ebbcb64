"""Touch sensors: the normal forces of contacts on a body, of those that push through a site's volume.

MuJoCo counts a contact if the ray from its point, along its push, meets the volume: all solids here are convex, so
that a ray's way through one is an interval.
"""

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from mujoco_fused.errors import FusedError
from mujoco_fused.expressions import Scalar, Tape, Value, Vector, literal, select, sqrt
from mujoco_fused.kinematics import Motion
from mujoco_fused.sparse import block
from mujoco_fused.tree import Tree, clean, rotation

Interval = tuple[Value, Value]
"""Where a ray enters and leaves; the end is not above the beginning where it never does."""
FAR = 1e10
TINY = 1e-15


class Touch(NamedTuple):
    """A touch sensor's site: a volume on a body."""

    body: int
    kind: int
    size: Vector
    cutoff: float
    center: Vector
    axes: Vector

    @classmethod
    def of(cls, tree: Tree, motion: Motion, sensor: int) -> "Touch":
        """A sensor's site, where it is now."""
        model = tree.model
        site = int(model.sensor_objid[sensor])
        body, turn = int(model.site_bodyid[site]), rotation(model.site_quat[site])
        center = motion.place[body] + motion.rotation[body] @ clean(model.site_pos[site])
        numbers = (int(model.site_type[site]), model.site_size[site], float(model.sensor_cutoff[sensor]))
        return cls(body, *numbers, center, motion.rotation[body] @ turn)

    def kept(self) -> list[Value]:
        """Values that its text uses by name."""
        return [*self.center, *self.axes.ravel()]

    def added(self, tape: Tape, place: str, force: Value, ray: tuple[Vector, Vector]) -> str:
        """Statements that add a contact's force to a sensor's reading if its ray, a point and a direction, counts."""
        axes = tape.here(self.axes)
        point, way = axes.T @ (ray[0] - tape.here(self.center)), axes.T @ ray[1]
        counts = (force > 0.0) & self._is_met(point, way)
        return block(tape.code([(place, Scalar(tape, place) + select(counts, force, 0.0))]))

    def limited(self, place: str) -> str:
        """A reading within its cutoff."""
        most = literal(self.cutoff)
        return f"if ({place} > {most}) {place} = {most};\n" if self.cutoff > 0 else ""

    def _is_met(self, point: Vector, way: Vector) -> Value:
        """Whether a ray, in the site's own frame, meets its volume."""
        kind, size = mujoco.mjtGeom(self.kind), [float(number) for number in self.size]
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            return _reaches(_round(point, way, size[0]))
        if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return _reaches(_round(point / np.array(size), way / np.array(size), 1.0))
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            return _reaches(*(_slab(point[k], way[k], size[k]) for k in range(3)))
        inside = _round(point[:2], way[:2], size[0]), _slab(point[2], way[2], size[1])
        if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
            return _reaches(*inside)
        if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            ends = [_round(point - np.array([0, 0, end * size[1]]), way, size[0]) for end in (1, -1)]
            return _reaches(*inside) | _reaches(ends[0]) | _reaches(ends[1])
        raise FusedError("Compiled are touch sensors of spheres, capsules, ellipsoids, cylinders and boxes.")


def touches(tree: Tree, motion: Motion, watched: Sequence[int | str]) -> dict[int, Touch]:
    """All touch sensors that are watched, by their place in what is told."""
    found, place, model = {}, 0, tree.model
    for one in watched:
        if isinstance(one, str) and model.sensor(one).type[0] == mujoco.mjtSensor.mjSENS_TOUCH:
            found[place] = Touch.of(tree, motion, int(model.sensor(one).id))
        place += int(model.sensor(one).dim[0]) if isinstance(one, str) else 1
    return found


def _round(point: Vector, way: Vector, radius: float) -> Interval:
    """Through a ball, or across an endless cylinder."""
    square, across, away = way @ way, way @ point, point @ point - radius * radius
    apart = across * across - square * away
    is_still, misses = square < TINY, apart < TINY
    root, over = sqrt(select(misses, 0.0, apart)), 1 / select(is_still, 1.0, square)
    is_out = (is_still & (away > 0.0)) | (~is_still & misses)
    first = select(is_still, -FAR, (-across - root) * over)
    last = select(is_still, FAR, (root - across) * over)
    return select(is_out, FAR, first), select(is_out, -FAR, last)


def _slab(point: Value, way: Value, half: float) -> Interval:
    """Between two planes."""
    is_still, is_out = abs(way) < TINY, abs(point) > half
    over = 1 / select(is_still, 1.0, way)
    one, two = (-half - point) * over, (half - point) * over
    first, last = select(one < two, one, two), select(one < two, two, one)
    first = select(is_still, select(is_out, FAR, -FAR), first)
    return first, select(is_still, select(is_out, -FAR, FAR), last)


def _reaches(*intervals: Interval) -> Value:
    """Whether a ray is in all intervals at once, ahead of its beginning."""
    first, last = intervals[0]
    for one, two in intervals[1:]:
        first, last = select(one > first, one, first), select(two < last, two, last)
    return (last >= 0.0) & (first <= last)
