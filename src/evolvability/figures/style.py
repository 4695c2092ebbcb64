"""How figures look, and what runs are called in them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from evolvability.config.schema import Config
from evolvability.core.errors import UserError
from evolvability.studies.groups import METHOD_NAMES as METHOD_NAMES
from evolvability.studies.groups import identity as identity
from evolvability.studies.groups import method_name as method_name
from evolvability.studies.groups import run_names as run_names
from evolvability.tasks.registry import TASKS, make_task, own_code

PAGE_WIDTH = 7.0
"""Inches, of both columns of a paper together."""

# Okabe and Ito's colors, which people with any kind of color vision can tell apart.
METHOD_COLORS = {
    "max_variance": "#0072B2",
    "max_entropy": "#D55E00",
    "mean_fitness": "#009E73",
    "maml": "#882255",
    "es_maml": "#44AA99",
    "ns_es": "#332288",
    "nsr_es": "#999933",
    "nsra_es": "#88CCEE",
    "qe_es": "#AA4499",
    "evolvability_search": "#661100",
}
OTHER_COLORS = ("#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", ":", "-.")
NOTE_COLOR = "0.35"
# From light to dark; the lightest is still plain to see on white.
HEAT = ListedColormap(matplotlib.colormaps["magma_r"](np.linspace(0.12, 1, 256)))

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures look the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "0.25",
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "round",
    "savefig.dpi": 300,
    "pdf.fonttype": 42,  # text stays text, as journals ask
    "svg.hashsalt": "evolvability",  # the same drawing, the same bytes
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw in the style of this package, whatever the user's own settings of matplotlib are."""
    with matplotlib.style.context(RC, after_reset=True):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, whose parts make room for each other."""
    return Figure(figsize=(width, height), layout="constrained")


def letter(ax: Axes, index: int, text: str = "") -> None:
    """A panel's letter, (a), (b), ..., before its title."""
    ax.set_title(f"({chr(ord('a') + index)}) {text}".rstrip(), loc="left")


def line_styles(objectives: Sequence[str]) -> list[dict[str, Any]]:
    """A color and a dash pattern for each line; the first line of a method has the method's own color."""
    spare = count()
    styles = []
    for index, objective in enumerate(objectives):
        if objective in METHOD_COLORS and objective not in objectives[:index]:
            styles.append({"color": METHOD_COLORS[objective], "linestyle": "-"})
        else:
            turn, place = divmod(next(spare), len(OTHER_COLORS))
            styles.append({"color": OTHER_COLORS[place], "linestyle": LINE_STYLES[turn % len(LINE_STYLES)]})
    return styles


def behavior_names(config: Config, num_behaviors: int) -> list[str]:
    """A label for every behavior dimension, where there are more than two with its number.

    Examples:
        >>> from evolvability.config.schema import layered
        >>> behavior_names(layered("point"), 2), behavior_names(layered("somebodys:task"), 1)
        (['behavior x', 'behavior y'], ['behavior 1'])
    """
    names: tuple[str, ...] = ()
    # Only tasks of this package are made: somebody's own, named in a run folder, would be code to execute.
    if config.task in TASKS and not own_code(config.task, config.task_options):
        with suppress(ImportError, UserError):  # its simulator may not be installed here
            names = make_task(config.task, config.task_options).behavior
    if len(names) != num_behaviors:
        names = tuple(str(number) for number in range(1, num_behaviors + 1))
    if num_behaviors <= 2:
        return [f"behavior {name}" for name in names]
    return [f"behavior {name}\n({number} of {num_behaviors})" for number, name in enumerate(names, start=1)]
