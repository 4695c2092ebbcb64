"""Random models over all that is supported, and how a model that fails is made small."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np

Node = dict[str, Any]
"""An element: its tag, its attributes and its children."""


class Maker:
    """Random models.

    Args:
        seed: of everything that is drawn.
    """

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.is_whole = self.chance(0.3)  # whether a body touches others
        self.names: dict[str, list[str]] = {"joint": [], "body": ["world"], "geom": [], "plane": []}

    def chance(self, share: float) -> bool:
        return bool(self.draw.random() < share)

    def numbers(self, low: float, high: float, size: int = 1) -> str:
        return " ".join(f"{number:.4g}" for number in self.draw.uniform(low, high, size))

    def some(self, *options: Any) -> Any:
        return options[self.draw.integers(len(options))]

    def model(self) -> Node:
        option = {"timestep": self.some("0.002", "0.004"), "iterations": "100", "ls_iterations": "50"}
        option |= {
            "tolerance": "1e-15",
            "ls_tolerance": "1e-12",
            "integrator": self.some("Euler", "Euler", "implicitfast", "RK4"),
        }
        if self.chance(0.3):
            option |= {"gravity": self.numbers(-6, 6, 3), "impratio": self.numbers(0.5, 3)}
        flags = {name: "disable" for name in FLAGS if self.chance(0.04)}
        planes = [self.plane() for _ in range(self.some(0, 1, 1, 1, 2))]
        bodies = [self.body(0) for _ in range(self.some(1, 1, 2))]
        world = node("worldbody", children=planes + bodies)
        contact = node("contact", children=[self.exclude() for _ in range(self.some(0, 0, 1))])
        if self.names["plane"] and self.chance(0.2):
            contact["children"].append(self.pair())
        actuators = [self.actuator(name) for name in self.names["joint"] if self.chance(0.5)]
        children = [node("option", option, [node("flag", flags)]), world, contact, node("actuator", {}, actuators)]
        return node("mujoco", {}, children)

    def name(self, kind: str) -> dict[str, str]:
        self.names[kind].append(f"{kind}{len(self.names[kind])}")
        return {"name": self.names[kind][-1]}

    def plane(self) -> Node:
        where = {"pos": self.numbers(-0.3, 0.1, 3)} | ({"euler": self.numbers(-15, 15, 3)} if self.chance(0.5) else {})
        return node(
            "geom",
            {**self.name("plane"), "type": "plane", "size": "9 9 1", **where, **self.touch(), "conaffinity": "1"},
        )

    def body(self, depth: int) -> Node:
        where = {"pos": self.numbers(-0.3, 0.3, 3)} if depth else {"pos": "0 0 " + self.numbers(0, 0.6)}
        if self.chance(0.5):
            where["euler"] = self.numbers(-60, 60, 3)
        own = node("body", {**self.name("body"), **where})
        if depth == 0 and self.chance(0.4):
            own["children"].append(node("freejoint"))
        elif depth == 0 or self.chance(0.8):
            kinds = [self.some("hinge", "hinge", "slide", "ball") for _ in range(self.some(1, 1, 1, 2, 3))]
            turning = [k for k, kind in enumerate(kinds) if kind == "ball"]
            kinds = [kind for k, kind in enumerate(kinds) if kind != "ball" or k == turning[0]]
            own["children"] += [self.joint(kind) for kind in kinds]
        own["children"] += [self.geom() for _ in range(self.some(1, 1, 2))]
        if depth < 3:
            own["children"] += [
                self.body(depth + 1) for _ in range(self.some(0, 1, 1, 2) if depth else self.some(1, 2))
            ]
        return own

    def joint(self, kind: str) -> Node:
        own: dict[str, str] = {"type": kind}
        if kind == "ball":
            return node(
                "joint", own | {"damping": self.numbers(0, 1)} | self.maybe(0.3, "pos", -0.1, 0.1, 3) | self.dry()
            )
        own |= self.name("joint")
        own["axis"] = self.some("1 0 0", "0 1 0", "0 0 1", self.numbers(-1, 1, 3))
        own |= self.maybe(0.4, "pos", -0.1, 0.1, 3) | self.maybe(0.5, "armature", 0, 0.2)
        own |= self.maybe(0.4, "damping", 0, 1, self.some(1, 1, 3)) | self.dry()
        if self.chance(0.4):
            own |= {"stiffness": self.numbers(0, 20), "springref": self.numbers(-0.5, 0.5)}
        if self.chance(0.5):
            span = (10, 60) if kind == "hinge" else (0.05, 0.2)
            own |= {"limited": "true", "range": f"-{self.numbers(*span)} {self.numbers(*span)}"}
            own |= self.maybe(0.3, "margin", 0, 0.02) | self.soft("limit")
        if self.chance(0.2):
            own |= {"actuatorfrclimited": "true", "actuatorfrcrange": f"-{self.numbers(0.1, 2)} {self.numbers(0.1, 2)}"}
        return node("joint", own)

    def dry(self) -> dict[str, str]:
        return {"frictionloss": self.numbers(0.01, 0.5), **self.soft("friction")} if self.chance(0.2) else {}

    def maybe(self, share: float, name: str, low: float, high: float, size: int = 1) -> dict[str, str]:
        return {name: self.numbers(low, high, size)} if self.chance(share) else {}

    def soft(self, kind: str = "") -> dict[str, str]:
        solref = self.some(
            "0.02 1", self.numbers(0.01, 0.1) + " " + self.numbers(0.3, 1.2), "-500 -20", "-300 1", "0.001 1"
        )
        solimp = self.some("0.9 0.95 0.001", "0.7 0.99 0.01 0.4 3", "0.9 0.9 0", "0.5 1 0.02 0.3 1", "0 0.9 0.01")
        own = {f"solref{kind}": solref} if self.chance(0.3) else {}
        return own | ({f"solimp{kind}": solimp} if self.chance(0.3) else {})

    def touch(self) -> dict[str, str]:
        own = {"friction": self.some("1", self.numbers(0.1, 1.5))} | self.soft() | self.maybe(0.2, "margin", 0, 0.03)
        own |= self.maybe(0.2, "gap", 0, 0.02) | self.maybe(0.2, "solmix", 0, 2)
        return own | self.some({}, {}, {"priority": "1"}, {"condim": "1"})

    def geom(self) -> Node:
        kind = self.some("sphere", "capsule", "capsule", "capsule" if self.is_whole else "box")
        size = self.numbers(0.03, 0.15, {"sphere": 1, "capsule": 2, "box": 3}[kind])
        own = {**self.name("geom"), "type": kind, "size": size, "pos": self.numbers(-0.15, 0.15, 3)}
        own |= {"euler": self.some("0 0 0", "90 0 0", self.numbers(-90, 90, 3)), "contype": self.some("1", "1", "2")}
        return node("geom", own | {"conaffinity": self.some("0", "1", "1") if self.is_whole else "0"} | self.touch())

    def pair(self) -> Node:
        geoms = {"geom1": self.some(*self.names["plane"]), "geom2": self.some(*self.names["geom"])}
        own = geoms | {"condim": self.some("1", "3"), "friction": " ".join([self.numbers(0.2, 1)] * 2)}
        return node("pair", own | self.soft() | self.maybe(0.3, "margin", 0, 0.02))

    def exclude(self) -> Node:
        one, other = self.draw.choice(self.names["body"], 2, replace=False)
        return node("exclude", {"body1": str(one), "body2": str(other)})

    def actuator(self, joint: str) -> Node:
        kind = self.some("motor", "motor", "position", "velocity", "general")
        own = {"joint": joint, "gear": self.numbers(-3, 5)} | self.some({}, {}, {"group": "2"})
        own |= {"ctrllimited": "true", "ctrlrange": "-1 0.8"} if self.chance(0.5) else {}
        own |= {"forcelimited": "true", "forcerange": "-0.7 0.9"} if self.chance(0.4) else {}
        if kind == "general":
            own |= {"gaintype": "affine", "gainprm": self.numbers(-2, 2, 3)}
            own |= {"biastype": "affine", "biasprm": self.numbers(-2, 0, 3)} if self.chance(0.7) else {}
        own |= {"kp": self.numbers(0, 20), "kv": self.numbers(0, 2)} if kind == "position" else {}
        own |= {"kv": self.numbers(0, 3)} if kind == "velocity" else {}
        return node(kind, own)


FLAGS = ["constraint", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl", "warmstart"]
FLAGS += ["filterparent", "actuation", "refsafe", "eulerdamp"]


def node(tag: str, attributes: dict[str, str] | None = None, children: list[Node] | None = None) -> Node:
    return {"tag": tag, "attributes": attributes or {}, "children": children or []}


def to_xml(own: Node, indent: str = "") -> str:
    words = "".join(f' {name}="{value}"' for name, value in own["attributes"].items())
    if not own["children"]:
        return f"{indent}<{own['tag']}{words}/>\n"
    inner = "".join(to_xml(child, indent + "  ") for child in own["children"])
    return f"{indent}<{own['tag']}{words}>\n{inner}{indent}</{own['tag']}>\n"


def random_model(seed: int) -> Node:
    """The first model from a seed on that MuJoCo takes: some are drawn with nothing that moves, or the like."""
    for attempt in range(1000):
        own = Maker(seed * 1000 + attempt).model()
        if loaded(own) is not None:
            return own
    raise AssertionError("no model in a thousand is one")


def loaded(own: Node) -> mujoco.MjModel | None:
    try:
        model = mujoco.MjModel.from_xml_string(to_xml(own))
    except ValueError:
        return None
    return model if model.njnt and is_regular(model) else None


def is_regular(model: mujoco.MjModel) -> bool:
    """Whether every joint moves something that others do not move: MuJoCo itself has no answer otherwise."""
    data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, full)
    return bool(np.linalg.cond(full) < 1e6)


def smaller(own: Node) -> Iterator[Node]:
    """All models with one element or one attribute less, large parts first."""
    paths: list[tuple[tuple[int, ...], str]] = []

    def walk(at: Node, path: tuple[int, ...]) -> None:
        for index, child in enumerate(at["children"]):
            paths.append(((*path, index), ""))
            walk(child, (*path, index))
        paths.extend((path, name) for name in at["attributes"])

    walk(own, ())
    for path, name in sorted(paths, key=lambda one: (one[1] != "", len(one[0]))):
        less = copy.deepcopy(own)
        at = less
        for index in path[:-1] if not name else path:
            at = at["children"][index]
        del at["attributes" if name else "children"][name or path[-1]]
        yield less


def shrunk(own: Node, fails: Callable[[mujoco.MjModel], bool]) -> Node:
    """A model that fails in the same way, and from which nothing can be taken."""
    while True:
        for less in smaller(own):
            model = loaded(less)
            if model is not None and fails(model):
                own = less
                break
        else:
            return own
