"""What a run folder may contain, how its files are called, and what each must hold to be used.

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

Nothing in it is executable: opening somebody else's run folder never runs code. An intact file may be somebody else's,
and hold anything, so what is read of one is looked at here.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.config.schema import Config
from evolvability.config.tables import from_table
from evolvability.core.errors import ConfigError
from evolvability.core.types import is_usable
from evolvability.runs.rows import ROW_FILES
from evolvability.runs.sealed import PART, UNREADABLE, Arrays, damaged, read_arrays, read_json
from evolvability.tasks.robots.archives import ROBOT_FILE

TABLES: dict[str, dict[str, Any]] = {
    "environment.json": {"packages": dict, "devices": list, "python": str, "platform": str, "commit": str | None},
    "behavior.json": {"names": list},
    "origin.json": {"config": dict},
}
"""Files of JSON, and what they must hold."""
FILES = ("config.toml", *TABLES, ROBOT_FILE, *ROW_FILES)
FOLDERS = ("behaviors", "centers")
"""Those with a file per recorded generation."""
CHECKPOINTS = "checkpoints"
ARRAY_FOLDERS = (*FOLDERS, CHECKPOINTS)
EXTRAS = ("adaptations", "races", "offspring")
"""Folders of what was made of a finished run."""
RUN_FOLDER_NAMES = {*FILES, *ARRAY_FOLDERS, *EXTRAS, "tensorboard", ".lock"}
OF_MEMBERS = ("fitness", "valid", "component")


def arrays_path(folder: Path, generation: int) -> Path:
    """The file of a generation."""
    return folder / f"{generation:06d}.safetensors"


def own_files(folder: Path) -> list[tuple[int, Path]]:
    """The files of generations in a folder, in order; whatever else lies there is none of a run's, and left alone."""
    # Names are padded to six digits, and longer from a million generations on.
    pattern = re.compile(rf"([0-9]{{6}}|[1-9][0-9]{{6,8}})\.safetensors({re.escape(PART)})?")
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(match[1]), file) for file in files if (match := pattern.fullmatch(file.name)) and file.is_file())


def generations_in(folder: Path) -> list[int]:
    """The generations that a folder holds whole files of, oldest first."""
    return [generation for generation, file in own_files(folder) if file.suffix != PART]


def table_in(path: Path) -> dict[str, Any]:
    """The table in one of `TABLES`."""
    table = read_json(path)
    for name, kind in TABLES[path.name].items():
        if not isinstance(table.get(name), kind):
            raise damaged(path, ValueError(f"it has no {name}"))
    return table


def origin_in(path: Path) -> dict[str, Any]:
    """What is recorded of the run that another started from."""
    table = table_in(path)
    try:
        from_table(table["config"], Config)
    except (ConfigError, *UNREADABLE):
        raise damaged(path, ValueError("the configuration in it is not one of a run")) from None
    return table


def arrays_of(path: Path) -> Arrays:
    """The arrays in the file of a generation, which says by itself of which it is."""
    arrays, facts = read_arrays(path)
    if (found := facts.get("generation")) != path.stem:
        raise damaged(path, ValueError(f"it is that of generation {found}"))
    return arrays


def behaviors_in(path: Path, num_seeds: int) -> Arrays:
    """One generation's arrays, of the shapes that a run writes; who is not finite is not valid."""
    arrays = arrays_of(path)
    whole, *others = [np.shape(arrays.get(name, 0)) for name in ("behavior", *OF_MEMBERS)]  # () of what is missing
    if len(whole) != 3 or whole[0] != num_seeds or not whole[-1] or set(others) != {whole[:2]}:
        expected = f"{num_seeds} seeds' behavior, fitness, valid and component are expected"
        raise damaged(path, ValueError(expected))
    several: tuple[int, ...] = np.shape(arrays.get("episodes", arrays["behavior"][:, :, None]))
    if len(several) != 4 or not several[2] or (*several[:2], several[3]) != whole:
        raise damaged(path, ValueError(f"episodes of {whole[1]} members with {whole[2]} behaviors are expected"))
    finite = is_usable(arrays["behavior"]).all(axis=2)
    return arrays | {"valid": arrays["valid"].astype(bool) & finite}


def state_in(path: Path) -> Arrays:
    """A State, or what a generation was drawn around: centers (num_seeds, num_components, num_params) and keys."""
    arrays = arrays_of(path)
    center, key = arrays.get("parameters/center", np.zeros(0)), arrays.get("key", np.zeros(0))
    if (center.ndim, key.ndim, center.dtype.kind) != (3, 2, "f") or not center.size or len(center) != len(key):
        raise damaged(path, ValueError("centers and keys are expected"))
    return arrays
