"""How figures look: sizes, colors, and the small pieces that many of them have."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.figure import Figure

from evolvability.methods.registry import OBJECTIVES

Array = np.ndarray[Any, Any]

PAGE_WIDTH = 7.0  # inches, of both columns of a paper together

OTHER_COLORS = ("#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", ":", "-.")
SHADES = (0.0, -0.6, 0.5)  # of a method's color, for its further lines
NOTE_COLOR = "0.35"
ZERO_LINE: dict[str, Any] = {"color": "0.5", "linewidth": 0.6, "linestyle": (0, (4, 3))}
LETTER_WIDTH = 0.0085  # inches, of the mean letter per point of its size
STYLE_FILE = Path(__file__).with_name("paper.mplstyle")
_styles = matplotlib.rc_params_from_file(STYLE_FILE, use_default_template=False)
RC: dict[str, Any] = {str(name): value for name, value in _styles.items()}
# From light to dark; the lightest is still plain to see on white.
HEAT = ListedColormap(matplotlib.colormaps["magma_r"](np.linspace(0.12, 1, 256)))


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw in the style of this package, whatever the user's own settings of matplotlib are."""
    with matplotlib.style.context(RC, after_reset=True):
        yield


def new_figure(width: float, height: float, layout: Literal["constrained", "compressed"] = "constrained") -> Figure:
    """An empty figure of a size in inches, whose parts make room for each other; compressed, around square panels."""
    return Figure(figsize=(width, height), layout=layout)


def in_unit(label: str, unit: str) -> str:
    """A label with its unit, where that is known."""
    return f"{label} ({unit})" if unit else label


def letter(ax: Axes, index: int, text: str) -> None:
    """A panel's letter, (a), (b), ..., before its title."""
    ax.set_title(f"({chr(ord('a') + index)}) {text}", loc="left")


def add_note(drawing: Figure, text: str, size: float = 6.5) -> None:
    """A sentence below a figure, in as many lines as it needs: constrained layout does not look at its width."""
    drawing.supxlabel(fill(text, int(drawing.get_figwidth() / (LETTER_WIDTH * size))), fontsize=size, color=NOTE_COLOR)


def add_colorbar(drawing: Figure, mesh: ScalarMappable, ax: Axes, label: str) -> Colorbar:
    """A scale beside a panel, as tall as that."""
    return drawing.colorbar(mesh, cax=ax.inset_axes((1.06, 0, 0.05, 1), label="<colorbar>"), label=label)


def grid(drawing: Figure, number: int, columns: int, labels: tuple[str, str]) -> list[Axes]:
    """Panels that share their scales, row by row, with labels on the outer ones.

    Axes that are left over in the last row are hidden, and the ticks above them shown in their place.
    """
    axes = drawing.subplots(-(-number // columns), columns, squeeze=False, sharex=True, sharey=True)
    for ax in axes.flat[number:]:
        ax.set_axis_off()
        # There is a row above: a single row has no more columns than panels.
        axes[-2, ax.get_subplotspec().colspan.start].xaxis.set_tick_params(labelbottom=True)
    panels = list(axes.flat[:number])
    for ax in axes[:, 0]:
        ax.set_ylabel(labels[1])
    for ax in panels[-columns:]:
        ax.set_xlabel(labels[0])
    return panels


def draw_histogram(ax: Axes, shares: Array, edges: Array, color: str) -> None:
    """Shares of a population by behavior; a line marks the origin."""
    ax.stairs(shares, edges, fill=True, color=color, alpha=0.85)
    ax.axvline(0, zorder=0, **ZERO_LINE)  # behind: a spike at the origin is as narrow as it
    ax.yaxis.set_major_formatter(percent)


def percent(share: float, _: float = 0) -> str:
    """A share as a tick's text: 2.5%."""
    return f"{100 * share:g}%"


def told_apart(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that were there before.

    Examples:
        >>> told_apart(["MAML", "NS-ES", "MAML"])
        ['MAML', 'NS-ES', 'MAML (2)']
    """
    before = [names[:index].count(name) for index, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, before, strict=True)]


def method_color(objective: str) -> str:
    """A method's own color, or one of the others."""
    return own_color(objective) or OTHER_COLORS[0]


def own_color(objective: str) -> str:
    """The color that an objective alone has, in all figures; empty for one without, and for sums."""
    return OBJECTIVES[objective].color if objective in OBJECTIVES else ""


def line_styles(objectives: Sequence[str]) -> list[dict[str, Any]]:
    """A color and a dash pattern for each line: a method has its color in all of them, in shades that differ."""
    spare = iter(OTHER_COLORS * len(objectives))
    colors = {objective: own_color(objective) or next(spare) for objective in dict.fromkeys(objectives)}
    styles = []
    for index, objective in enumerate(objectives):
        turn, place = divmod(objectives[:index].count(objective), len(SHADES))
        shade = _shaded(colors[objective], SHADES[place])
        styles.append({"color": shade, "linestyle": LINE_STYLES[(turn + place) % len(LINE_STYLES)]})
    return styles


def _shaded(color: str, shade: float) -> str:
    """A color mixed with white, or with black where the shade is negative."""
    towards, share = (1.0, shade) if shade > 0 else (0.0, -shade)
    red, green, blue = ((1 - share) * part + share * towards for part in to_rgb(color))
    return to_hex((red, green, blue)).upper()
