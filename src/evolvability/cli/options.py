"""What the commands that train have in common."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from evolvability.core.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class FolderOptions:
    """Where the run goes, and what it starts from."""

    output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The run folder; runs/TASK-OBJECTIVE-N unless given."""
    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """A named set of values, from `ees list`; options given here win over it."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A TOML file of values, such as a run folder's config.toml; options given here win over it."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclasses.dataclass(frozen=True)
class WorkerOptions:
    """Where members are evaluated, for tasks whose simulator is ordinary Python. It does not change the result."""

    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Worker processes on this machine, one a core unless given; 0 for none: everything in this process."""
    dask: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """A Dask cluster instead: its scheduler's address, such as tcp://host:8786, or its scheduler file."""
    deadline: float = 600.0
    """Seconds a unit of work may take before it is done again elsewhere."""
    processes_per_worker: int = 1
    """Processes of each Dask worker's own, where there is one worker a machine, started with --no-nanny."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 0:
            raise ConfigError(f"--workers must be 0 or more, got {self.workers}.")
        if self.workers is not None and self.dask is not None:
            raise ConfigError("Give --workers, for processes on this machine, or --dask, for a cluster, not both.")
        if self.deadline <= 0:
            raise ConfigError(f"--deadline must be positive, got {self.deadline}.")
        if self.processes_per_worker < 1:
            raise ConfigError(f"--processes-per-worker must be 1 or more, got {self.processes_per_worker}.")
        if self.processes_per_worker > 1 and self.dask is None:
            raise ConfigError("--processes-per-worker is for the workers of --dask; for this machine's, use --workers.")


@dataclasses.dataclass(frozen=True)
class TrainOptions(FolderOptions):
    """Where the run goes, what it starts from, and where members are evaluated."""

    evaluation: Annotated[WorkerOptions, tyro.conf.arg(name="workers")] = WorkerOptions()
    """Where members are evaluated."""


def lookup(arguments: Sequence[str], option: str) -> str | None:
    """The value of one option, before the rest is parsed."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        if argument == option:
            return following
        if argument.startswith(option + "="):
            return argument.removeprefix(option + "=")
    return None
