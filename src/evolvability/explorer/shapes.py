"""A robot as a page draws it: bodies and joints to place its shapes by, and shapes as balls, capsules and triangles."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from evolvability.tasks.replay import HostArray

MOST_TRIANGLES = 400
"""Per mesh: finer ones are simplified."""
HIDDEN = 3  # MuJoCo's viewer shows groups of shapes below it: from it on they are for contacts alone
CYLINDER_SIDES = 20
WIDE = 1.5  # meters: smaller robots are seen from nearer, and drawn larger


def robot_table(model: Any, start: HostArray | None = None) -> dict[str, Any]:
    """A MuJoCo model's bodies, joints and shapes, and the pose it rests in: enough to place each shape from a pose.

    ``start`` is the pose that episodes start from, if another.
    """
    # Here, not above: runs without a robot are shown without MuJoCo too.
    import mujoco

    joints = {"body": model.jnt_bodyid, "at": model.jnt_qposadr, "pos": model.jnt_pos, "axis": model.jnt_axis}
    joints["kind"] = _names(mujoco.mjtJoint, "mjJNT_", model.jnt_type)
    geoms, meshes = _shapes(model)
    return {
        "bodies": _rows({"parent": model.body_parentid, "pos": model.body_pos, "quat": model.body_quat}),
        "joints": _rows(joints),
        "geoms": geoms,
        "meshes": meshes,
        "rest": model.qpos0.tolist(),
        "start": (model.qpos0 if start is None else start).tolist(),
        "motors": [_motor(model, index) for index in range(model.nu)],
        "extent": extent_of(model),
        "reach": robot_reach(model),
    }


def extent_of(model: Any) -> float:
    """How wide, long or high a robot is in its first pose, whatever stands around it; 1 for 1.5 m or more."""
    import mujoco

    data, own = mujoco.MjData(model), np.flatnonzero(model.geom_bodyid > 0)
    mujoco.mj_kinematics(model, data)
    places, sizes = data.geom_xpos[own], model.geom_rbound[own, None]
    width = ((places + sizes).max(axis=0) - (places - sizes).min(axis=0)).max() if len(own) else WIDE
    return min(1.0, float(width) / WIDE)


def robot_reach(model: Any) -> float:
    """How much of the ground is seen at least, in meters from the middle: a robot that stays there has room."""
    return WIDE * extent_of(model)


def _shapes(model: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is drawn, each as a ball, a capsule or a mesh with its sizes; and the meshes."""
    import mujoco

    numbers = list(dict.fromkeys(model.geom_dataid[model.geom_type == mujoco.mjtGeom.mjGEOM_MESH].tolist()))
    meshes = [_box(), _cylinder(), *(_mesh(model, number) for number in numbers)]
    geoms = {"body": model.geom_bodyid, "pos": model.geom_pos, "quat": model.geom_quat}
    geoms["kind"] = _names(mujoco.mjtGeom, "mjGEOM_", model.geom_type)
    is_shown = (model.geom_group < HIDDEN) | (model.geom_group.min() >= HIDDEN)
    found = []
    for index, row in enumerate(_rows(geoms)):
        if not is_shown[index] or row["kind"] not in SIZES:
            continue
        which = {"box": 0, "cylinder": 1}.get(row["kind"])
        if row["kind"] == "mesh":
            which = 2 + numbers.index(int(model.geom_dataid[index]))
        sizes = {"size": SIZES[row["kind"]](*model.geom_size[index].tolist())}
        found.append(row | sizes | ({} if which is None else {"mesh": which}))
    return found, meshes


SIZES: dict[str, Callable[[float, float, float], list[float]]] = {
    "sphere": lambda radius, *_: [radius] * 3,
    "capsule": lambda radius, half, _: [radius, half],
    "ellipsoid": lambda *three: list(three),
    "box": lambda *three: list(three),
    "cylinder": lambda radius, half, _: [radius, radius, half],
    "mesh": lambda *_: [1.0] * 3,
}
"""From MuJoCo's three sizes: three half lengths, or a capsule's radius and half length. Planes are not drawn."""


def _mesh(model: Any, mesh: int) -> dict[str, Any]:
    first, number = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    face, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    return _table(*simplified(model.mesh_vert[first : first + number], model.mesh_face[face : face + faces]))


def simplified(vertices: HostArray, faces: HostArray, most: int = MOST_TRIANGLES) -> tuple[HostArray, HostArray]:
    """A mesh of at most so many triangles: vertices that share a cell of a grid become one, in their middle.

    The finest grid is taken that leaves few enough. vertices: (num_vertices, 3), faces: (num_faces, 3).

    Examples:
        >>> corners = np.array([[0.0, 0, 0], [1, 0, 0], [1.001, 0, 0], [0, 1, 0]])
        >>> simplified(corners, np.array([[0, 1, 3], [1, 2, 3]]), most=1)[1].tolist()
        [[0, 2, 1]]
    """
    low, width = vertices.min(axis=0), max(float(np.ptp(vertices, axis=0).max()), 1e-9)
    cells = 64
    while len(faces) > most and cells > 1:
        grid = np.floor((vertices - low) / width * (cells - 1e-6)).astype(int)
        _, own = np.unique(grid, axis=0, return_inverse=True)
        own = own.ravel()
        merged = own[faces]
        kept = np.unique(merged[(merged != np.roll(merged, 1, axis=1)).all(axis=1)], axis=0)
        if len(kept) <= most:
            sums = np.stack([np.bincount(own, vertices[:, axis]) for axis in range(3)], axis=1)
            return sums / np.bincount(own)[:, None], kept
        cells = cells * 4 // 5
    return vertices, faces


def _box() -> dict[str, Any]:
    """From -1 to 1 along each axis."""
    return _convex(np.array(list(itertools.product((-1.0, 1.0), repeat=3))))


def _cylinder() -> dict[str, Any]:
    """Of radius 1, from -1 to 1 along z."""
    angle = 2 * np.pi * np.arange(CYLINDER_SIDES) / CYLINDER_SIDES
    return _convex(np.array([(x, y, z) for z in (-1, 1) for x, y in zip(np.cos(angle), np.sin(angle), strict=True)]))


def _convex(corners: HostArray) -> dict[str, Any]:
    return _table(corners, ConvexHull(corners).simplices)


def _table(vertices: HostArray, faces: HostArray) -> dict[str, Any]:
    """For the page: four digits of a shape are enough."""
    return {"vertices": [[float(f"{x:.4g}") for x in one] for one in vertices.tolist()], "faces": faces.tolist()}


def _motor(model: Any, index: int) -> dict[str, Any]:
    """A motor's name, its joint's where it has none as in many models, and the body that it moves, if it is one."""
    import mujoco

    name, body = model.actuator(index).name, 0
    if model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT:
        joint = int(model.actuator_trnid[index, 0])
        name, body = name or model.joint(joint).name, int(model.jnt_bodyid[joint])
    return {"name": name or f"motor {index + 1}", "body": body}


def _names(kinds: Any, prefix: str, values: HostArray) -> HostArray:
    """What MuJoCo calls the kinds of joints or shapes: hinge, capsule."""
    return np.array([kinds(int(value)).name.removeprefix(prefix).lower() for value in values])


def _rows(columns: dict[str, HostArray]) -> list[dict[str, Any]]:
    """Columns of one length as one table per row.

    >>> _rows({"a": np.array([1, 2]), "b": np.array(["x", "y"])})
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]
    """
    values = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
