"""Slim exports of run folders: all that figures, statistics and mutations need, without the optimizer's state."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evolvability.core.errors import RunFolderError
from evolvability.runs.checkpoints import load_checkpoint, save_checkpoint
from evolvability.runs.contents import EXTRAS, FILES, FOLDERS, arrays_path, generations_in
from evolvability.runs.files import write_output
from evolvability.runs.folder import Run, spread_out
from evolvability.runs.picking import check_number
from evolvability.runs.rows import HISTOGRAMS, read_rows, to_lines
from evolvability.runs.sealed import Arrays, write_whole
from evolvability.runs.trust import objection, remember
from evolvability.runs.writer import RunWriter, locked


def export(
    run: Run,
    destination: Path,
    *,
    behaviors: int = 5,
    half: bool = False,
    members: int | None = None,
    histograms: int | None = None,
    centers: bool = True,
) -> Path:
    """A slim copy of a run folder: configuration, metrics, some behaviors, the last center and task memory.

    The copy is an ordinary run folder. Runs can start from it and its mutations can be drawn and measured; it cannot
    be made longer itself, since the optimizer's state is left out.

    Args:
        run: the run.
        destination: a folder that does not exist yet.
        behaviors: how many of the recorded generations to keep, the first and the last among them.
        half: keep centers as 16-bit numbers, whose rounding is far below a mutation.
        members: how many members of those to keep, the first ones; default: all.
        histograms: how many generations to keep histograms of, likewise; default: all.
        centers: keep the last; without, the copy can be shown and drawn, and has no mutations.
    """
    for name, number in {"behaviors": behaviors, "members": members, "histograms": histograms}.items():
        check_number(1 if number is None else number, name)
    if destination.exists():
        raise RunFolderError(f"{destination} exists already. Choose another folder for the copy of {run.path}.")
    with locked(destination):
        writer = RunWriter(destination)
        writer.make_folders()
        for recorded in spread_out(run.recorded, behaviors):
            kept = {name: array[:, :members] for name, array in run.behaviors(recorded).items()}
            writer.record("behaviors", recorded, kept)
        for file in (file for name in EXTRAS for file in (run.path / name).glob("*") if file.is_file()):
            write_output(destination / file.parent.name / file.name, file.read_bytes())
        if centers:
            _copy_center(run, writer, half)
        else:
            for name in ("centers", "checkpoints"):  # whose absence tells that they were left out
                (destination / name).rmdir()
        # The configuration last: it is what makes a folder a run, and an export may be killed halfway.
        for name in reversed(FILES):
            if (run.path / name).is_file():
                data = (run.path / name).read_bytes()
                thin = name == HISTOGRAMS and histograms is not None
                write_whole(destination / name, _thinned(run, histograms or 1) if thin else data)
    if not objection(run.path, run.config):
        remember(destination, run.config)
    # Nobody writes to an export any more.
    (destination / ".lock").unlink(missing_ok=True)
    return destination


def _copy_center(run: Run, writer: RunWriter, half: bool) -> None:
    """The last checkpoint without the optimizer's state, and what the last recorded generation was drawn around."""
    generation, slim = _slim_checkpoint(run)
    if half:
        slim["parameters/center"] = slim["parameters/center"].astype(np.float16)
    recorded = run.recorded[-1] if run.recorded else 0
    last = arrays_path(run.path / "centers", recorded)
    if last.is_file() and not half:  # a rounded center's members would not be the recorded ones
        write_whole(arrays_path(writer.path / "centers", recorded), last.read_bytes())  # damaged or not
        writer.recorded["centers"] = [recorded]
    save_checkpoint(writer.path, generation, slim, run.config, writer.recorded)


def _thinned(run: Run, most: int) -> Iterator[bytes]:
    """The rows of histograms, of which so many generations have one, and the others only their place."""
    rows = list(read_rows(run.path / HISTOGRAMS, run.seeds, []))
    kept = set(spread_out(sorted({row["generation"] for row in rows}), most))
    return to_lines(
        row if row["generation"] in kept else {"generation": row["generation"], "seed": row["seed"]} for row in rows
    )


def slim_down(run: Run) -> None:
    """Leave of a finished run's checkpoints the last, without the optimizer's state: it can start others, not go on."""
    generation, slim = _slim_checkpoint(run)
    with locked(run.path):
        recorded = {folder: generations_in(run.path / folder) for folder in FOLDERS}
        save_checkpoint(run.path, generation, slim, run.config, recorded, kept=1)


def _slim_checkpoint(run: Run) -> tuple[int, Arrays]:
    generation, arrays = load_checkpoint(run.path)
    # Adam's two moments are as large as the center each: two thirds of a checkpoint.
    return generation, {name: array for name, array in arrays.items() if not name.startswith("optimizer/")}


def folder_size(path: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
