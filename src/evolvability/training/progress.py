"""What a person sees while a run goes on: a bar with the numbers below it on a terminal, plain lines elsewhere."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from evolvability.config.schema import Config
from evolvability.core.density import kernel_density
from evolvability.core.keys import episode_key
from evolvability.core.strategy import Algorithm
from evolvability.methods.registry import KernelOptions
from evolvability.runs.files import command_line
from evolvability.runs.picking import evaluator
from evolvability.tasks.registry import task_entry
from evolvability.training.evolution import Evolution
from evolvability.training.metrics import Rows
from evolvability.workers.pools import Pool

PLAIN_LINES = 20
PLAIN_SECONDS = 30.0
LONG = 5.0
"""Seconds from which on a generation is long: then it is shown how far it is."""
PROBED, MANY = 64, 2048
"""Members that are tried before a run, and how many per generation make that worth the wait."""
PAIRED = 1024
"""Members whose pairs are tried."""
PATIENCE = 3600.0
"""Seconds from which on a smaller preset is suggested."""
Display = Callable[[Rows], None]  # takes every generation's rows, and shows them


class Pace:
    """How long generations take, and how far the one under way is; before the first is done, by an estimate."""

    def __init__(self, total: int, expected: float | None = None, share: Callable[[], float] = lambda: 0.0) -> None:
        self.total, self.done, self.expected, self._share = total, 0, expected, share
        self._began, self._recent = time.monotonic(), deque[float](maxlen=20)

    def note(self, rows: Rows) -> float:
        """Take notice of a generation that is done; the median seconds of the latest."""
        # All seeds are one batch, so every row has the same seconds.
        self._recent.append(max(rows[0]["seconds"], 1e-6))
        self.done, self._began = rows[0]["generation"] + 1, time.monotonic()
        # The median, and of two the lower: the first generation of all compiles.
        self.expected = statistics.median_low(self._recent)
        return self.expected

    def left(self) -> str:
        """The time that is left, by generations that are done; "" after the first, which compiles, and the last."""
        if self.expected is None or len(self._recent) < 2 or self.done >= self.total:
            return ""
        return f"  about {duration(self.expected * (self.total - self.done))} left"

    def under_way(self) -> str:
        """How far the generation under way is, where it is long; mostly ""."""
        seconds = time.monotonic() - self._began
        if seconds < LONG or self.done >= self.total:
            return ""
        share = self._share()
        of_about = f" of about {duration(self.expected)}" if self.expected and seconds < self.expected else ""
        far = f", {share:.0%} of its members" if share else of_about
        return f"generation {self.done + 1}: {duration(seconds)}{far}"


def seconds_per_generation(evolution: Evolution) -> float | None:
    """An estimate by some members, evaluated twice since the first time compiles; None where it would tell nothing.

    On an accelerator few members take as long as many, and workers tell by themselves how far they are.
    """
    config, algorithm = evolution.config, evolution.algorithm
    members = config.population_size * config.seeds
    on_host = evolution.task.on_host
    # Functions of the user's own are not called more often than they have to be.
    is_own = on_host and ":" in config.task
    elsewhere = evolution.evaluator is not None or is_own or (jax.default_backend() != "cpu" and not on_host)
    if members < MANY or elsewhere or config.explores or not isinstance(algorithm, Algorithm):
        return None
    state = jax.tree.map(lambda leaf: leaf[0], evolution.start())
    sample = algorithm.ask(state, evolution.population.draws(PROBED))
    evaluate = evaluator(evolution.task)
    seconds = _seconds(evaluate, episode_key(state.key, state.generation), sample, state.memory)
    return seconds * members / PROBED + pair_seconds(config, len(evolution.task.behavior))


def pair_seconds(config: Config, num_behaviors: int) -> float:
    """Of an objective that compares all pairs of members: it grows with the square of their number; of others, 0."""
    options, episodes = config.objective_options, config.episodes
    terms = [*options.values()] if isinstance(options, dict) else [options]
    kernels = [term for term in terms if isinstance(term, KernelOptions)]
    paired = [term for term in kernels if num_behaviors > 2 or getattr(term, "leave_one_out", False)]
    if config.population_size < MANY or not paired:
        return 0.0
    behavior = np.random.default_rng(0).normal(size=(PAIRED, num_behaviors)).astype(np.float32)
    density = jax.jit(partial(kernel_density, bandwidth=1.0, leave_one_out=True))
    seconds = _seconds(density, behavior, np.zeros(PAIRED, np.float32), np.ones(PAIRED, bool))
    # Forth and back; and of several episodes, each is compared with those of every other number.
    rows, times = config.population_size * episodes, 2 * episodes * len(paired)
    return times * config.seeds * seconds * (rows / PAIRED) ** 2


def _seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Of the second call: the first compiles."""
    for _ in range(2):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        seconds = time.perf_counter() - began
    return seconds


