"""The figures a command line can name."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from evolvability.core.errors import ConfigError, given, unknown
from evolvability.figures import (
    adaptation,
    behaviors,
    components,
    curves,
    elites,
    episodes,
    evolution,
    interference,
    offspring,
)
from evolvability.figures.style import paper_style
from evolvability.runs.files import write_output
from evolvability.runs.folder import Run

FIGURES: dict[str, Callable[[Sequence[Run]], Figure]] = {
    "interference": interference.figure,
    "curves": curves.figure,
    "behaviors": behaviors.figure,
    "final": behaviors.final_figure,
    "seeds": behaviors.seeds_figure,
    "distance": curves.distance_figure,
    "adaptation": adaptation.figure,
    "evolution": evolution.figure,
    "components": components.figure,
    "race": adaptation.race_figure,
    "offspring": offspring.figure,
    "elites": elites.figure,
    "episodes": episodes.figure,
}
"""From runs to a figure, by name."""
OF_BEHAVIORS = ("behaviors", "final", "seeds", "components", "offspring", "elites", "episodes")
"""Those whose axes are behavior dimensions, which can be chosen."""

# Without the date of writing and the like: the same runs give the same file.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def draw_figure(name: str, runs: Sequence[Run], output: Path | None = None) -> Path:
    """Draw one of `FIGURES` into a file, by default NAME.png; its ending says in which format."""
    if name not in FIGURES:
        raise ConfigError(unknown("figure", name, FIGURES))
    if not runs:
        raise ConfigError(f"The figure '{name}' shows runs, but none was given. Give at least one run folder.")
    if any(run.dimensions for run in runs) and name not in OF_BEHAVIORS:
        raise ConfigError(f"dimensions are for {', '.join(OF_BEHAVIORS)}; the figure '{name}' has other axes.")
    return save_figure(lambda: FIGURES[name](runs), output or Path(f"{name}.png"))


def save_figure(draw: Callable[[], Figure], output: Path) -> Path:
    """Draw, in the style of this package, into a file whose ending says in which format."""
    suffix = output.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(
            f"The output of a figure must end in {', '.join(METADATA)}, got '{output}'. "
            f"Write e.g. {given(output=str(output.with_suffix('.png') if output.name else 'figure.png'))}."
        )
    content = io.BytesIO()
    with paper_style():
        drawing = draw()
        for text in drawing.findobj(Text):
            # A name may have dollars, and is not a formula; ticks that matplotlib has written itself are.
            text.set_parse_math(r"\mathdefault" in text.get_text() or "$" not in text.get_text())
        drawing.savefig(content, format=suffix[1:], metadata=METADATA[suffix])
    write_output(output, _small(content) if suffix == ".png" else content.getvalue())
    return output


def _small(picture: io.BytesIO) -> bytes:
    """A PNG with a palette of 256 colors: drawings look the same with it, at a third of the size."""
    with Image.open(picture) as image:
        dots = image.info["dpi"]
        # As RGB: median cut takes no transparency.
        few = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    content = io.BytesIO()
    few.save(content, "PNG", dpi=dots)  # a PNG is otherwise saved without it
    return content.getvalue()
