"""The figures a command line can name."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from evolvability.errors import ConfigError, UserError, unknown
from evolvability.figures import behaviors, curves, distance, final, interference
from evolvability.figures.style import paper_style
from evolvability.runs import Run

FIGURES: dict[str, Callable[[Sequence[Run]], Figure]] = {
    "interference": interference.figure,
    "curves": curves.figure,
    "behaviors": behaviors.figure,
    "final": final.figure,
    "distance": distance.figure,
}
"""From runs to a figure, by name."""

# Without the date of writing and the like: the same runs give the same file.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def draw_figure(name: str, runs: Sequence[Run], output: Path | None = None) -> Path:
    """Draw a figure into a file.

    Args:
        name: a name in `FIGURES`.
        runs: the runs it shows.
        output: the file to write; its ending says in which format. NAME.png unless given.

    Returns:
        The file written.
    """
    if name not in FIGURES:
        raise ConfigError(unknown("figure", name, FIGURES))
    if not runs:
        raise ConfigError(f"The figure '{name}' shows runs, but none was given. Give at least one run folder.")
    output = output or Path(f"{name}.png")
    suffix = output.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(
            f"The output of a figure must end in {', '.join(METADATA)}, got '{output}'. "
            f"Write e.g. --output {output.with_suffix('.png') if output.name else f'{name}.png'}."
        )
    content = io.BytesIO()
    with paper_style():
        FIGURES[name](runs).savefig(content, format=suffix[1:], metadata=METADATA[suffix])
    _write(output, content.getvalue())
    return output


def _write(output: Path, content: bytes) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(content)
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}. Choose another --output.") from None
