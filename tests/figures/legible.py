"""Asks matplotlib what of a figure cannot be read: texts that leave it or lie over each other, bars beyond panels."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 1.0  # pixels, by which boxes may overlap: letters do not fill theirs


def problems(drawing: Figure) -> list[str]:
    """A line about each text that is clipped or covered, and each color bar that is taller than every panel."""
    canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    boxes = [(text, text.get_window_extent(canvas.get_renderer())) for text in _texts(drawing)]
    found = [f"{text.get_text()!r} leaves the figure" for text, box in boxes if not _inside(box, drawing)]
    for (first, one), (second, other) in combinations(boxes, 2):
        if _overlap(one, other):
            found.append(f"{first.get_text()!r} lies over {second.get_text()!r}")
    axes = _axes(drawing)
    bars = [ax for ax in axes if ax.get_label() == "<colorbar>"]
    tallest = max((ax.get_window_extent().height for ax in axes if ax not in bars), default=0)
    found += ["a color bar is taller than every panel" for ax in bars if ax.get_window_extent().height > tallest + 1]
    return found


def _axes(drawing: Figure | SubFigure) -> list[Any]:
    own = [ax for ax in drawing.axes if ax.axison]
    return [*own, *(child for ax in own for child in ax.child_axes)]


def _texts(drawing: Figure | SubFigure) -> Iterator[Text]:
    for part in [drawing, *drawing.subfigs]:
        yield from _seen(part.texts)
        for legend in part.legends:
            yield from _of_legend(legend)
    for ax in _axes(drawing):
        yield from _seen([ax.title, ax._left_title, ax._right_title, *ax.texts])
        for axis in (ax.xaxis, ax.yaxis):
            yield from _of_axis(axis)
        if own := ax.get_legend():
            yield from _of_legend(own)


def _of_legend(legend: Legend) -> Iterator[Text]:
    yield from _seen([*legend.get_texts(), legend.get_title()])


def _of_axis(axis: Axis) -> Iterator[Text]:
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    yield from _seen([axis.label, axis.offsetText, *(label for tick in ticks for label in (tick.label1, tick.label2))])


def _seen(texts: list[Text]) -> Iterator[Text]:
    yield from (text for text in texts if text.get_visible() and text.get_text().strip())


def _inside(box: Bbox, drawing: Figure) -> bool:
    page = drawing.bbox
    return bool(box.x0 >= -SLACK and box.y0 >= -SLACK and box.x1 <= page.x1 + SLACK and box.y1 <= page.y1 + SLACK)


def _overlap(one: Bbox, other: Bbox) -> bool:
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(across > SLACK and up > SLACK)
