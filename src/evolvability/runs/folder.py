"""The run folder: written whole or not at all, resumed, read.

    runs/NAME/
      config.toml          every setting; `ees train --config` repeats the run
      environment.json     versions, devices, commit
      behavior.json        the name of every behavior dimension, with its unit
      robot.zip            the robot of a run that was given a file: its MJCF and all that belongs to it
      origin.json          the run this one started from, if any
      metrics.jsonl        one object per generation and seed, see docs/run-folder.md
      histograms.jsonl     a histogram of behaviors per generation and seed
      behaviors/           the population's behaviors, generation by generation
      centers/             what those generations were drawn around: State without the optimizer's
      checkpoints/         State, the last ones
      adaptations/         what the best of its mutations reached, goal by goal
      races/               what ways of adapting reached over episodes used
      offspring/           what mutations of its centers did, by their sigma
      tensorboard/         the metrics as TensorBoard reads them, if they were logged so

Nothing in it is executable: opening somebody else's run folder never runs code.
"""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.config.schema import Config, read_toml
from evolvability.config.tables import from_table
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.populations import Population
from evolvability.runs.behavior_names import NAMES_FILE, behavior_names
from evolvability.runs.checkpoints import (
    CHECKPOINTS,
    FOLDERS,
    arrays_path,
    checkpoint_generations,
    generations_in,
    has_checkpoint,
    load_checkpoint,
    miss_last,
    missing,
    summary,
)
from evolvability.runs.contents import Metrics, behaviors_in, environment_in, origin_in, state_in
from evolvability.runs.files import check_is_run, command_line
from evolvability.runs.histograms import Histogram, histograms_in
from evolvability.runs.parents import Parent, parents_from
from evolvability.runs.population import TrainedPopulation
from evolvability.runs.rows import ROW_FILES, read_rows
from evolvability.runs.sealed import Arrays, is_changed
from evolvability.runs.trust import check_files, check_trust, remember
from evolvability.tasks.base import Task
from evolvability.tasks.registry import make_task
from evolvability.tasks.robots.archives import ROBOT_FILE, offer

