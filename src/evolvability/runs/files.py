"""Files that a user asks for, folders of the user, and what may be read at all."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from evolvability.core.cores import machine_memory
from evolvability.core.errors import RunFolderError

MAX_TEXT = 1 << 30
"""Bytes of a file of text."""
MAX_ARRAYS = 0.25
"""Of the machine's memory, for a file of arrays, which grows with network and population."""
MAX_NAMED = 20  # runs that an error lists
ELSEWHERE = " Choose another place."
"""Advice where nothing is there yet; a run under way has its place."""


@contextmanager
def writing(path: Path, advice: str = "") -> Iterator[None]:
    """Errors inside, as of a full disk, as one that names the file, which those of a write do not."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # the latter of locks, where a file system has none
        why = getattr(error, "strerror", None) or error
        raise RunFolderError(f"{path} cannot be written: {why}.{advice}") from error


def write_output(output: Path, content: bytes) -> None:
    """Write a file and the folders above it, or say why it cannot be."""
    with writing(output, ELSEWHERE):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(content)


def user_folder(kind: Literal["cache", "state"]) -> Path:
    """Where this user's programs keep what is in no folder that is passed around."""
    usual = {"cache": "~/.cache", "state": "~/.local/state"}
    name = f"XDG_{kind.upper()}_HOME"
    try:
        return Path(os.environ.get(name) or usual[kind]).expanduser() / "evolvability"
    except RuntimeError:  # as in containers of a user without a name
        raise OSError(f"this user has no home folder. Set the environment variable {name}") from None


def command_line(*words: str | Path) -> str:
    """A command of this program, as a shell takes it.

    >>> command_line("resume", Path("my run"))
    "ees resume 'my run'"
    """
    return shlex.join(["ees", *map(str, words)])


def json_text(table: Any) -> str:
    r"""A table as JSON, which has no infinity and no nan: null stands for them.

    >>> json_text({"median": float("-inf")})
    '{\n  "median": null\n}\n'
    """
    return json.dumps(json.loads(json.dumps(table), parse_constant=lambda constant: None), indent=2) + "\n"


def markdown_text(plain: str) -> str:
    r"""Text as Markdown that shows it as it is, whatever characters it has: names of folders are not ours.

    >>> print(markdown_text("max_entropy <b> *x* [y](z) a|b"), markdown_text("_a_ p < 0.05"))
    max_entropy \<b> \*x\* \[y\](z) a\|b \_a\_ p < 0.05
    """
    # An underscore inside a word, and < or & before a space, mean nothing in Markdown: names stay readable.
    special = r"([\\`*\[\]|~]|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<![^\W_])_|_(?![^\W_]))"
    return re.sub(special, r"\\\1", " ".join(plain.split()))


def slug(text: str) -> str:
    """A text as part of a file's name.

    >>> slug("point:1.5,-2")
    'point-1.5,-2'
    """
    return re.sub(r"[^\w.,+-]+", "-", text).strip("-")


def checked(path: Path) -> Path:
    """A file that may be read, if there is one: ordinary, since a pipe could take forever, and not a giant one."""
    most = MAX_ARRAYS * machine_memory() if path.suffix in (".safetensors", ".npy") else MAX_TEXT
    if path.exists() and not path.is_file():
        raise RunFolderError(f"{path} is not an ordinary file. Remove it, or ask who made it.")
    if path.exists() and (size := path.stat().st_size) > most:
        raise RunFolderError(f"{path} has {size / 1e9:,.0f} GB, of {most / 1e9:,.0f} GB at most. Ask who made it.")
    return path


def check_is_run(path: Path) -> None:
    """Refuse a folder that holds no run."""
    if not (path / "config.toml").is_file():
        inside = ", ".join(sorted(file.parent.name for file in path.glob("*/config.toml"))[:MAX_NAMED])
        runs = f" Runs inside of it: {inside}." if inside else ""
        raise RunFolderError(f"{path} is not a run folder: it has no config.toml.{runs}")
