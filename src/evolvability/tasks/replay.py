"""How members move, moment by moment: what a person watches, beside the few numbers that leave a simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jax import Array

from evolvability.core.types import PyTree, Sample

HostArray = np.ndarray[Any, Any]


class Motion(NamedTuple):
    """Whole episodes of some members. A member whose episode has ended stays as it was.

    Attributes:
        behavior: (num_members, num_behaviors) what each did, as in an Outcome.
        valid: (num_members,) False where the simulation broke down.
        num_frames: (num_members,) moments until each episode ended, the start included.
        path: (num_members, num_moments, 2) where each was on the ground.
        poses: (num_members, num_moments, num_positions) of a robot whose model the `Stage` has.
        pictures: of every member a JPEG file per moment, where an environment draws itself; see `tasks.rendering`.
        note: why there is nothing to see, where there should be.
    """

    behavior: HostArray
    valid: HostArray
    num_frames: HostArray
    path: HostArray
    poses: HostArray | None = None
    pictures: tuple[tuple[bytes, ...], ...] | None = None
    note: str = ""

    def of_members(self, rows: HostArray) -> "Motion":
        """The motion of some of the members, rows: (num_chosen,)."""
        return Motion(
            self.behavior[rows],
            self.valid[rows],
            self.num_frames[rows],
            self.path[rows],
            None if self.poses is None else self.poses[rows],
            None if self.pictures is None else tuple(self.pictures[row] for row in rows),
            self.note,
        )


Replay = Callable[[Array, Sample, PyTree], Motion]
"""``(key, sample, memory) -> Motion``, the episodes that ``evaluate`` would give the sample's members."""


@dataclass(frozen=True)
class Stage:
    """What it takes to watch a task's members.

    Attributes:
        replay: what members do, moment by moment; None where the task's own simulator is watched.
        time_step: seconds between two moments.
        engine: what computes them, for people; empty where that is what evaluates members too.
        model: the MuJoCo model that poses belong to, if any.
        simulator: builds one like the task's own whose trials have pictures; it has a ``close``.
    """

    replay: Replay | None
    time_step: float
    engine: str = ""
    model: Any = None
    simulator: Callable[[], Any] | None = None
