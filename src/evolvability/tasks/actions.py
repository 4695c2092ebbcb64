"""From a network's outputs to actions, as data: what a task does with them, and a saved policy does likewise."""

from typing import Any, NamedTuple

import numpy as np

from evolvability.tasks.replay import HostArray


class Actions(NamedTuple):
    """How outputs become an action: ``middle + half * clip(outputs, low, high)``, or the place of the largest."""

    low: HostArray
    """(num_outputs,) the lowest value that an output is clipped to."""
    high: HostArray
    """(num_outputs,) the highest value that an output is clipped to."""
    middle: HostArray
    """(num_outputs,) the action of an output of 0."""
    half: HostArray
    """(num_outputs,) how much an output of 1 adds to the middle."""
    shape: tuple[int, ...]
    """The shape of one action."""
    dtype: str
    """The number format of an action."""
    first: int | None = None
    """The number that the first output stands for, where an action is a whole number; None elsewhere."""

    def __call__(self, outputs: Any) -> Any:
        """Actions of (..., num_outputs), NumPy's or JAX's."""
        if self.first is not None:
            place = outputs.argmax(axis=-1)
            return self.first + (int(place) if isinstance(place, np.integer) else place)
        xp = outputs.__array_namespace__()
        # Not xp.clip: NumPy's takes as long as all the rest.
        action = self.middle + self.half * xp.minimum(xp.maximum(outputs, self.low), self.high)
        return action.astype(self.dtype).reshape(*outputs.shape[:-1], *self.shape)


def clipped(number: int, limit: float = np.inf) -> Actions:
    """Outputs as they are, within a limit.

    >>> clipped(2, 1.0)(np.array([0.5, -3.0]))
    array([ 0.5, -1. ], dtype=float32)
    """
    ones = np.ones(number)
    return Actions(-limit * ones, limit * ones, 0 * ones, ones, (number,), "float32")


def choice(number: int, first: int = 0) -> Actions:
    """One of so many actions, numbered from the first.

    >>> choice(3)(np.array([0.5, 2.0, 1.0]))
    1
    """
    return clipped(number)._replace(shape=(), dtype="int64", first=first)
