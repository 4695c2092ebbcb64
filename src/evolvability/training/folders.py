"""A run's folder: made anew, locked, left as if it had never been; and where a run in one goes on."""

import shutil
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

import jax

from evolvability.core.errors import ConfigError, RunFolderError, given, in_words
from evolvability.core.strategy import State
from evolvability.runs import checkpoints
from evolvability.runs.contents import ARRAY_FOLDERS, RUN_FOLDER_NAMES
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.trees import restore
from evolvability.runs.trust import remember
from evolvability.runs.writer import RunWriter, locked
from evolvability.training.evolution import Evolution
from evolvability.training.starts import describe_origin, is_run


def new_folder(output: Path, evolution: Evolution, state: State, held: ExitStack, *, overwrite: bool) -> RunWriter:
    """A folder for a run that begins at a State, locked until ``held`` is closed."""
    config = evolution.config
    if output.is_dir():
        # A process killed while it made the folder leaves some of these names behind, and no config.toml.
        unknown = {path.name.removesuffix(".part") for path in output.iterdir()} - RUN_FOLDER_NAMES
        if unknown:
            raise RunFolderError(f"{output} is not empty (it has {min(unknown)}). Choose another output.")
    # Locked before it is looked into: another process may be making a run here at this moment.
    writer = locked_folder(output, held)
    if overwrite:
        _clear(output)
    if (output / "config.toml").exists():
        again = in_words(f"resume({str(output)!r})", command_line("resume", output))
        anew = in_words(given(overwrite=True), "--overwrite")
        raise RunFolderError(
            f"{output} already holds a run. Go on with {again}, replace it with {anew}, or choose another output."
        )
    left = [file for name in ARRAY_FOLDERS for file in (output / name).glob("*")]
    if left:  # its configuration was lost: new files among those would be taken for one run
        raise RunFolderError(f"{output} holds what is left of a run, such as {min(left)}. Choose another output.")
    origin = describe_origin(Run(config.start_from)) if is_run(config.start_from) else None
    remember(output, config)  # what this user names is trusted
    writer.create(config, origin, evolution.task.behavior, state)
    return writer


def locked_folder(path: Path, held: ExitStack) -> RunWriter:
    """The writer of a folder that is this process's alone until ``held`` is closed."""
    held.enter_context(locked(path))
    return RunWriter(path)


def discard(output: Path) -> None:
    """Leave no folder of a run that ended before its first generation: it would be in the way of the next."""
    if (output / "metrics.jsonl").is_file() and not (output / "metrics.jsonl").stat().st_size:
        _clear(output)
        (output / ".lock").unlink(missing_ok=True)
        output.rmdir()


def _clear(output: Path) -> None:
    """Remove what a run wrote, its lock apart."""
    for path in output.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def saved_state(path: Path, evolution: Evolution, lost: Collection[int]) -> State:
    """The newest intact checkpoint; where something of generations was ``lost``, one from which they are done again."""
    generation, arrays = checkpoints.load_checkpoint(path, lost=lost)
    if generation > evolution.config.generations:
        most = evolution.config.generations
        raise ConfigError(f"{path} has already done {generation} generations, more than the {most} asked for.")
    checkpoints.check_config(path, evolution.config, generation)
    template = evolution.template()
    if (
        # MAML's State has none; plain ascent has one without arrays, and goes on without.
        "optimizer" in template._fields
        and jax.tree.leaves(template.optimizer)
        and not any(name.startswith("optimizer/") for name in arrays)
    ):
        again = ("train", "--config", path / "config.toml", "--start-from", path)
        raise RunFolderError(
            f"{path} is a slim export of a run: it has no state of the optimizer to go on with. "
            f"Start a new run at its population with: {command_line(*again)}"
        )
    return evolution.place(restore(template, arrays))
