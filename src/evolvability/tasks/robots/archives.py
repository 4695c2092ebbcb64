"""Where the archives of robots are: a run folder offers its own, and the robot is made of it wherever that is."""

import hashlib
from pathlib import Path

from evolvability.core.errors import RunFolderError

ROBOT_FILE = "robot.zip"
"""Of a run folder."""
_offered: dict[str, bytes | Path] = {}


def digest_of(archive: bytes) -> str:
    """What an archive is told apart by."""
    return hashlib.sha256(archive).hexdigest()


def offer(digest: str, archive: bytes | Path) -> None:
    """Say what has a digest: an archive, or the path of one, which is read when it is needed."""
    if digest:
        _offered[digest] = archive


def archive_of(digest: str) -> bytes | None:
    """The archive of a digest; None where nobody has offered it."""
    found = _offered.get(digest)
    if not isinstance(found, Path):
        return found
    try:
        archive = found.read_bytes()
    except OSError as error:
        raise RunFolderError(f"{found} cannot be read: {error.strerror or error}.") from None
    if digest_of(archive) != digest:
        raise RunFolderError(f"{found} is damaged: its checksum does not fit.")
    return archive
