"""What is believed of a run folder that somebody else may have made: opening one never runs code nor leads elsewhere.

A folder may name code (a task ``module:name``) or arguments for an environment (a file to read). Both are used only if
this user has trained the folder or said to trust it, which is remembered outside of it. Links and pipes under names of
ours are refused by whoever reads or writes the folder: by a link files from elsewhere would be shown, or overwritten.
"""

import json
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError, RunFolderError, in_words
from evolvability.runs.files import checked, user_folder
from evolvability.tasks.registry import own_code


def check_files(path: Path, names: set[str]) -> None:
    """Refuse a folder of which something under one of our names is a link, no ordinary file, a giant or unreadable."""
    for entry in _entries(path, names):
        problem = f"is a link, to {entry.readlink()}" if entry.is_symlink() else ""
        # What a run going on has replaced meanwhile is no longer there; what is would be taken for damaged, or empty.
        if not problem and not os.access(entry, os.R_OK | os.X_OK if entry.is_dir() else os.R_OK) and entry.exists():
            raise RunFolderError(
                f"{entry} may not be read by this user, so {path} is not opened. Ask its owner to allow it."
            )
        if not problem and not entry.is_dir():
            checked(entry)
            if entry.name == ".lock" and entry.stat().st_nlink > 1:  # which is written to
                problem = "is a file that has another name elsewhere, too"
        if problem:
            raise RunFolderError(f"{entry} {problem}, so {path} is not opened. Remove it, or ask who made it.")


def objection(path: Path, config: Config) -> str:
    """Why what a folder names is not used; empty if it names nothing, or is one that this user trained or trusts."""
    named = _named(config)
    if not named or _record(path, named) in _remembered():
        return ""
    return f"{path}: its task names {named}, used only if you trust it"


def check_trust(path: Path, config: Config) -> None:
    """Refuse to make the task of a folder that this user has neither trained nor trusted, where that would run code."""
    if doubt := objection(path, config):
        add = in_words("open it with Run(path, trust=True)", "add --trust")
        raise ConfigError(f"{doubt}. If you do, {add}, which is remembered.")


def check_file_trust(file: Path, config: Config, *, trust: bool) -> None:
    """The same of a file of settings: that of a run folder, or one that is remembered by itself."""
    path = file.parent if file.name == "config.toml" else file
    if trust:
        remember(path, config)
    check_trust(path, config)


def remember(path: Path, config: Config) -> None:
    """Believe from now on what a folder names."""
    if not objection(path, config):
        return
    try:
        file = _memory()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file.open("a") as lines:
            lines.write(_record(path, _named(config)) + "\n")
    except OSError as error:
        warnings.warn(f"That {path} is trusted is not remembered: {error}.", stacklevel=2)


def _named(config: Config) -> str:
    """What a task would import, or pass on to an environment, that is not of this package."""
    code = own_code(config.task, config.task_options)
    arguments = getattr(config.task_options, "env_arguments", "{}")  # may name a file, which would be read
    parts = [f"code, '{code}'"] if code else []
    return " and ".join(parts + ([f"arguments, '{arguments}'"] if arguments != "{}" else []))


def _record(path: Path, named: str) -> str:
    # With what is named: a folder that names something else by now is another one.
    return json.dumps([str(path.resolve()), named])


def _memory() -> Path:
    return user_folder("state") / "trusted.jsonl"


def _remembered() -> set[str]:
    try:
        return set(_memory().read_text(errors="replace").splitlines())
    except OSError:
        return set()


def _entries(path: Path, names: set[str]) -> Iterator[Path]:
    """What lies under names of ours, and in folders of such names: nothing that lies deeper is read or written."""
    for entry in path.iterdir() if path.is_dir() else ():  # which raises where it may not look, unlike glob
        # A file is written, or kept when damaged, under a longer name.
        if re.sub(r"(\.damaged\d*)?(\.part)?$", "", entry.name) in names:
            yield entry
            if not entry.is_symlink():
                yield from entry.glob("*")
