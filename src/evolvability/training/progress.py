"""What a person sees while a run goes on: a bar with the numbers below it on a terminal, plain lines elsewhere."""

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from evolvability.config.schema import Config
from evolvability.training.metrics import Rows

PLAIN_LINES = 20
PLAIN_SECONDS = 30.0
Display = Callable[[Rows], None]  # takes every generation's rows, and shows them


@contextmanager
def display(
    config: Config, console: Console, *, quiet: bool = False, status: Callable[[], str] = str
) -> Iterator[Display]:
    """The right display for a console; ``status`` tells about workers, if there are any."""
    recent: deque[float] = deque(maxlen=20)

    def text(rows: Rows) -> str:
        # All seeds are one batch, so every row has the same seconds.
        recent.append(max(rows[0]["seconds"], 1e-6))
        # The median, and of two the lower: the first generation of all compiles.
        return summary(rows, config.population_size * config.seeds / statistics.median_low(recent), status())

    if quiet:
        yield lambda rows: None
    elif console.is_terminal or (console.is_jupyter and find_spec("ipywidgets")):  # which rich draws with there
        with _progress(console) as progress:
            task = progress.add_task("", total=config.generations, summary="compiling")
            yield lambda rows: progress.update(task, completed=rows[0]["generation"] + 1, summary=text(rows))
            progress.refresh()  # in a notebook rich leaves the last but one frame
    else:
        yield _plain(console, config.generations, text)


@contextmanager
def live(config: Config, wanted: bool, status: Callable[[], str] = str) -> Iterator[Display]:
    """The display for callers from Python: on a terminal and in a notebook, and nothing in logs of their own."""
    console = Console(emoji=False)
    is_seen = console.is_terminal or console.is_jupyter
    with display(config, console, quiet=not (wanted and is_seen), status=status) as show:
        yield show


def summary(rows: Rows, evaluations_per_second: float, workers: str = "") -> str:
    """One generation in a line; several seeds by their medians."""
    names = {"variance": "variance", "entropy": "entropy", "repeatability": "repeatability"}
    names |= {"fitness_before": "before", "fitness_mean": "fitness"}
    parts = [f"{label} {value:.4g}" for name, label in names.items() if (value := _median(rows, name)) is not None]
    invalid = sum(row["num_invalid"] for row in rows)
    parts += [f"[red]{invalid} invalid[/red]"] if invalid else []
    parts += [f"{evaluations_per_second:,.{0 if evaluations_per_second >= 10 else 1}f} evaluations/s"]
    return "  ".join([*parts, workers] if workers else parts)


def _plain(console: Console, generations: int, text: Callable[[Rows], str]) -> Display:
    """About twenty lines per run, and one whenever half a minute has passed without."""
    every, printed = max(1, generations // PLAIN_LINES), time.monotonic()

    def show(rows: Rows) -> None:
        nonlocal printed
        done, line = rows[0]["generation"] + 1, text(rows)
        if done % every == 0 or done in (1, generations) or time.monotonic() - printed > PLAIN_SECONDS:
            printed = time.monotonic()
            console.print(f"{done}/{generations} generations  {line}", highlight=False, soft_wrap=True)

    return show


class _BarAndSummary(Progress):
    """The bar on a line of its own and the numbers below it: side by side they do not fit into 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            yield self.make_tasks_table([task])
            yield Text.from_markup(task.fields["summary"])


def _progress(console: Console) -> Progress:
    return _BarAndSummary(
        TextColumn("{task.completed}/{task.total} generations"),  # as many are done: the first one's number is 0
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


def _median(rows: Rows, name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None
