"""Writes the run folder: whole files or none, one process at a time; and mends one that was damaged."""

import os
import socket
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from evolvability.config.schema import Config, to_toml
from evolvability.core.errors import RunFolderError
from evolvability.core.types import PyTree
from evolvability.runs import checkpoints, contents, sealed
from evolvability.runs.environment import describe_environment
from evolvability.runs.files import ELSEWHERE, writing
from evolvability.runs.folder import Run
from evolvability.runs.rows import METRICS, ROW_FILES, Metrics, Row, read_rows, to_lines
from evolvability.runs.sealed import Arrays
from evolvability.runs.trees import named_arrays
from evolvability.runs.trust import check_files
from evolvability.tasks.robots.archives import ROBOT_FILE, archive_of


class RunWriter:
    """Writes a run folder. One process at a time: see `locked`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unsynced: list[Path] = []
        self.recorded: dict[str, list[int]] = {folder: [] for folder in contents.FOLDERS}
        self._newest_center: Path | None = None  # which the next one replaces

    def create(
        self,
        config: Config,
        origin: dict[str, Any] | None = None,
        behavior: Sequence[str] = (),
        state: PyTree | None = None,
    ) -> None:
        """A new folder for a run, what is to be known of the run it starts from, and the names of its behaviors.

        With the State that it starts at, nothing else is needed to go on, not even what it started from.
        """
        self.make_folders()
        if (robot := archive_of(getattr(config.task_options, "digest", ""))) is not None:
            sealed.write_whole(self.path / ROBOT_FILE, robot)
        self.write_table("environment.json", describe_environment())
        if origin is not None:
            self.write_table("origin.json", origin)
        self.write_table("behavior.json", {"names": list(behavior)})
        for name in ROW_FILES:
            sealed.write_whole(self.path / name, b"")
        if state is not None:
            self.checkpoint(state, config)
        self.write_config(config)

    def write_table(self, name: str, table: dict[str, Any]) -> None:
        """A file of JSON, see `contents.TABLES`."""
        sealed.write_whole(self.path / name, sealed.to_json(table, indent=2).encode())

    def make_folders(self) -> None:
        """The folders inside of a run folder."""
        for name in contents.ARRAY_FOLDERS:
            (self.path / name).mkdir(exist_ok=True)

    def write_config(self, config: Config) -> None:
        """The configuration. Written last when a folder is created: it makes the folder a run."""
        path = self.path / "config.toml"
        if path.exists() and sealed.is_changed(path):
            sealed.keep_beside(path)
        sealed.write_whole(path, sealed.to_sealed_toml(to_toml(config)).encode())
        sealed.sync_to_disk(self.path.parent)  # where the folder's own name is

    def rewind(self, generation: int, seeds: range) -> None:
        """Forget what was recorded from a generation on, so that it can be done again; seeds: of the run."""
        # First: whoever reads meanwhile does not miss what later checkpoints vouch for.
        for old, file in contents.own_files(self.path / contents.CHECKPOINTS):
            if old > generation and file.suffix != sealed.PART and checkpoints.intact(self.path, old) is None:
                sealed.keep_beside(file)
            if old > generation or file.suffix == sealed.PART:
                file.unlink()
        for file in (self.path / name for name in ROW_FILES):
            # Rewritten even if nothing is dropped: a last line cut in the middle must not be appended to.
            rows = read_rows(file, seeds, [], at_least=generation)
            sealed.write_whole(file, to_lines(islice(rows, generation * len(seeds))))
        self.make_folders()  # or one that was lost with all its files would be missed
        for folder in contents.FOLDERS:
            for recorded, file in contents.own_files(self.path / folder):
                if recorded >= generation or file.suffix == sealed.PART:
                    file.unlink()
            self.recorded[folder] = contents.generations_in(self.path / folder)

    def append(self, name: str, rows: list[Row]) -> None:
        """One generation's rows, to one of `ROW_FILES`."""
        with writing(self.path / name), (self.path / name).open("ab") as file:
            # All seeds in one write; a reader that meets half a generation leaves it out (`read_rows`).
            file.write(b"".join(to_lines(rows)))

    def record_center(self, state: PyTree, *, newest_only: bool = False) -> None:
        """Keep what a generation is drawn around: a State with a seed axis in front.

        Without what only training needs, the optimizer's and the objective's. With ``newest_only`` it replaces the one
        kept so before: the last generation's members can be rebuilt in any run, whenever it was stopped.
        """
        arrays = named_arrays(state._replace(optimizer=(), history=()))
        path = self.record("centers", int(state.generation[0]), arrays)
        if (former := self._newest_center) is not None:
            self._unsynced = [file for file in self._unsynced if file != former]
            former.unlink(missing_ok=True)
        self._newest_center = path if newest_only else None

    def record(self, folder: str, generation: int, arrays: Arrays) -> Path:
        """Keep one generation's arrays in one of `FOLDERS`."""
        path = contents.arrays_path(self.path / folder, generation)
        # Not synced before the next checkpoint: waiting for the disk would take longer than many a generation.
        sealed.write_whole(path, sealed.to_bytes(arrays, {"generation": path.stem}), sync=False)
        self._unsynced.append(path)
        self.recorded[folder].append(generation)
        return path

    def checkpoint(self, state: PyTree, config: Config) -> None:
        """Save a State with a seed axis in front, and the configuration that made it; refused unless it is finite."""
        generation, arrays = int(state.generation[0]), named_arrays(state)
        learned = [name for name in arrays if name.partition("/")[0] in ("parameters", "optimizer", "memory")]
        for name in learned:
            if np.issubdtype(arrays[name].dtype, np.floating) and not np.isfinite(arrays[name]).all():
                raise RunFolderError(
                    f"{self.path}: after {generation} generations {name} is not finite, so it is not saved; the "
                    "checkpoints before are kept. Lower the learning rate or sigma, or look for extremes in the task."
                )
        # What a checkpoint vouches for is on the disk before it is.
        folders = dict.fromkeys(path.parent for path in self._unsynced)
        for path in (*self._unsynced, *folders, *(self.path / name for name in ROW_FILES), self.path):
            sealed.sync_to_disk(path)
        self._unsynced.clear()
        # A center that the next one replaces is nobody's to miss.
        recorded = self.recorded if config.record_centers else self.recorded | {"centers": []}
        checkpoints.save_checkpoint(self.path, generation, arrays, config, recorded)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a run folder for this process alone; the lock ends with the process, however it ends."""
    # Not waited for: a run may go on for days.
    lock: filelock.BaseFileLock = filelock.FileLock(path / ".lock", timeout=0)
    with writing(path, ELSEWHERE):
        path.mkdir(parents=True, exist_ok=True)
        # Before anything is written: by a link it would be written elsewhere.
        check_files(path, contents.RUN_FOLDER_NAMES)
        try:
            lock.acquire()
        except filelock.Timeout:
            known = (path / ".lock").read_text(errors="replace")[:100].split()
            holder = f"process {' on '.join(known[:2])}" if known else "another process"
            raise RunFolderError(
                f"{path} is in use: {holder} is writing to it. Wait for it, or choose another output. If that machine "
                f"is gone for good, remove {path / '.lock'}."
            ) from None
        if not isinstance(lock, filelock.SoftFileLock):  # of file systems without locks, which says the same by itself
            (path / ".lock").write_text(f"{os.getpid()}\n{socket.gethostname()}\n")
    try:
        yield
    finally:
        lock.release()


Damage = dict[Path, list[int]]
"""Damaged files, each with the generations that it lost something of."""


def damage_in(run: Run) -> tuple[Damage, Arrays]:
    """What a checkpoint vouches for, and is not as it was written; and the metrics, which were read for it."""
    done = max(checkpoints.checkpoint_generations(run.path), default=0)
    lost = {name: list[int]() for name in ROW_FILES}
    expected = min(done, run.config.generations)
    rows, others = (read_rows(run.path / name, run.seeds, own, at_least=expected) for name, own in lost.items())
    metrics = Metrics(run.path / METRICS, rows, run.config.seeds)  # or refused: what is not metrics is not a run's
    deque(others, maxlen=0)
    found = {run.path / name: sorted({*own}) for name, own in lost.items() if own}
    for folder in contents.FOLDERS:
        gone = checkpoints.missing(run.path, folder)
        found |= {contents.arrays_path(run.path / folder, generation): [generation] for generation in gone}
        for generation in (one for one in contents.generations_in(run.path / folder) if one < done):
            try:
                contents.arrays_of(file := contents.arrays_path(run.path / folder, generation))
            except RunFolderError:
                found[file] = [generation]
    return found, metrics


def set_aside(damage: Damage, generation: int) -> None:
    """Keep damaged files beside and say so, before a run goes on from a generation."""
    for file, lost in damage.items():
        kept = f"damaged, and kept as {sealed.keep_beside(file).name}" if file.exists() else "missing"
        if file.suffix != ".jsonl":  # whose other rows stay
            file.unlink(missing_ok=True)
        again = "What it lacks is done again."
        if gone := [one for one in lost if one < generation]:
            others = " The others are done again." if len(gone) < len(lost) else ""
            which = f"generation{'s'[: len(gone) - 1]} {checkpoints.summary(gone)}"
            again = f"No checkpoint is left from which {which} could be done again, so that stays empty.{others}"
        warnings.warn(f"{file} is {kept}. {again}", stacklevel=2)
