"""Draw the rooms of the package, and which of them imports which, from the code's own imports.

    python scripts/draw_rooms.py docs/assets/rooms.svg

A room is a package directly under `evolvability`. The picture has one row per room, the highest first, with the first
sentence of its docstring and a dot under every room that it imports from. Imports only go down, so no dot is left of
its own row's square.
"""

import ast
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

PACKAGE = Path(__file__).parents[1] / "src" / "evolvability"
Graph = dict[str, set[str]]


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module by its dotted name, such as ``evolvability.core.noise``."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(package: Path = PACKAGE) -> Graph:
    """Which modules each module imports from this package, wherever in it: also inside of functions."""
    known = modules(package)
    graph: Graph = {}
    for name, path in known.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # What is imported from a package may be one of its modules, or a name in its __init__.
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= {one if one in known else node.module for one in inside}
        graph[name] = (named & set(known)) - {name}
    return graph


def room_of(module: str) -> str:
    """The room a module is in; the top of the package, from which users import, is none."""
    return module.split(".")[1] if module.count(".") else ""


def rooms(graph: Graph) -> dict[str, dict[str, int]]:
    """How many modules of each room import from each other room."""
    counts: dict[str, dict[str, int]] = {room_of(name): defaultdict(int) for name in graph}
    for name, imported in graph.items():
        for other in {room_of(one) for one in imported} - {room_of(name)}:
            counts[room_of(name)][other] += 1
    top = {"", "__main__"}  # what a user imports or starts, above all rooms
    return {room: {k: v for k, v in row.items() if k not in top} for room, row in counts.items() if room not in top}


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """How many levels there are below each node, itself included; a circle raises `graphlib.CycleError`."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        height[name] = 1 + max((height[below] for below in graph[name]), default=0)
    return height


def summary(room: str) -> str:
    """The first sentence of a room's docstring."""
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or ""
    return text.splitlines()[0]


def draw(counts: dict[str, dict[str, int]]) -> Figure:
    """One row per room from the highest to the lowest, a dot per room it imports from; larger for more modules."""
    height = levels({room: set(row) for room, row in counts.items()})
    order = sorted(counts, key=lambda room: (-height[room], room))
    figure = Figure(figsize=(10, 0.34 * len(order) + 0.9), layout="constrained")
    text, ax = figure.subplots(1, 2, width_ratios=(1.5, 1))
    for y, room in enumerate(order):
        text.text(0.0, y, room, weight="bold", va="center")
        text.text(0.2, y, summary(room), va="center", fontsize=8)
        below = [other for other in order if other in counts[room]]
        ax.scatter(
            [order.index(o) for o in below], [y] * len(below), s=[16 + 6 * counts[room][o] for o in below], c="C0"
        )
    ax.scatter(range(len(order)), range(len(order)), marker="s", s=80, color="0.85")
    ax.set_xticks(range(len(order)), order, rotation=50, ha="left", fontsize=8)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.set_xlim(-0.6, len(order) - 0.4)
    text.set(xlim=(0, 1), xticks=[])
    for part in (text, ax):
        part.set(ylim=(len(order) - 0.4, -0.6), yticks=[])
        part.spines[:].set_visible(False)
        for y in range(len(order) + 1):
            part.axhline(y - 0.5, color="0.9", lw=0.8, zorder=0)
    return figure


def main() -> None:
    """Write the picture into the file named on the command line."""
    # The same code gives the same file; and letters stay letters, which search engines and screen readers can read.
    mpl.rcParams |= {"svg.hashsalt": "rooms", "svg.fonttype": "none"}
    draw(rooms(imports())).savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
