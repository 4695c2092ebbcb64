"""Which geoms may touch, and what each two agree on, in numbers: as MuJoCo chooses and mixes them."""

from typing import Any, NamedTuple

import mujoco

from mujoco_fused.tree import disabled

KINDS = "PLANE SPHERE CAPSULE BOX"
PLANE, SPHERE, CAPSULE, BOX = (int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in KINDS.split())
ON_PLANES = {SPHERE: "sphere", CAPSULE: "capsule", BOX: "box"}
"""Geoms whose contacts with planes are compiled."""

LEAST_FRICTION = 0.2
"""Of contacts in float32. The rounding errors of a friction pyramid grow as it becomes steep, with 1 / friction^2. Of
cheetahs in random states 99 % are within 2e-4 of native MuJoCo's velocities after a step at 0.2, 5e-2 at 0.02."""


class Pair(NamedTuple):
    """Two geoms that may touch."""

    geom: int
    """The one whose points touch."""
    plane: int
    """The other."""
    dimension: int
    """How many directions its contacts push in: 1, or 3 with friction."""
    rubbing: tuple[int, ...]
    """Geoms whose friction counts, the largest; none where the pair has its own."""
    friction: float
    """Of a <pair>."""
    margin: float
    """How near they are when a contact counts."""
    solref: Any
    """The softness's spring and damper."""
    solimp: Any
    """The softness's impedance."""


def pairs(model: mujoco.MjModel) -> list[Pair]:
    """All pairs of geoms that MuJoCo would look at."""
    if disabled(model, "CONTACT", "CONSTRAINT"):
        return []
    excluded = {int(signature) for signature in model.exclude_signature}
    found = [_declared(model, index) for index in range(model.npair)]
    declared = {frozenset((pair.geom, pair.plane)) for pair in found}
    for geom in range(model.ngeom):
        for other in range(model.ngeom):
            is_plane, is_too = model.geom_type[geom] == PLANE, model.geom_type[other] == PLANE
            in_order = is_too if is_plane != is_too else other < geom
            is_new = geom != other and frozenset((geom, other)) not in declared
            if in_order and is_new and _may_touch(model, geom, other, excluded):
                found.append(_mixed(model, geom, other))
    return found


def _may_touch(model: mujoco.MjModel, geom: int, other: int, excluded: set[int]) -> bool:
    own = [int(model.geom_bodyid[g]) for g in (geom, other)]
    one, two = (int(model.body_weldid[body]) for body in own)
    if one == two:
        return False
    one_parent, two_parent = (int(model.body_weldid[model.body_parentid[body]]) for body in (one, two))
    related = one and two and (one == two_parent or two == one_parent)
    if related and not disabled(model, "FILTERPARENT"):
        return False
    if {(own[0] << 16) + own[1], (own[1] << 16) + own[0]} & excluded:
        return False
    return bool(
        model.geom_contype[geom] & model.geom_conaffinity[other]
        or model.geom_contype[other] & model.geom_conaffinity[geom]
    )


def _mixed(model: mujoco.MjModel, geom: int, plane: int) -> Pair:
    """What two geoms agree on: the one of higher priority decides, or both do."""
    both = [geom, plane]
    first, second = model.geom_priority[both]
    deciding = both if first == second else [both[int(second > first)]]
    weight, other = (max(float(own), 0.0) for own in model.geom_solmix[both])
    share = weight / (weight + other) if weight + other else 0.5
    share = share if first == second else float(first > second)
    solref, solimp = (share * own[geom] + (1 - share) * own[plane] for own in (model.geom_solref, model.geom_solimp))
    if first == second and (model.geom_solref[both, 0] <= 0).any():
        solref = model.geom_solref[both].min(axis=0)
    dimension, margin = int(model.geom_condim[deciding].max()), float(model.geom_margin[both].sum())
    return Pair(geom, plane, dimension, tuple(deciding), 0.0, margin, solref, solimp)


def _declared(model: mujoco.MjModel, index: int) -> Pair:
    """A <pair>: masks, excluded bodies and the geoms' own parameters do not count."""
    geom, plane = int(model.pair_geom1[index]), int(model.pair_geom2[index])
    if model.geom_type[geom] == PLANE:
        geom, plane = plane, geom
    margin, friction = float(model.pair_margin[index]), float(model.pair_friction[index, 0])
    solref, solimp = model.pair_solref[index], model.pair_solimp[index]
    return Pair(geom, plane, int(model.pair_dim[index]), (), friction, margin, solref, solimp)


def needs_double(model: mujoco.MjModel) -> bool:
    """Whether a contact has less friction than float32 can do: then `compile` computes in double inside."""
    touching = [pair for pair in pairs(model) if pair.dimension > 1]
    frictions = [model.geom_friction[list(pair.rubbing), 0].max(initial=pair.friction) for pair in touching]
    return min(frictions, default=LEAST_FRICTION) < LEAST_FRICTION


def pair_problems(model: mujoco.MjModel) -> list[str]:
    """Why contacts of a model are not compiled, each reason with all the geoms that it is about."""
    about: dict[str, list[str]] = {}
    for pair in pairs(model):
        for reason in _problems(model, pair):
            about.setdefault(reason, []).append(" and ".join(repr(model.geom(g).name or g) for g in pair[:2]))
    return [f"{reason} Geoms: {listed(names)}." for reason, names in about.items()]


def _problems(model: mujoco.MjModel, pair: Pair) -> list[str]:
    kind, found = int(model.geom_type[pair.geom]), []
    if model.geom_type[pair.plane] != PLANE:
        if not {kind, int(model.geom_type[pair.plane])} <= {SPHERE, CAPSULE}:
            found.append(
                "It has geoms that may touch each other and are not both spheres or capsules. If they need not, name "
                "their two bodies in an <exclude> of <contact>: they then pass through each other and nothing else."
            )
    elif model.body_weldid[model.geom_bodyid[pair.plane]]:
        found.append("It has a plane that moves. Put the plane into the world's body.")
    if model.geom_type[pair.plane] == PLANE and kind not in ON_PLANES:
        found.append("It has geoms on a plane that are not spheres, capsules or boxes. Put such geoms in their place.")
    if pair.dimension not in (1, 3):
        found.append(f"It has contacts with condim {pair.dimension}. Compiled are 1 and 3.")
    return found


def listed(names: list[str], most: int = 5) -> str:
    """The first of many names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
