"""What is not believed of a run folder that somebody else may have made: opening one must never run its code.

A folder may name code, lead elsewhere by links, or hold files that no page could show. `opened` refuses the latter two
before anything is read; the explorer does not make a task of the first kind unless told to.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evolvability.config.schema import Config
from evolvability.core.errors import RunFolderError
from evolvability.runs.folder import FILES, Run
from evolvability.tasks.registry import own_code

FOLDERS = ("behaviors", "centers", "checkpoints")
MAX_BYTES = 1 << 30  # of a file: a generation of ten million members is smaller
MAX_SEEDS = 10_000
MAX_STEPS = 100_000  # of an episode that is watched: it would not end while somebody waits


def opened(path: Path, dimensions: Sequence[int] = ()) -> Run:
    """A run whose files are ordinary ones inside of its folder; dimensions: of its behaviors, see `Run`."""
    for file in _files(path):
        problem = _problem(path, file)
        if problem:
            raise RunFolderError(f"{file} {problem}, so it is not opened.")
    try:
        run = Run(path, dimensions)
    except RecursionError:
        raise RunFolderError(f"{path}: config.toml is nested too deeply to be read.") from None
    if run.config.seeds > MAX_SEEDS:
        raise RunFolderError(f"{path}: a run of {run.config.seeds:,} seeds is not shown; {MAX_SEEDS:,} at most.")
    return run


def objection(config: Config) -> str:
    """Why mutations of somebody's run are not evaluated; empty if they may be."""
    options: Any = config.task_options
    named = own_code(config.task, options)
    if named:
        return f"its task names code, '{named}', which is not imported unless you trust it."
    if getattr(options, "env_arguments", "{}") != "{}":
        return "its environment takes arguments, which are not passed on unless you trust it."
    if getattr(options, "num_steps", 0) > MAX_STEPS:
        return f"its episodes of {options.num_steps:,} steps would take too long; {MAX_STEPS:,} at most."
    return ""


def _files(path: Path) -> Iterator[Path]:
    for file in (path / name for name in FILES + FOLDERS):
        yield file
        if file.is_dir():
            yield from file.iterdir()


def _problem(path: Path, file: Path) -> str:
    """What keeps a file of a run folder from being read; empty where nothing does."""
    try:
        if not file.exists():
            return "is a link that leads nowhere" if file.is_symlink() else ""
        # By a link the page could show files from elsewhere on this machine.
        if not file.resolve().is_relative_to(path.resolve()):
            return "leads out of the run folder"
        if not (file.is_file() or file.is_dir()):
            return "is no ordinary file"  # to read a pipe could take forever
        size = file.stat().st_size
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    return f"has {size / 1e9:,.0f} GB, of 1 GB at most" if size > MAX_BYTES else ""
