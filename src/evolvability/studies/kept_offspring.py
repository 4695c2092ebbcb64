"""What mutations of a run's centers did, kept in its folder, so that figures and statistics need no simulator.

In a run folder: ``offspring/SIGMA.safetensors``, with ``behavior`` (num_seeds, num_offspring, num_behaviors), where nan
is what an invalid one did.
"""

from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evolvability.core.errors import RunFolderError
from evolvability.runs.checkpoints import write_whole
from evolvability.runs.folder import Run
from evolvability.studies.offspring import Offspring, births
from evolvability.studies.per_seed import each_seed, finish
from evolvability.tasks.base import Task

HostArray = np.ndarray[Any, Any]


def keep_offspring(
    run: Run, task: Task | None = None, *, number: int = 1000, sigma: float | None = None
) -> list[Offspring]:
    """Evaluate offspring of every seed's center, as `offspring_of_run` does, and keep what they did."""
    of_seed, generation = births(run, task, number, sigma)
    sigma = run.config.sigma if sigma is None else sigma
    study = f"offspring {generation} {number} {sigma:g}"

    def find(index: int) -> dict[str, HostArray]:
        return {name: np.asarray(value) for name, value in of_seed(index)._asdict().items()}

    seeds = each_seed(run, study, find, keep=task is None)
    born = [Offspring(own["behavior"], own["component"], int(own["num_invalid"])) for own in seeds]
    behavior = np.full((len(born), number, born[0].behavior.shape[1]), np.nan, np.float32)
    for row, one in zip(behavior, born, strict=True):
        row[: len(one.behavior)] = one.behavior
    save_offspring(run, sigma, behavior, generation)
    finish(run, [study])
    return born


def save_offspring(run: Run, sigma: float, behavior: HostArray, generation: int | None = None) -> None:
    """Keep (num_seeds, num_offspring, num_behaviors) behaviors of mutations of a standard deviation."""
    path = _path(run, sigma)
    path.parent.mkdir(exist_ok=True)
    known = None if generation is None else {"generation": str(generation)}
    write_whole(path, safetensors.numpy.save({"behavior": behavior.astype(np.float32)}, known))


def kept_generation(run: Run, sigma: float) -> int | None:
    """Of the centers whose offspring were kept; None where an older version kept them."""
    with safetensors.safe_open(_path(run, sigma), "numpy") as file:
        known = file.metadata() or {}
    return int(known["generation"]) if "generation" in known else None


def kept_offspring(run: Run, sigma: float | None = None) -> list[HostArray]:
    """(num_valid, num_behaviors) of every seed, for mutations of one sigma; that of training unless given."""
    sigma = run.config.sigma if sigma is None else sigma
    path = _path(run, sigma)
    if not path.is_file():
        known = ", ".join(f"{one:g}" for one in kept_sigmas(run)) or "none"
        raise RunFolderError(
            f"{run.path} has no offspring of sigma {sigma:g}; there are: {known}. Make them: ees measure {run.path} "
            f"--sigma {sigma:g} --keep"
        )
    try:
        behavior = safetensors.numpy.load_file(path)["behavior"]
    except (OSError, KeyError, safetensors.SafetensorError) as error:
        raise RunFolderError(f"{path} is damaged: {error}.") from None
    return [own[np.isfinite(own).all(axis=1)] for own in behavior]


def kept_sigmas(run: Run) -> list[float]:
    """The standard deviations of the mutations that were kept, largest first."""
    return sorted((float(path.stem) for path in (run.path / "offspring").glob("*.safetensors")), reverse=True)


def _path(run: Run, sigma: float) -> Path:
    return run.path / "offspring" / f"{sigma:g}.safetensors"
