"""Files that vouch for themselves: every file of a run folder has a checksum, so that damage is noticed and named.

JSON has it as its last field, arrays in their metadata, TOML in a comment. What is found to be damaged is kept beside,
as ``NAME.damaged``. What is read of a run folder, or of arrays from elsewhere, is read here: of an ordinary
file, of a bounded size, and nothing of it is executed.
"""

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evolvability.core.errors import RunFolderError
from evolvability.runs.files import checked, writing

Arrays = dict[str, np.ndarray[Any, Any]]

SEAL = "checksum"
PART = ".part"
"""Ends the name of a file while it is written."""
DAMAGED = ".damaged"
"""Ends the name under which a damaged file is kept; of a second one, .damaged2."""
UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, EOFError),
    *(SyntaxError, TokenError),
    safetensors.SafetensorError,
)
"""What reading a damaged file raises: RecursionError of endless JSON, AttributeError of types that NumPy lacks,
SyntaxError and TokenError of an .npy file, whose header is Python's text."""


def write_whole(path: Path, data: bytes | Iterable[bytes], *, sync: bool = True) -> None:
    """Write a file so that a reader sees all of it or none, even if the process is killed."""
    # Beside the file: renaming is atomic only within one file system.
    temporary = path.with_name(path.name + PART)
    with writing(path):
        # Always a new file: under this name there may be another, to be found under a second one elsewhere.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
        if sync:
            # Before the renaming: after a power failure the name could otherwise lead to an empty file.
            sync_to_disk(temporary)
        temporary.replace(path)
        if sync:
            sync_to_disk(path.parent)  # where its new name is


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or a folder's list of names, would survive a power failure."""
    with writing(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def to_json(table: Mapping[str, Any], indent: int | None = None) -> str:
    """A table as JSON, with a checksum of it as its last field."""
    return json.dumps({**table, SEAL: _checksum(json.dumps(table))}, indent=indent)


def from_json(text: str) -> dict[str, Any]:
    """The table in a text of `to_json`; a ValueError where it is none, or not what was written.

    >>> from_json(to_json({"a": 0.1}))
    {'a': 0.1}
    >>> from_json(to_json({"a": 0.1}).replace("0.1", "0.3"))
    Traceback (most recent call last):
    ValueError: its checksum does not fit
    """
    body, _, seal = text.rpartition(f', "{SEAL}": "')
    if seal == _checksum(body + "}") + '"}':  # a line as it was written, whose text need not be made again
        return dict(json.loads(body + "}"))
    table = json.loads(text)
    # Written by `json.dumps` too, and so the same text again: floats and the order of names survive.
    if not isinstance(table, dict) or table.pop(SEAL, "") != _checksum(json.dumps(table)):
        raise ValueError("its checksum does not fit")
    return table


def read_json(path: Path) -> dict[str, Any]:
    """The table in a file of `to_json`."""
    try:
        return from_json(checked(path).read_text())
    except UNREADABLE as error:
        raise damaged(path, error) from None


def to_bytes(arrays: Arrays, facts: Mapping[str, str] = {}) -> bytes:
    """Arrays and a few texts as safetensors, with a checksum of both."""
    # safetensors copies memory as it lies: a transposed view would be written in the wrong order.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return safetensors.numpy.save(arrays, {**facts, SEAL: _digest(arrays, facts)})


def read_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The arrays and texts in a file of `to_bytes`."""
    try:
        arrays, facts = _loaded(path)
        if facts.pop(SEAL, "") != _digest(arrays, facts):
            raise ValueError("its checksum does not fit")
    except UNREADABLE as error:
        raise damaged(path, error) from None
    return arrays, facts


def facts_in(path: Path) -> dict[str, str]:
    """The texts in a file of `to_bytes`, without its arrays, and so without its checksum being looked at."""
    with safetensors.safe_open(checked(path), "numpy") as file:
        return file.metadata() or {}


def arrays_in(path: Path) -> Arrays:
    """The arrays in a .safetensors or .npy file of anybody's; of the latter, one named ``center``."""
    if path.suffix != ".npy":
        return _loaded(path)[0]
    found = np.load(checked(path), allow_pickle=False, mmap_mode="r")  # mapped: its header may claim petabytes
    if not isinstance(found, np.ndarray):
        raise ValueError("it is an archive of arrays, not an array")
    return {"center": np.array(found)}


def _loaded(path: Path) -> tuple[Arrays, dict[str, str]]:
    with safetensors.safe_open(checked(path), "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 (no mapping)


def to_sealed_toml(text: str) -> str:
    """A TOML file's text with a checksum in a comment in its second line, which is not lost with the file's end."""
    first, newline, rest = text.partition("\n")
    return f"{first}{newline}# {SEAL} {_checksum(text)}\n{rest}"


def is_changed(path: Path) -> bool:
    """Whether a TOML file is not what `to_sealed_toml` wrote."""
    text = path.read_text("utf-8", errors="replace")
    found = re.search(rf"^# {SEAL} ([0-9a-f]{{8}})\n", text, re.MULTILINE)
    return found is None or found[1] != _checksum(text[: found.start()] + text[found.end() :])


def damaged(path: Path, error: Exception) -> RunFolderError:
    """The error for a file that is not what was written."""
    return RunFolderError(f"{path} is damaged: {str(getattr(error, 'strerror', None) or error)[:200]}.")


def keep_beside(path: Path, ending: str = DAMAGED) -> Path:
    """Keep a copy of a file under another name, which is returned; what was kept under such names before stays."""
    data = path.read_bytes()
    names = (path.with_name(f"{path.name}{ending}{number}") for number in ("", *range(2, 10**6)))
    beside = next(name for name in names if not name.exists() or name.read_bytes() == data)
    write_whole(beside, data)
    return beside


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _digest(arrays: Arrays, facts: Mapping[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    digest.update(json.dumps(sorted(facts.items())).encode())
    return digest.hexdigest()
