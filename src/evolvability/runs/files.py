"""Files that a user asks for."""

import re
from pathlib import Path

from evolvability.core.errors import UserError


def write_output(output: Path, content: bytes) -> None:
    """Write a file and the folders above it, or say why it cannot be."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(content)
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}. Choose another --output.") from None


def slug(text: str) -> str:
    """A text as part of a file's name.

    >>> slug("point:1.5,-2")
    'point-1.5,-2'
    """
    return re.sub(r"[^\w.,+-]+", "-", text).strip("-")
