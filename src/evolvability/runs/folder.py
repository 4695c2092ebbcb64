"""A run folder, to read from."""

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.config.schema import Config, read_toml
from evolvability.config.tables import from_table
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.populations import Population
from evolvability.runs import checkpoints, contents
from evolvability.runs.files import check_is_run, command_line
from evolvability.runs.histograms import Histogram, histograms_in
from evolvability.runs.population import TrainedPopulation
from evolvability.runs.rows import HISTOGRAMS, METRICS, Metrics, Row, read_rows
from evolvability.runs.sealed import Arrays, is_changed
from evolvability.runs.trust import check_files, check_trust, remember
from evolvability.tasks.base import Task
from evolvability.tasks.registry import make_task
from evolvability.tasks.robots.archives import ROBOT_FILE, offer

MAX_SEEDS = 10_000
"""Of a run: a folder from somebody else could ask for a billion."""
MAX_LETTERS = 60
"""Of the name of a behavior: it could hold a book."""


class Run(TrainedPopulation):
    """A run folder, to read from. Works while the run is still going on.

    Args:
        path: the folder.
        dimensions: which of its behavior dimensions to look at, in this order, counted from 0; default: all.
        task: the run's task, where that was given from Python as an object; only `pick` and its kin need it.
        population: the run's population, likewise.
        trust: import the code that the folder names as its task, from now on; needless for runs of one's own.

    Examples:
        >>> from evolvability import Run
        >>> run = Run("runs/interference-max_entropy-1")  # doctest: +SKIP
        >>> run.metrics["variance"].shape                 # doctest: +SKIP
        (10, 2000)
    """

    path: Path
    """The run folder."""
    dimensions: tuple[int, ...]
    """Which behavior dimensions are looked at; empty for all."""
    config: Config
    """The run's configuration."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        dimensions: Sequence[int] = (),
        *,
        task: Task | None = None,
        population: Population | None = None,
        trust: bool = False,
    ) -> None:
        self.path, self.dimensions = Path(path), tuple(dimensions)
        self.by_name, self._task, self.population = task is None, task, population
        check_is_run(self.path)
        check_files(self.path, contents.RUN_FOLDER_NAMES)
        try:
            self.config = from_table(read_toml(self.path / "config.toml"), Config)
        except ConfigError as error:
            raise RunFolderError(f"{self.path} cannot be read: {error}") from None
        if is_changed(self.path / "config.toml"):
            warnings.warn(f"{self.path / 'config.toml'} is not as the run wrote it: edited, or damaged.", stacklevel=2)
        if self.config.seeds > MAX_SEEDS:
            raise RunFolderError(f"{self.path}: {self.config.seeds:,} seeds are too many; {MAX_SEEDS:,} at most.")
        # The robot of this folder, not a file of that name elsewhere.
        digest = getattr(self.config.task_options, "digest", None)
        if digest == "":
            raise RunFolderError(f"{self.path} names a robot's file without its checksum, so it is not opened.")
        offer(digest or "", self.path / ROBOT_FILE)
        if trust:
            remember(self.path, self.config)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    # Made when it is first asked for: that may run code.
    @property
    def task(self) -> Task:  # type: ignore[override]
        """The run's task, made by its name unless it was given."""
        if self._task is None:  # kept: one made anew would be compiled anew
            self._task = self.make_task(self.config.task_options)
        return self._task

    def make_task(self, options: Any) -> Task:
        """The run's task with some options, made by its name; refused where that runs code that is not trusted."""
        check_trust(self.path, self.config)
        return make_task(self.config.task, options)

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, devices and commit of the process that made the run."""
        table = contents.table_in(self.path / "environment.json")
        return table | {"devices": [*map(str, table["devices"])]}

    @property
    def origin(self) -> dict[str, Any] | None:
        """Of a run that started from another: that one's path, generation, configuration and center's checksum."""
        path = self.path / "origin.json"
        return contents.origin_in(path) if path.is_file() else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects in metrics.jsonl, up to the last complete generation."""
        return list(self._rows(METRICS))

    def histograms(self) -> dict[tuple[int, int], Histogram]:
        """Of behaviors, by generation and seed."""
        return histograms_in(self.path / HISTOGRAMS, self._rows(HISTOGRAMS))

    def _rows(self, name: str) -> Iterator[Row]:
        # First: a run may be going on, and writes checkpoints after rows.
        kept, number, lost = checkpoints.checkpoint_generations(self.path), 0, list[int]()
        for row in read_rows(self.path / name, self.seeds, lost):
            number += 1
            yield row
        done = max(kept, default=0)
        if which := sorted({*lost, *range(number // self.config.seeds, done)}):
            how = "damaged" if (self.path / name).is_file() else "gone"
            again = f"What can be is done again by: {command_line('resume', self.path)}"
            if not kept or which[-1] < kept[0]:  # as in an export, which has the last alone or none
                again = "No checkpoint is left from which these could be done again."
            warnings.warn(
                f"{self.path / name} is {how}, and empty for the generations {checkpoints.summary(which)}. {again}",
                stacklevel=3,
            )

    @property
    def metrics(self) -> Arrays:
        """Every metric by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""
        return Metrics(self.path / METRICS, self._rows(METRICS), self.config.seeds)

    @property
    def recorded(self) -> list[int]:
        """The generations whose behaviors were kept."""
        self._miss("behaviors")
        return contents.generations_in(self.path / "behaviors")

    def behaviors(self, generation: int | None = None) -> Arrays:
        """One recorded generation; default: the last.

        Returns:
            ``behavior`` (num_seeds, num_members, num_behaviors); ``fitness``, ``valid``, ``component``
            (num_seeds, num_members). Of members with several episodes also ``episodes``
            (num_seeds, num_members, num_episodes, num_behaviors), whose mean the behavior is.
        """
        # Where one is asked for, others that may be gone are of no matter.
        recorded = self.recorded if generation is None else contents.generations_in(self.path / "behaviors")
        generation = recorded[-1] if generation is None and recorded else generation
        if generation not in recorded:
            nearby = f"recorded: {checkpoints.summary(recorded)}" if recorded else "none was recorded"
            raise RunFolderError(f"{self.path} has no behaviors of generation {generation}; {nearby}.")
        path = contents.arrays_path(self.path / "behaviors", generation)
        arrays = contents.behaviors_in(path, self.config.seeds)
        return arrays | {name: self.along(arrays[name]) for name in ("behavior", "episodes") if name in arrays}

    def along(self, behavior: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Behaviors along the dimensions that are looked at; dimensions are the last axis."""
        if not self.dimensions:
            return behavior
        number = behavior.shape[-1]
        if len({*self.dimensions}) < len(self.dimensions) or not {*self.dimensions} <= {*range(number)}:
            asked = ",".join(map(str, self.dimensions))
            raise ConfigError(f"{self.path} has the behavior dimensions 0 to {number - 1}, each once; got '{asked}'.")
        return behavior[..., list(self.dimensions)]

    @property
    def behavior_names(self) -> list[str]:
        """What the dimensions that are looked at are called, with their units; none before anything is recorded."""
        if not (recorded := self.recorded):
            return []
        first = contents.arrays_path(self.path / "behaviors", recorded[0])
        number = contents.behaviors_in(first, self.config.seeds)["behavior"].shape[-1]
        path, names = self.path / "behavior.json", [f"behavior {index}" for index in range(number)]
        try:
            kept = [str(name)[:MAX_LETTERS] for name in contents.table_in(path)["names"]]
            if kept and len(kept) != number:
                raise RunFolderError(f"{path} has {len(kept)} names for {number} behavior dimensions.")
            names = kept or names
        except RunFolderError as error:
            warnings.warn(f"{error} Dimensions are called by numbers.", stacklevel=2)
        return [names[index] for index in self.dimensions or range(number)]

    def _miss(self, name: str) -> None:
        if lost := checkpoints.missing(self.path, name):
            which = checkpoints.summary(lost)
            warnings.warn(f"{self.path / name} lacks the generations {which}, which were recorded.", stacklevel=3)

    @property
    def rebuildable(self) -> list[int]:
        """The generations whose members can be rebuilt: what they were drawn around was kept."""
        self._miss("centers")
        return sorted({*checkpoints.checkpoint_generations(self.path), *contents.generations_in(self.path / "centers")})

    def drawn_around(self, generation: int) -> Arrays:
        """What a generation's members were drawn around: a State's arrays by name, a seed axis in front.

        The optimizer's may be missing.
        """
        path = contents.arrays_path(self.path / "centers", generation)
        if path.is_file():
            return contents.state_in(path)
        if generation in self.rebuildable:
            return self.checkpoint(generation)
        known = checkpoints.summary(self.rebuildable)
        raise RunFolderError(f"{self.path}: the center of generation {generation} was not kept, but of these: {known}.")

    def checkpoint(self, generation: int | None = None) -> Arrays:
        """A State's arrays by name, with a seed axis in front; default: those of the newest intact checkpoint."""
        return checkpoints.load_checkpoint(self.path, generation)[1]

    def _ended_with(self) -> tuple[int, Arrays]:
        """The generation and the arrays of the newest checkpoint; a slim export of a run is enough."""
        return checkpoints.load_checkpoint(self.path)

    @property
    def generations_done(self) -> int:
        """How many generations have their metrics."""
        return sum(1 for _ in self._rows(METRICS)) // self.config.seeds

    @property
    def is_complete(self) -> bool:
        """Whether every generation is done, and the last checkpoint is intact."""
        last = self.config.generations
        available = checkpoints.checkpoint_generations(self.path)
        checkpoints.miss_last(self.path, available)
        if available[-1:] != [last]:
            return False
        if checkpoints.intact(self.path, last) is None:
            warnings.warn(f"{contents.arrays_path(self.path / contents.CHECKPOINTS, last)} is damaged.", stacklevel=2)
            return False
        return True


def spread_out(recorded: Sequence[int], most: int) -> list[int]:
    """At most so many of the recorded generations, the first and the last among them; of one, the last.

    Examples:
        >>> spread_out(range(0, 101, 10), 3)
        [0, 50, 100]
    """
    if len(recorded) <= most:
        return list(recorded)
    # From the last to the first: of a single one, linspace gives where it begins.
    wanted = np.linspace(recorded[-1], recorded[0], most)
    nearest = np.abs(np.subtract.outer(wanted, recorded)).argmin(axis=1)
    # Unique also sorts; where generations were recorded unevenly two wishes may meet in one.
    return [recorded[place] for place in np.unique(nearest)]
