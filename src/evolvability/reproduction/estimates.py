"""How long work will take on this machine: from runs that were made on it, or else from a short probe."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from evolvability.config.schema import MAML, Config
from evolvability.reproduction.plan import RunWork, StudyWork, Work
from evolvability.runs.environment import describe_devices
from evolvability.runs.folder import Run
from evolvability.training.driver import Evolution

PROBE_SHARE = 20
"""A probe's episodes are this many times shorter than those of the run."""
FILLED = 2000
"""Fewer members at a time than this leave an accelerator idle, and take it no less time."""
Kind = tuple[str, bool]
"""A task, and whether it is MAML that learns it: these cost alike."""


@dataclass(frozen=True)
class Estimate:
    """What is left of an item, and its seconds."""

    item: str
    pieces: int
    seconds: float


def member_steps(config: Config) -> int:
    """The control steps of a generation of one seed."""
    return config.population_size * getattr(config.task_options, "num_steps", 1)


def recorded_rates(paths: Iterable[Path]) -> dict[Kind, float]:
    """Seconds a member's step, from run folders made on devices like these; the first generation compiles."""
    devices = describe_devices()
    found: dict[Kind, list[float]] = {}
    for run in (Run(path) for path in paths if (path / "config.toml").exists()):
        rows = [row for row in run.rows if row["seed"] == run.config.seed and row["generation"] > 0]
        if rows and run.environment["devices"] == devices:
            seconds = statistics.median(row["seconds"] for row in rows)
            found.setdefault(_kind(run.config), []).append(seconds / member_steps(run.config) / run.config.seeds)
    return {kind: statistics.median(rates) for kind, rates in found.items()}


def probed_rate(config: Config) -> float:
    """Seconds a member's step of two generations of short episodes, after one that compiles.

    A CPU takes as long for each seed as for one; an accelerator is to be as full as it will be.
    """
    options = config.task_options
    if hasattr(options, "num_steps"):
        options = replace(options, num_steps=max(2, options.num_steps // PROBE_SHARE))
    short = replace(config, task_options=options, generations=3, start_from="")
    if jax.default_backend() == "cpu":
        short = replace(short, seeds=1)
    evolution = Evolution(short)
    seconds = [rows[0]["seconds"] for _, rows, _ in evolution.generations(evolution.start())]
    return min(seconds[1:]) / member_steps(short) / short.seeds


def estimates(works: Sequence[Work], probe: Callable[[Config], float] = probed_rate) -> list[Estimate]:
    """What is left to do and how long it will take, item by item."""
    runs = {work.path: work for work in works if isinstance(work, RunWork)}
    rates = recorded_rates(runs)
    left: dict[str, list[float]] = {}
    for work in works:
        if work.status() == "done":
            continue
        config = runs[work.path].run.config
        if (kind := _kind(config)) not in rates:
            rates[kind] = probe(config)
        left.setdefault(work.item, []).append(rates[kind] * _steps(work, config))
    return [Estimate(item, len(seconds), sum(seconds)) for item, seconds in left.items()]


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(42.4), duration(95), duration(4000), duration(200_000)
    ('42 s', '1.6 min', '1.1 h', '56 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.2g} h"


def _steps(work: Work, config: Config) -> float:
    """The members' steps that a piece of work has left."""
    if isinstance(work, RunWork):
        done = len(Run(work.path).rows) // config.seeds if (work.path / "config.toml").exists() else 0
        return (config.generations - done) * config.seeds * member_steps(config)
    calls = _calls(work)
    filled = 0 if jax.default_backend() == "cpu" else FILLED
    steps: Any = getattr(config.task_options, "num_steps", 1)
    return float(config.seeds * steps * sum(max(width, filled) for width in calls))


def _calls(work: StudyWork) -> list[int]:
    """How many members each evaluation of one seed has."""
    sizes, goals = work.sizes, 2
    if work.study.kind == "adapt":
        return [sizes["mutations"]] * (1 + sizes["repeats"])
    if work.study.kind == "race":
        return [sizes["episodes"], *[7] * sizes["repeats"]] * goals
    return [sizes["number"]]


def _kind(config: Config) -> Kind:
    return config.task, config.objective == MAML
