"""What every command prints with."""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from evolvability.core.errors import ClusterError
from evolvability.runs.files import command_line, slug

if TYPE_CHECKING:
    from evolvability.config.schema import Config
    from evolvability.runs.folder import Run

SEVERAL_SEEDS = "several seeds: median (lowest to highest)"
TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # that have text run the other way
CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160), *TURNS) if chr(code) not in "\t\n"
}


class TextConsole(Console):
    """Shows text as text: escape sequences in names and settings of somebody else's never reach the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """What is shown, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(CONTROLS))

    def on_broken_pipe(self) -> None:
        """The reader has gone, as `head` does: `main` handles it. Rich would end the program as if by mistake."""
        raise BrokenPipeError


console = TextConsole(emoji=False)  # :end: is a user's own, too
errors = TextConsole(stderr=True, emoji=False)


def print_text(text: str, where: Console = console) -> None:
    """Text as it is: square brackets are a user's own, and a path is not broken over lines."""
    where.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, and nothing elsewhere: call what it gives with how much is done, and of how much."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def say(quiet: bool, text: str) -> None:
    """Print a text unless the user wants quiet."""
    if not quiet:
        print_text(text)


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "seed"), plural(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def spread(values: Any) -> str:
    """One value, or the median and the range of several.

    >>> spread([1.0]), spread([1.0, 2.0, 4.0])
    ('1', '2 (1 to 4)')
    """
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{statistics.median(map(float, values)):.4g} ({min(values):.4g} to {max(values):.4g})"


def median(values: Iterable[float]) -> float:
    """The median of what is finite; nan if nothing is."""
    finite = [value for value in map(float, values) if math.isfinite(value)]
    return statistics.median(finite) if finite else math.nan


def free_folder(config: "Config") -> Path:
    """The first unused runs/TASK-OBJECTIVE-N; of Gymnasium, the environment's id stands for the task."""
    stem = slug(f"{config.task_title.split()[-1]}-{config.objective}".replace("*", "x"))
    number = 1
    # Another process may take it a moment later: then the folder's lock refuses one of them.
    while (path := Path("runs") / f"{stem}-{number}").exists():
        number += 1
    return path


@contextmanager
def resumable(path: Path) -> Iterator[None]:
    """Tells how to go on when a run is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, ClusterError) as stop:
        begun = (path / "config.toml").exists()
        text = f"nothing is lost. Go on with: {command_line('resume', path)}" if begun else "nothing was begun yet."
        what = "Interrupted" if isinstance(stop, KeyboardInterrupt) else "The workers are gone"
        print_text(f"\n{what}; {text}", errors)
        raise


def finish(path: Path, *, is_watchable: bool = True, seconds: float | None = None) -> None:
    """What became of a run, and what to look at next; the explorer, where there is something to watch.

    The seconds are those that it took with all that was compiled; default: those of its generations alone.
    """
    from evolvability.runs.folder import Run

    run = Run(path)
    print_text(f"{_summary(run, seconds)}\nfigures: {command_line('figure', 'curves', path)}")
    if is_watchable:
        print_text(f"watch its mutations: {command_line('explore', path)}")


def _summary(run: "Run", seconds: float | None) -> str:
    metrics = run.metrics
    if not metrics:
        return f"{run.path}: no generation yet"
    parts = [
        f"{label} {median(metrics[name][:, 0]):.4g} -> {median(metrics[name][:, -1]):.4g}"
        for name, label in (
            ("variance", "variance"),
            ("entropy", "entropy"),
            ("repeatability", "repeatability"),
            ("fitness_mean", "fitness"),
        )
        if name in metrics and any(map(math.isfinite, metrics[name][:, -1]))
    ]
    if seconds is None:
        # Of the first seed: all seeds are one batch, with the same seconds.
        seconds = sum(filter(math.isfinite, metrics["seconds"][0]))  # a lost row has none
    return f"{run.path}: {', '.join(parts)} in {plural(metrics['generation'].shape[1], 'generation')}, {seconds:.1f} s"