FILES = ("config.toml", "environment.json", NAMES_FILE, ROBOT_FILE, "origin.json", *ROW_FILES)
ARRAY_FOLDERS = (*FOLDERS, CHECKPOINTS)
EXTRAS = ("adaptations", "races", "offspring")
"""Folders of what was made of a finished run."""
RUN_FOLDER_NAMES = {*FILES, *ARRAY_FOLDERS, *EXTRAS, "tensorboard", ".lock"}
MAX_SEEDS = 10_000
"""Of a run: a folder from somebody else could ask for a billion."""


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
    population: Population | None
    """The population that members were drawn from, where it was given as an object."""
    config: Config
    """The run's configuration."""
    by_name: bool
    """Whether the task is the one that the configuration names, not an object of yours."""

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
        check_files(self.path, RUN_FOLDER_NAMES)
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

    def parents(self) -> list[Parent]:
        """What the run ended with, one parent per seed; a slim export of a run is enough."""
        generation, arrays = load_checkpoint(self.path)
        where, population = str(self.path), self.population
        return parents_from(arrays, self.config, self.task, generation, where=where, population=population)

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, devices and commit of the process that made the run."""
        return environment_in(self.path / "environment.json")

    @property
    def origin(self) -> dict[str, Any] | None:
        """Of a run that started from another: that one's path, generation, configuration and center's checksum."""
        path = self.path / "origin.json"
        return origin_in(path) if path.is_file() else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects in metrics.jsonl, up to the last complete generation."""
        return self._rows("metrics.jsonl")

    def histograms(self) -> dict[tuple[int, int], Histogram]:
        """Of behaviors, by generation and seed."""
        self._miss("histograms.jsonl")
        path = self.path / "histograms.jsonl"
        return histograms_in(path, self._rows(path.name)) if path.is_file() else {}

    def _rows(self, name: str) -> list[dict[str, Any]]:
        # First: a run may be going on, and writes checkpoints after rows.
        done = max(checkpoint_generations(self.path), default=0)
        rows, lost = read_rows(self.path / name, self.seeds)
        if lost or len(rows) < done * self.config.seeds:
            which = summary(lost) if lost else f"{len(rows) // self.config.seeds} to {done - 1}"
            text = f"{self.path / name} is damaged, and empty for the generations {which}."
            warnings.warn(f"{text} What can be is done again by: {command_line('resume', self.path)}", stacklevel=3)
        return rows

    @property
    def metrics(self) -> Arrays:
        """Every metric by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""
        return Metrics(self.path / "metrics.jsonl", self.rows, self.config.seeds)

    @property
    def recorded(self) -> list[int]:
        """The generations whose behaviors were kept."""
        self._miss("behaviors")
        return generations_in(self.path / "behaviors")

    def behaviors(self, generation: int | None = None) -> Arrays:
        """One recorded generation; default: the last.

        Returns:
            ``behavior`` (num_seeds, num_members, num_behaviors); ``fitness``, ``valid``, ``component``
            (num_seeds, num_members). Of members with several episodes also ``episodes``
            (num_seeds, num_members, num_episodes, num_behaviors), whose mean the behavior is.
        """
        # Where one is asked for, others that may be gone are of no matter.
        recorded = self.recorded if generation is None else generations_in(self.path / "behaviors")
        generation = recorded[-1] if generation is None and recorded else generation
        if generation not in recorded:
            nearby = f"recorded: {summary(recorded)}" if recorded else "none was recorded"
            raise RunFolderError(f"{self.path} has no behaviors of generation {generation}; {nearby}.")
        path = arrays_path(self.path / "behaviors", generation)
        arrays = behaviors_in(path, self.config.seeds)
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
        if not self.recorded:
            return []
        first = arrays_path(self.path / "behaviors", self.recorded[0])
        whole = behaviors_in(first, self.config.seeds)["behavior"].shape[-1]
        names = behavior_names(self.path, whole)
        return [names[index] for index in self.dimensions or range(whole)]

    def _miss(self, name: str) -> None:
        if lost := [generation for generation, _ in missing(self.path, [name])]:
            text = f"{self.path / name} lacks the generations {summary(lost)}: they were recorded, and are gone."
            warnings.warn(text, stacklevel=3)

    @property
    def rebuildable(self) -> list[int]:
        """The generations whose members can be rebuilt: what they were drawn around was kept."""
        self._miss("centers")
        return sorted({*checkpoint_generations(self.path), *generations_in(self.path / "centers")})

    def drawn_around(self, generation: int) -> Arrays:
        """What a generation's members were drawn around: a State's arrays by name, a seed axis in front.

        The optimizer's may be missing.
        """
        path = arrays_path(self.path / "centers", generation)
        if path.is_file():
            return state_in(path)
        if generation in self.rebuildable:
            return self.checkpoint(generation)
        known = summary(self.rebuildable)
        raise RunFolderError(f"{self.path}: the center of generation {generation} was not kept, but of these: {known}.")

    def checkpoint(self, generation: int | None = None) -> Arrays:
        """A State's arrays by name, with a seed axis in front; default: those of the newest intact checkpoint."""
        return load_checkpoint(self.path, generation)[1]

    @property
    def centers(self) -> np.ndarray[Any, Any]:
        """(num_seeds, num_components, num_params) the centers of the newest checkpoint."""
        # A slim export may have them in 16 bits.
        return self.checkpoint()["parameters/center"].astype(np.float32)

    @property
    def generations_done(self) -> int:
        """How many generations have their metrics."""
        return len(self.rows) // self.config.seeds

    @property
    def is_complete(self) -> bool:
        """Whether every generation is done, and the last checkpoint is intact."""
        last = self.config.generations
        available = checkpoint_generations(self.path)
        miss_last(self.path, available)
        if is_damaged := available[-1:] == [last] and not has_checkpoint(self.path, last):
            warnings.warn(f"{arrays_path(self.path / CHECKPOINTS, last)} is damaged.", stacklevel=2)
        return available[-1:] == [last] and not is_damaged


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
