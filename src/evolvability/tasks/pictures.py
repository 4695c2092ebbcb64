"""Pictures as JPEG files in memory: an episode of them as arrays would fill it."""

import io
from typing import Any

import numpy as np
from PIL import Image

HostArray = np.ndarray[Any, Any]


def to_jpeg(picture: HostArray) -> bytes:
    """A (height, width, 3) picture of bytes as a file.

    >>> from_jpeg(to_jpeg(np.full((8, 6, 3), 90, np.uint8)))[4, 3].tolist()
    [90, 90, 90]
    """
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=85)
    return file.getvalue()


def from_jpeg(file: bytes) -> HostArray:
    """A (height, width, 3) picture from its file."""
    return np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
