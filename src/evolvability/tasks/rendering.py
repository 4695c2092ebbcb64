"""Pictures of Gymnasium environments: which steps are drawn, by what environment, and kept as JPEG files in memory.

Pictures of a whole episode kept as arrays would fill the memory.
"""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from evolvability.core.errors import TaskError
from evolvability.tasks.own_code import explain_errors
from evolvability.tasks.replay import HostArray

PICTURES_PER_SECOND = 30
MAX_PICTURES = 500  # per member: of longer episodes fewer steps are drawn, as drawing takes longer than all the rest
RENDER_MODE = "rgb_array"


@dataclass(frozen=True)
class Camera:
    """Which steps of an environment are drawn."""

    make: Callable[[], Any]
    """Makes an environment that draws."""
    every: int
    """Steps from one picture to the next."""
    time_step: float
    """Seconds from one picture to the next."""

    def pictures(self, env: Any, step: int, is_over: bool) -> list[bytes]:
        """What is drawn after a step: the first and the last one of an episode always, others now and then."""
        return [picture_of(env)] if is_over or step % self.every == 0 else []


def camera_of(make: Any, env: Any, num_steps: int) -> Camera | None:
    """The camera of an environment that was made; None where it does not draw.

    Where ``make`` has ``drawing(render_mode)``, that makes an environment that draws. Steps, if not 0, are a limit.
    """
    # An environment that draws already is made as it is.
    if getattr(env, "render_mode", None) != RENDER_MODE:
        if not hasattr(make, "drawing") or RENDER_MODE not in env.metadata.get("render_modes", ()):
            return None
        make = make.drawing(RENDER_MODE)
    rate = float(env.metadata.get("render_fps") or PICTURES_PER_SECOND)
    # 0 where no limit is known: then the rate alone decides what is drawn.
    limit = num_steps or getattr(getattr(env, "spec", None), "max_episode_steps", None) or 0
    # Environments tell how many of their steps make a second; a video needs no more than 30 of them.
    every = max(1, round(rate / PICTURES_PER_SECOND), math.ceil(limit / MAX_PICTURES))
    # A closure will do: members are drawn in this process, not by workers.
    return Camera(lambda: _without_shadows(make()), every, every / rate)


def picture_of(env: Any) -> bytes:
    """An environment's picture of itself, as a JPEG file."""
    with explain_errors("The environment cannot draw itself here"):
        picture = np.asarray(env.render())
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        got = f"{picture.dtype}{list(picture.shape)}"
        raise TaskError(f"The environment's render() must give a (height, width, 3) picture of bytes, got {got}.")
    return to_jpeg(picture)


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


def _without_shadows(env: Any) -> Any:
    """The environment; MuJoCo draws several times faster so where there is no GPU. The physics is the same."""
    model: Any = getattr(env.unwrapped, "model", None)
    if hasattr(model, "light_castshadow"):
        model.light_castshadow[:] = 0
        model.mat_reflectance[:] = 0
    return env
