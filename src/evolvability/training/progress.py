"""What a person sees while a run goes on: a bar with the numbers below it on a terminal, plain lines elsewhere."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from evolvability.config.schema import Config
from evolvability.training.metrics import Rows

PLAIN_LINES = 20
PLAIN_SECONDS = 30.0


class Display(Protocol):
    """Takes every generation's rows."""

    def __call__(self, rows: Rows, /) -> None:
        """Show one generation."""


@contextmanager
def display(
    config: Config, console: Console, *, quiet: bool = False, status: Callable[[], str] = str
) -> Iterator[Display]:
    """The right display for a console; ``status`` tells about workers, if there are any."""
    if quiet:
        yield lambda rows: None
    elif console.is_terminal or (console.is_jupyter and find_spec("ipywidgets")):  # which rich draws with there
        with _progress(console) as progress:
            task = progress.add_task("", total=config.generations, summary="compiling")
            yield _Live(progress, task, config, status)
            progress.refresh()  # in a notebook rich leaves the last but one frame
    else:
        yield _Plain(console, config, status)


@contextmanager
def live(config: Config, wanted: bool, status: Callable[[], str] = str) -> Iterator[Display]:
    """The display for callers from Python: on a terminal and in a notebook, and nothing in logs of their own."""
    console = Console(emoji=False)
    is_seen = console.is_terminal or console.is_jupyter
    with display(config, console, quiet=not (wanted and is_seen), status=status) as show:
        yield show


def summary(rows: Rows, evaluations_per_second: float, workers: str = "") -> str:
    """One generation in a line; several seeds by their medians."""
    names = {"variance": "variance", "entropy": "entropy", "fitness_before": "before", "fitness_mean": "fitness"}
    parts = [f"{label} {value:.4g}" for name, label in names.items() if (value := _median(rows, name)) is not None]
    invalid = sum(row["num_invalid"] for row in rows)
    parts += [f"[red]{invalid} invalid[/red]"] if invalid else []
    parts += [f"{evaluations_per_second:,.{0 if evaluations_per_second >= 10 else 1}f} evaluations/s"]
    return "  ".join([*parts, workers] if workers else parts)


class _Live:
    def __init__(self, progress: Progress, task: TaskID, config: Config, status: Callable[[], str]) -> None:
        self.progress, self.task, self.status = progress, task, status
        self.rate = _Rate(config)

    def __call__(self, rows: Rows) -> None:
        done = rows[0]["generation"] + 1
        self.progress.update(self.task, completed=done, summary=summary(rows, self.rate(rows), self.status()))


class _Plain:
    def __init__(self, console: Console, config: Config, status: Callable[[], str]) -> None:
        self.console, self.config, self.status = console, config, status
        self.every = max(1, config.generations // PLAIN_LINES)
        self.rate = _Rate(config)
        self.printed = time.monotonic()

    def __call__(self, rows: Rows) -> None:
        done = rows[0]["generation"] + 1
        rate = self.rate(rows)
        due = time.monotonic() - self.printed > PLAIN_SECONDS
        if done % self.every == 0 or done in (1, self.config.generations) or due:
            self.printed = time.monotonic()
            self.console.print(
                f"generation {done}/{self.config.generations}  {summary(rows, rate, self.status())}",
                highlight=False,
                soft_wrap=True,
            )


class _Rate:
    """Evaluations per second over the last generations; the first one of all compiles, and is forgotten at the next."""

    def __init__(self, config: Config, memory: float = 0.9) -> None:
        self.members = config.population_size * config.seeds
        self.memory = memory
        self.seconds: float | None = None
        self.seen = 0

    def __call__(self, rows: Rows) -> float:
        self.seen += 1
        # All seeds are one batch, so every row has the same seconds.
        seconds = max(rows[0]["seconds"], 1e-6)
        if self.seen <= 2 or self.seconds is None:
            self.seconds = seconds
        self.seconds = self.memory * self.seconds + (1 - self.memory) * seconds
        return self.members / self.seconds


class _BarAndSummary(Progress):
    """The bar on a line of its own and the numbers below it: side by side they do not fit into 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            yield self.make_tasks_table([task])
            yield Text.from_markup(task.fields["summary"])


def _progress(console: Console) -> Progress:
    return _BarAndSummary(
        TextColumn("generation {task.completed}/{task.total}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


def _median(rows: Rows, name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None
