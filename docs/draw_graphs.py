"""Write the drawings of `graphs.md` into `assets/`, the same bytes every time."""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from evolvability import paper_graphs
from evolvability.figures.graphs import PAPER_POSITIONS, draw

ASSETS = Path(__file__).parent / "assets"


def main() -> None:
    """Draw the paper's five graphs where the paper places their nodes, and the nested variance in layers."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "evolvability"
    drawings = {name: draw(getattr(paper_graphs, name)(), positions=PAPER_POSITIONS[name]) for name in PAPER_POSITIONS}
    drawings["variance_graph"] = draw(paper_graphs.variance_graph())
    ASSETS.mkdir(exist_ok=True)
    for name, ax in drawings.items():
        path = ASSETS / f"graph-{name.removesuffix('_graph').replace('_', '-')}.svg"
        plt.figure(ax.figure)
        plt.savefig(path, metadata={"Date": None})
        plt.close()


if __name__ == "__main__":
    main()
