"""Draw stochastic computation graphs in the paper's notation.

Inputs have no border, deterministic nodes a square, stochastic nodes a circle, expectation nodes a double ellipse. One
unit of the axes is one centimeter of the paper's figures. Labels and arrow heads are shapes in the same unit, so that
they fit their nodes at every size of the figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, Ellipse, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from evolvability.theory.graph_nodes import Deterministic, Expectation, Input, Node, Stochastic
from evolvability.theory.graphs import Graph

Point = tuple[float, float]
Positions = Mapping[str, Point]

CENTIMETER = 1 / 2.54
LINE_WIDTH = 0.8
FONT_SIZE = 0.36
PAD = 0.12  # between a label and its border
RING = 0.07  # between the two borders of an expectation
DOTS, DOT = 0.17, 0.035  # between the dots that stand for further nodes, and their radius


@dataclass(frozen=True)
class Shape:
    """A node's label, centered on the origin, and half the width and height of its outline."""

    label: Path
    """The label's outline, centered on the origin."""
    half_width: float
    """Half the width of the node."""
    half_height: float
    """Half the height of the node."""
    is_round: bool
    """Whether the node is drawn as an ellipse; otherwise as a rectangle."""

    def border(self, dx: float, dy: float) -> float:
        """The multiple of the vector (dx, dy) from the center that ends on the outline."""
        x, y = abs(dx) / self.half_width, abs(dy) / self.half_height
        return 1 / (np.hypot(x, y) if self.is_round else max(x, y))


def figure(graph: Graph[Any], places: Positions, dots: Sequence[tuple[str, str]] = ()) -> Figure:
    """A graph, ordinary or nested, whose nodes are centered at places by name.

    Every node's outline, for an input its label, has the node's name as its ``gid``. Between the nodes of each pair in
    ``dots`` three dots stand for those that are not drawn.
    """
    shapes = {name: _shape(graph, node) for name, node in graph.by_name.items()}
    for name in shapes:
        if name not in places:
            raise ValueError(f"places: node '{name}' has none. Expected one for each of: {', '.join(shapes)}.")
    # The lower left and the upper right corner of the drawing.
    centers = np.array([places[name] for name in shapes])
    halves = np.array([(shape.half_width, shape.half_height) for shape in shapes.values()]) + PAD
    lower, upper = (centers - halves).min(axis=0), (centers + halves).max(axis=0)
    drawing = Figure(figsize=tuple((upper - lower) * CENTIMETER))
    ax = drawing.subplots()
    ax.set_position((0, 0, 1, 1))
    for node in graph.nodes:
        for parent in dict.fromkeys(node.parents):  # a parent that a node has twice is one edge
            _draw_edge(ax, places[parent], places[node.name], shapes[parent], shapes[node.name])
    for name, node in graph.by_name.items():
        _draw_node(ax, node, shapes[name], places[name])
    for first, last in dots:
        way = np.subtract(places[last], places[first])
        middle, step = np.add(places[first], way / 2), DOTS * way / np.hypot(*way)
        for place in (-1, 0, 1):
            ax.add_patch(Circle(tuple(middle + place * step), DOT, facecolor="black", linewidth=0, gid="dots"))
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), aspect="equal")
    ax.set_axis_off()
    return drawing


def label(graph: Graph[Any], node: Node) -> str:
    """A node's label in mathtext: its own, or made of its name, or of what an expectation is over and of."""
    if node.label:
        return node.label
    if isinstance(node, Expectation):
        return rf"\mathbb{{E}}_{{{label(graph, graph[node.over])}}}[{label(graph, graph[node.integrand])}]"
    is_symbol = len(node.name.rstrip("'")) == 1
    return node.name if is_symbol else rf"\mathrm{{{node.name.replace('_', chr(92) + '_')}}}"


def _shape(graph: Graph[Any], node: Node) -> Shape:
    # A path, not a text: texts have sizes in points, which nodes in centimeters would not fit.
    text = TextPath((0, 0), f"${label(graph, node)}$", size=FONT_SIZE, prop=FontProperties(math_fontfamily="cm"))
    box = text.get_extents()
    centered = text.transformed(Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2))
    half_width, half_height = box.width / 2 + PAD, box.height / 2 + PAD
    if isinstance(node, Input):
        return Shape(centered, half_width, half_height, is_round=False)
    if isinstance(node, Deterministic):
        return Shape(centered, max(half_width, 0.46), 0.46, is_round=False)
    if isinstance(node, Stochastic):
        radius = max(np.hypot(half_width, half_height), 0.5)
        return Shape(centered, radius, radius, is_round=True)
    # The smallest ellipse around a rectangle is sqrt(2) times as wide and as high.
    return Shape(centered, max(np.sqrt(2) * half_width, 0.5), max(np.sqrt(2) * half_height, 0.5), is_round=True)


def _draw_node(ax: Axes, node: Node, shape: Shape, center: Point) -> None:
    line: dict[str, Any] = {"facecolor": "white", "edgecolor": "black", "linewidth": LINE_WIDTH, "zorder": 3}
    width, height = 2 * shape.half_width, 2 * shape.half_height
    patches: list[Patch] = []  # of an input, its label alone
    if isinstance(node, Deterministic):
        patches = [Rectangle((center[0] - width / 2, center[1] - height / 2), width, height, **line)]
    elif isinstance(node, Stochastic):
        patches = [Circle(center, width / 2, **line)]
    elif isinstance(node, Expectation):
        patches = [Ellipse(center, width - 2 * inset, height - 2 * inset, **line) for inset in (0, RING)]
    label = shape.label.transformed(Affine2D().translate(*center))
    patches.append(PathPatch(label, facecolor="black", linewidth=0, zorder=4))
    patches[0].set_gid(node.name)
    for patch in patches:
        ax.add_patch(patch)


def _draw_edge(ax: Axes, start: Point, end: Point, parent: Shape, child: Shape) -> None:
    """A line from the parent's border to an arrow head on the child's border."""
    way = np.subtract(end, start)
    along = way / np.hypot(*way)
    across = np.array([-along[1], along[0]])
    tail, tip = start + way * parent.border(*way), end - way * child.border(*way)
    notch = tip - 0.12 * along  # a line to the very tip would blunt it
    ax.plot(*np.transpose([tail, notch]), color="black", linewidth=LINE_WIDTH, zorder=1)
    head = [tip, tip - 0.2 * along + 0.08 * across, notch, tip - 0.2 * along - 0.08 * across]
    ax.add_patch(Polygon(head, facecolor="black", linewidth=0, zorder=2))
