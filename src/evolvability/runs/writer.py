"""Writes the run folder: whole files or none, one process at a time."""

import os
import socket
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
from evolvability.runs import checkpoints, sealed
from evolvability.runs.contents import ARRAY_FOLDERS, FOLDERS, RUN_FOLDER_NAMES, arrays_path, generations_in, own_files
from evolvability.runs.environment import describe_environment
from evolvability.runs.rows import HISTOGRAMS, METRICS, ROW_FILES, Row, read_rows, to_lines
from evolvability.runs.sealed import Arrays
from evolvability.runs.trees import named_arrays
from evolvability.runs.trust import check_files
from evolvability.tasks.robots.archives import ROBOT_FILE, archive_of


class RunWriter:
    """Writes a run folder. One process at a time: see `locked`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unsynced: list[Path] = []
        self.recorded: dict[str, list[int]] = {folder: [] for folder in FOLDERS}
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
        self._write_table("environment.json", describe_environment())
        if origin is not None:
            self._write_table("origin.json", origin)
        self.keep_names(behavior)
        for name in ROW_FILES:
            sealed.write_whole(self.path / name, b"")
        if state is not None:
            self.checkpoint(state, config)
        self.write_config(config)

    def keep_names(self, behavior: Sequence[str]) -> None:
        """Keep what the behavior dimensions are called on axes and in tables."""
        self._write_table("behavior.json", {"names": list(behavior)})

    def _write_table(self, name: str, table: dict[str, Any]) -> None:
        sealed.write_whole(self.path / name, sealed.to_json(table, indent=2).encode())

    def make_folders(self) -> None:
        """The folders inside of a run folder."""
        for name in ARRAY_FOLDERS:
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
        checkpoints.rewind_checkpoints(self.path, generation)
        for file in (self.path / name for name in ROW_FILES):
            # Rewritten even if nothing is dropped: a last line cut in the middle must not be appended to.
            rows = read_rows(file, seeds, [], at_least=generation)
            sealed.write_whole(file, to_lines(islice(rows, generation * len(seeds))))
        self.make_folders()  # or one that was lost with all its files would be missed
        for folder in FOLDERS:
            for recorded, file in own_files(self.path / folder):
                if recorded >= generation or file.suffix == sealed.PART:
                    file.unlink()
            self.recorded[folder] = generations_in(self.path / folder)

    def record_metrics(self, rows: list[Row]) -> None:
        """Append one generation's rows."""
        self._append(METRICS, rows)

    def record_histograms(self, rows: list[Row]) -> None:
        """Append one generation's histograms."""
        self._append(HISTOGRAMS, rows)

    def _append(self, name: str, rows: list[Row]) -> None:
        with sealed.writing(self.path / name), (self.path / name).open("ab") as file:
            # All seeds in one write; a reader that meets half a generation leaves it out (`read_rows`).
            file.write(b"".join(to_lines(rows)))

    def record_behaviors(self, generation: int, arrays: Arrays) -> None:
        """Keep one generation's behaviors."""
        self._record("behaviors", generation, arrays)

    def record_center(self, state: PyTree, *, newest_only: bool = False) -> None:
        """Keep what a generation is drawn around: a State with a seed axis in front.

        Without what only training needs, the optimizer's and the objective's. With ``newest_only`` it replaces the one
        kept so before: the last generation's members can be rebuilt in any run, whenever it was stopped.
        """
        arrays = named_arrays(state._replace(optimizer=(), history=()))
        path = self._record("centers", int(state.generation[0]), arrays)
        if (former := self._newest_center) is not None:
            self._unsynced = [file for file in self._unsynced if file != former]
            former.unlink(missing_ok=True)
        self._newest_center = path if newest_only else None

    def _record(self, folder: str, generation: int, arrays: Arrays) -> Path:
        path = arrays_path(self.path / folder, generation)
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
    try:
        path.mkdir(parents=True, exist_ok=True)
        check_files(path, RUN_FOLDER_NAMES)  # before anything is written: by a link it would be written elsewhere
        # Not waited for: a run may go on for days.
        lock: filelock.BaseFileLock = filelock.FileLock(path / ".lock", timeout=0)
        lock.acquire()
        if not isinstance(lock, filelock.SoftFileLock):  # of file systems without locks, which says the same by itself
            (path / ".lock").write_text(f"{os.getpid()}\n{socket.gethostname()}\n")
    except filelock.Timeout:
        known = (path / ".lock").read_text(errors="replace")[:100].split()
        holder = f"process {' on '.join(known[:2])}" if known else "another process"
        raise RunFolderError(
            f"{path} is in use: {holder} is writing to it. Wait for it, or choose another output. If that machine "
            f"is gone for good, remove {path / '.lock'}."
        ) from None
    except (OSError, NotImplementedError) as error:  # the latter where a file system has no locks
        why = getattr(error, "strerror", None) or error
        raise RunFolderError(f"{path} cannot be written: {why}. Choose another output.") from None
    try:
        yield
    finally:
        lock.release()