def duration(seconds: float) -> str:
    """A time in a few letters.

    >>> duration(7.2), duration(250), duration(24_000)
    ('7 s', '4 min', '6.7 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def display(
    config: Config, console: Console, *, quiet: bool = False, pool: Pool | None = None, expected: float | None = None
) -> Iterator[Display]:
    """The right display for a console; pool: of the workers; expected: seconds of a generation, if they are known."""
    pace = Pace(config.generations, expected, lambda: pool.share if pool else 0.0)

    def text(rows: Rows) -> str:
        return summary(rows, config.population_size * config.seeds / pace.note(rows))

    if quiet:
        yield lambda rows: None
    elif console.is_terminal or (console.is_jupyter and find_spec("ipywidgets")):  # which rich draws with there
        with _progress(console, pace) as progress:
            task = progress.add_task("", total=config.generations, summary=at_first(config.task, pace))
            yield lambda rows: progress.update(task, completed=rows[0]["generation"] + 1, summary=text(rows))
            progress.refresh()  # in a notebook rich leaves the last but one frame
    else:
        if expected:
            console.print(at_first(config.task, pace), highlight=False, soft_wrap=True)
        with _plain(console, pace, text) as show:
            yield show


def live(evolution: Evolution, wanted: bool) -> AbstractContextManager[Display]:
    """The display for callers from Python: on a terminal and in a notebook, and nothing in logs of their own."""
    console = Console(emoji=False)
    is_seen = wanted and (console.is_terminal or console.is_jupyter)
    pool = evolution.evaluator.pool if evolution.evaluator else None
    expected = seconds_per_generation(evolution) if is_seen else None
    return display(evolution.config, console, quiet=not is_seen, pool=pool, expected=expected)


def summary(rows: Rows, evaluations_per_second: float) -> str:
    """One generation in a line; several seeds by their medians."""
    names = {"variance": "variance", "entropy": "entropy", "repeatability": "repeatability"}
    names |= {"fitness_before": "before", "fitness_mean": "fitness"}
    parts = [f"{label} {value:.4g}" for name, label in names.items() if (value := _median(rows, name)) is not None]
    invalid = sum(row["num_invalid"] for row in rows)
    parts += [f"[red]{invalid} invalid[/red]"] if invalid else []
    parts += [f"{evaluations_per_second:,.{0 if evaluations_per_second >= 10 else 1}f} evaluations/s"]
    return "  ".join(parts)


@contextmanager
def _plain(console: Console, pace: Pace, text: Callable[[Rows], str]) -> Iterator[Display]:
    """About twenty lines per run, and one whenever half a minute has passed without."""
    every, printed, ended = max(1, pace.total // PLAIN_LINES), time.monotonic(), threading.Event()

    def show(rows: Rows) -> None:
        nonlocal printed
        done, line = rows[0]["generation"] + 1, text(rows)
        if done % every == 0 or done in (1, pace.total) or time.monotonic() - printed > PLAIN_SECONDS:
            printed = time.monotonic()
            console.print(f"{done}/{pace.total} generations  {line}{pace.left()}", highlight=False, soft_wrap=True)

    def tick() -> None:
        nonlocal printed
        while not ended.wait(PLAIN_SECONDS / 10):
            if time.monotonic() - printed > PLAIN_SECONDS and (line := pace.under_way()):
                printed = time.monotonic()
                console.print(f"{pace.done}/{pace.total} generations  {line}", highlight=False, soft_wrap=True)

    threading.Thread(target=tick, daemon=True).start()
    try:
        yield show
    finally:
        ended.set()


class _BarAndSummary(Progress):
    """The bar on a line of its own and the numbers below it: side by side they do not fit into 80 columns."""

    def __init__(self, pace: Pace, *columns: ProgressColumn, console: Console) -> None:
        self._pace = pace  # first: the bar is drawn when it is made
        super().__init__(*columns, console=console)

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            yield self.make_tasks_table([task])
            yield Text.from_markup(task.fields["summary"])
            if line := self._pace.under_way():
                yield Text(line)


def _progress(console: Console, pace: Pace) -> Progress:
    return _BarAndSummary(
        pace,
        TextColumn("{task.completed}/{task.total} generations"),  # as many are done: the first one's number is 0
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


def at_first(task: str, pace: Pace) -> str:
    """What is said before the first generation is done; of a long run, which preset takes minutes."""
    if not pace.expected:
        return "compiling; no estimate before generation 2"
    seconds = pace.expected * pace.total
    text = f"compiling; about {duration(seconds)} in all, as {PROBED} members tell"
    if seconds < PATIENCE or "laptop" not in task_entry(task).presets:
        return text
    return f"{text}. Minutes on a CPU are enough to see the effect: {command_line('train', task, '--preset', 'laptop')}"


def _median(rows: Rows, name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None
