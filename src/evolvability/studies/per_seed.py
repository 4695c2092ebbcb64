"""Studies of one seed after the other, each kept as soon as it is there: an interrupted study goes on where it was.

In a run folder: ``unfinished/STUDY/SEED.safetensors``, removed when the study is done.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evolvability.runs.checkpoints import checkpoint_generations, write_whole
from evolvability.runs.files import slug
from evolvability.runs.folder import Run

HostArray = np.ndarray[Any, Any]
OneSeed = Callable[[int], dict[str, HostArray]]
"""From a seed's place among those of a run to what the study found about it."""


def each_seed(run: Run, study: str, find: OneSeed, *, keep: bool = True) -> list[dict[str, HostArray]]:
    """What a study finds about every seed; whatever an interrupted one has found is not looked for again.

    Args:
        run: the run.
        study: its name, with everything that decides what it finds.
        find: looks at one seed.
        keep: whether the name says it all: not where the caller brought a task of their own.
    """
    if not keep:
        return [find(index) for index in range(len(run.seeds))]
    folder = _folder(run, study)
    found = []
    for index, seed in enumerate(run.seeds):
        path = folder / f"{seed}.safetensors"
        try:
            arrays = safetensors.numpy.load_file(path)
        except (OSError, safetensors.SafetensorError):  # not there, or damaged
            arrays = {name: np.array(array, order="C") for name, array in find(index).items()}
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, safetensors.numpy.save(arrays))
        found.append(arrays)
    return found


def finish(run: Run, studies: Sequence[str]) -> None:
    """Remove what was kept of studies whose results are in their own places now."""
    for study in studies:
        shutil.rmtree(_folder(run, study), ignore_errors=True)
    with suppress(OSError):  # there is none, or another study is not done
        (run.path / "unfinished").rmdir()


def _folder(run: Run, study: str) -> Path:
    return run.path / "unfinished" / slug(study)


def is_current(run: Run, generation: int | None) -> bool:
    """Whether a study looked at the centers that a run has now; of older folders and of light copies, yes."""
    known = checkpoint_generations(run.path)
    return generation is None or not known or generation == max(known)
