"""What every command prints with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from evolvability.config.schema import Config
from evolvability.core.errors import ClusterError

console = Console(emoji=False)  # :end: is a user's own, too
errors = Console(stderr=True, emoji=False)


def print_text(text: str, where: Console = console) -> None:
    """Text as it is: square brackets are a user's own, and a path is not broken over lines."""
    where.print(text, markup=False, highlight=False, soft_wrap=True)


def say(quiet: bool, text: str) -> None:
    """Print a text unless told to be quiet."""
    if not quiet:
        print_text(text)


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "seed"), plural(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number} {noun}" + ("s" if number != 1 else "")


def free_folder(config: Config) -> Path:
    """The first unused runs/TASK-OBJECTIVE-N."""
    stem = f"{config.task}-{config.objective}".replace(":", "-").replace("*", "x")
    number = 1
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
        text = f"nothing is lost. Go on with: ees resume {path}" if begun else "nothing was begun yet."
        what = "Interrupted" if isinstance(stop, KeyboardInterrupt) else "The workers are gone"
        print_text(f"\n{what}; {text}", errors)
        raise


def finish(path: Path) -> None:
    """What became of a run."""
    from evolvability.cli.summaries import summary_line
    from evolvability.runs.folder import Run

    print_text(f"{summary_line(Run(path))}\nfigures: ees figure curves {path}\nwatch its mutations: ees explore {path}")
