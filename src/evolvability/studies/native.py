"""Trained mutations in the robot's file as it is, by MuJoCo's own library: do they still go where they went?"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from evolvability.core.errors import ConfigError, TaskError
from evolvability.core.keys import Purpose, key_for
from evolvability.runs.folder import Run
from evolvability.runs.picking import Evaluate, Parent, evaluator
from evolvability.tasks.replay import HostArray


class Transfer(NamedTuple):
    """Whether the same mutations do the same in training's physics and in the file as it is."""

    trained: HostArray
    """(num_valid, num_behaviors) what they did in the physics of training."""
    native: HostArray
    """(num_valid, num_behaviors) what they did by MuJoCo's library, in the file as it is."""
    share: float
    """The share of mutations that still go where they went, within the tolerance."""
    by_chance: float
    """The same share, if each went where another one went."""
    tolerance: float
    """Half of the median distance between what two mutations did in training's physics."""
    num_invalid: int
    """How many mutations broke down in either."""


def compared(trained: HostArray, native: HostArray, num_invalid: int = 0) -> Transfer:
    """What two kinds of physics did with the same mutations, see `Transfer`."""
    others = np.roll(trained, -max(1, len(trained) // 3), axis=0)  # each beside another one
    tolerance = np.median(np.linalg.norm(others - trained, axis=1)) / 2
    share, by_chance = (np.mean(np.linalg.norm(native - place, axis=1) <= tolerance) for place in (trained, others))
    return Transfer(trained, native, float(share), float(by_chance), float(tolerance), num_invalid)


def transfer(run: Run, number: int = 100) -> list[Transfer]:
    """Mutations of every seed's center, evaluated both ways."""
    options: Any = run.config.task_options
    if not hasattr(options, "engine"):
        raise ConfigError(f"{run.path}: native physics is for robots, and '{run.config.task}' is not one.")
    if number < 2:
        raise ConfigError(f"Two mutations or more are compared, got {number}.")
    original = replace(options, engine="mujoco", **({"simplify": False} if hasattr(options, "simplify") else {}))
    own, native = evaluator(run.task), evaluator(run.make_task(original))
    return [_both(parent, own, native, number) for parent in run.parents()]


def _both(parent: Parent, own: Evaluate, native: Evaluate, number: int) -> Transfer:
    key_noise, key_episode = jax.random.split(key_for(Purpose.OFFSPRING, parent.key))
    sample = parent.mutations(key_noise, number)
    first, second = (evaluate(key_episode, sample, parent.memory)[0] for evaluate in (own, native))
    valid = np.asarray(first.valid) & np.asarray(second.valid)
    if valid.sum() < 2:
        raise TaskError(f"Task '{parent.task.name}': of {number} mutations {valid.sum()} are valid in both.")
    trained, native_ones = (np.asarray(one.behavior)[valid] for one in (first, second))
    return compared(trained, native_ones, int((~valid).sum()))
