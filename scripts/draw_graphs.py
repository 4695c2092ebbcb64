"""Write the drawings of docs/mathematics.md into docs/assets, the same bytes every time.

python scripts/draw_graphs.py
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from evolvability.figures.graphs import PAPER_POSITIONS, draw
from evolvability.theory import paper_graphs

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
VARIANCE = {
    "z'": (0, 2), "B'": (1.8, 2), "E_z'": (3.9, 2), "z": (1.8, 0), "B": (3.9, 0), "square": (5.9, 1), "E_z": (8.2, 1),
    "theta": (5.9, 3),
}  # fmt: skip


def main() -> None:
    """Draw the paper's five graphs where the paper places their nodes, and the nested variance in the same way."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "evolvability"
    places = {**PAPER_POSITIONS, "variance_graph": VARIANCE}
    drawings = {name: draw(getattr(paper_graphs, name)(), positions=places[name]) for name in places}
    ASSETS.mkdir(exist_ok=True)
    for name, ax in drawings.items():
        path = ASSETS / f"graph-{name.removesuffix('_graph').replace('_', '-')}.svg"
        plt.figure(ax.figure)
        plt.savefig(path, metadata={"Date": None})
        plt.close()


if __name__ == "__main__":
    main()
