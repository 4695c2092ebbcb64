"""The figures a command line can name."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolvability.core.entries import loaded
from evolvability.core.errors import ConfigError, given, unknown
from evolvability.runs.files import write_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evolvability.runs.folder import Run


@dataclass(frozen=True)
class FigureEntry:
    """A figure by name: called with runs, it draws them."""

    factory: str
    """``module:name`` of the function from runs to a Matplotlib figure."""
    summary: str
    """What the help of `ees figure` says of it."""
    of_behaviors: bool = False
    """Whether its axes are behavior dimensions, which can be chosen."""

    def __call__(self, runs: "Sequence[Run]") -> "Figure":
        """The figure of these runs."""
        drawn: Figure = loaded(self.factory)(runs)
        return drawn


FIGURES = {
    "curves": FigureEntry(
        ".figures.curves:figure",
        "variance, entropy, distance and fitness over generations, with bands over seeds; of MAML, its own too",
    ),
    "distance": FigureEntry(".figures.curves:distance_figure", "the mean distance from the origin over generations"),
    "behaviors": FigureEntry(
        ".figures.behaviors:figure",
        "what the population does, generation by generation, as heat maps",
        of_behaviors=True,
    ),
    "final": FigureEntry(
        ".figures.behaviors:final_figure", "what the last population does, runs side by side", of_behaviors=True
    ),
    "seeds": FigureEntry(
        ".figures.behaviors:seeds_figure", "the same of every seed, one line per method", of_behaviors=True
    ),
    "episodes": FigureEntry(
        ".figures.episodes:figure",
        "each mutation's episodes, mutations sorted by their mean: what is luck, and what is skill",
        of_behaviors=True,
    ),
    "components": FigureEntry(
        ".figures.components:figure", "what the last population does, one color per component", of_behaviors=True
    ),
    "offspring": FigureEntry(
        ".figures.offspring:figure", "what mutations did that `ees measure --keep` kept", of_behaviors=True
    ),
    "adaptation": FigureEntry(
        ".figures.adaptation:figure", "how far the best of several mutations gets, as `ees adapt` found"
    ),
    "race": FigureEntry(".figures.adaptation:race_figure", "ways of adapting over episodes used, as `ees race` found"),
    "evolution": FigureEntry(
        ".figures.evolution:figure", "standard ES from different starts, as `ees evolve-from` makes them"
    ),
    "elites": FigureEntry(".figures.elites:figure", "a MAP-Elites archive of all recorded members", of_behaviors=True),
    "interference": FigureEntry(
        ".figures.interference:figure", "the interference pattern and the way of every center over it"
    ),
}
"""What `ees figure` draws, by name."""

# Without the date of writing and the like: the same runs give the same file.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def figure_entry(name: str) -> FigureEntry:
    """The figure of that name."""
    if name not in FIGURES:
        raise ConfigError(unknown("figure", name, FIGURES))
    return FIGURES[name]


def draw_figure(name: str, runs: "Sequence[Run]", output: Path | None = None) -> Path:
    """Draw one of `FIGURES` into a file, by default NAME.png; its ending says in which format."""
    entry = figure_entry(name)
    if not runs:
        raise ConfigError(f"The figure '{name}' shows runs, but none was given. Give at least one run folder.")
    if any(run.dimensions for run in runs) and not entry.of_behaviors:
        others = ", ".join(known for known, other in FIGURES.items() if other.of_behaviors)
        raise ConfigError(f"dimensions are for {others}; the figure '{name}' has other axes.")
    return save_figure(lambda: entry(runs), output or Path(f"{name}.png"))


def save_figure(draw: "Callable[[], Figure]", output: Path) -> Path:
    """Draw, in the style of this package, into a file whose ending says in which format."""
    suffix = output.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(
            f"The output of a figure must end in {', '.join(METADATA)}, got '{output}'. "
            f"Write e.g. {given(output=str(output.with_suffix('.png') if output.name else 'figure.png'))}."
        )
    from matplotlib.text import Text

    from evolvability.figures.style import paper_style

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
    from PIL import Image

    with Image.open(picture) as image:
        dots = image.info["dpi"]
        # As RGB: median cut takes no transparency.
        few = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    content = io.BytesIO()
    few.save(content, "PNG", dpi=dots)  # a PNG is otherwise saved without it
    return content.getvalue()
