"""What of a run folder is damaged, and what becomes of it when the run is resumed."""

import warnings
from pathlib import Path

from evolvability.core.errors import RunFolderError
from evolvability.runs.checkpoints import checkpoint_generations, missing
from evolvability.runs.contents import FOLDERS, arrays_of, own_files
from evolvability.runs.folder import Run
from evolvability.runs.rows import HISTOGRAMS, METRICS, Metrics, read_rows
from evolvability.runs.sealed import PART, Arrays, keep_beside, write_whole

Damage = dict[Path, int]
"""Damaged files, each with the first generation that it lost something of."""


def damage_in(run: Run) -> tuple[Damage, Arrays]:
    """What a checkpoint vouches for, and is not as it was written; and the metrics, which were read for it."""
    done = max(checkpoint_generations(run.path), default=0)
    found: Damage = {file: generation for generation, file in missing(run.path)}
    lost: dict[str, list[int]] = {METRICS: [], HISTOGRAMS: []}
    rows = {
        name: read_rows(run.path / name, run.seeds, own, at_least=min(done, run.config.generations))
        for name, own in lost.items()
    }
    # Or refused: rows that are not metrics are not a run's.
    metrics = Metrics(run.path / METRICS, rows[METRICS], run.config.seeds)
    for _ in rows[HISTOGRAMS]:
        pass
    found |= {run.path / name: own[0] for name, own in lost.items() if own}
    for folder in FOLDERS:
        for generation, file in own_files(run.path / folder):
            if generation < done and file.suffix != PART and _is_damaged(file):
                found[file] = generation
    return found, metrics


def set_aside(damage: Damage, generation: int) -> None:
    """Keep damaged files beside and say so, before a run goes on from a generation."""
    for file, lost in damage.items():
        kept = f"damaged, and kept as {keep_beside(file).name}" if file.exists() else "missing"
        if file.suffix != ".jsonl":
            file.unlink(missing_ok=True)
        elif not file.exists():  # where it is, its other rows stay
            write_whole(file, b"")
        again = "What it lacks is done again."
        if lost < generation:
            again = f"No checkpoint is left from which generation {lost} could be done again, so that stays empty."
        warnings.warn(f"{file} is {kept}. {again}", stacklevel=2)


def _is_damaged(file: Path) -> bool:
    try:
        arrays_of(file)
    except RunFolderError:
        return True
    return False
