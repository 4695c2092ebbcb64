"""How members move, moment by moment: what a person watches, beside the few numbers that leave a simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from evolvability.core.types import PyTree, Sample

HostArray = np.ndarray[Any, Any]


class Recording(NamedTuple):
    """Whole episodes of some members. A member whose episode has ended stays as it was."""

    behavior: HostArray
    """(num_members, num_behaviors) what each did, as in an Outcome."""
    valid: HostArray
    """(num_members,) False where the simulation broke down."""
    num_frames: HostArray
    """(num_members,) moments until each episode ended, the start included."""
    path: HostArray
    """(num_members, num_moments, 2) where each was on the ground."""
    poses: HostArray | None = None
    """(num_members, num_moments, num_positions) of a robot whose model the `Stage` has."""
    pictures: tuple[tuple[bytes, ...], ...] | None = None
    """One JPEG file per moment of every member, where an environment draws itself; see `tasks.rendering`."""
    note: str = ""
    """Why there is nothing to see, where there should be."""

    def of_members(self, rows: HostArray) -> "Recording":
        """The motion of some of the members, rows: (num_chosen,)."""
        pictures = None if self.pictures is None else tuple(self.pictures[row] for row in rows)
        # Pictures are not arrays, nor is the note.
        found = jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else leaf[rows], self._replace(pictures=None))
        return found._replace(pictures=pictures)


Replay = Callable[[Array, Sample, PyTree], Recording]
"""``(key, sample, memory) -> Recording``, the episodes that ``evaluate`` would give the sample's members."""


@dataclass(frozen=True)
class Stage:
    """What it takes to watch a task's members."""

    replay: Replay | None
    """What members do, moment by moment; None where the task's own simulator is watched."""
    time_step: float
    """Seconds between two moments."""
    engine: str = ""
    """What computes them, for people; empty where that is what evaluates members too."""
    model: Any = None
    """The MuJoCo model that poses belong to, if any."""
    robot: Any = None
    """The `evolvability.tasks.robots.robot.Robot` that moves, if any: whoever simulates it elsewhere needs it."""
    simulator: Callable[[], Any] | None = None
    """Builds one like the task's own whose trials have pictures; it has a `close`."""
