"""A robot's replay as a playground's page computes it, for tests to compare with."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from evolvability import Run, Sample
from evolvability.explorer.playground import CHANGED, read_task
from evolvability.tasks.circumstances import Circumstances, circumstances_in
from evolvability.tasks.engines.base import host_replay
from evolvability.tasks.engines.drawing import Drawn
from evolvability.tasks.replay import Replay


class Changes(NamedTuple):
    """What somebody has changed in a page: the same for every episode."""

    friction: float = 1.0
    """Times the friction of every shape."""
    push: tuple[float, ...] = ()
    """The robot's velocity at the start along x and y, in m/s."""
    broken: tuple[int, ...] = ()
    """The motors that do nothing."""


def replay_in_double(run: Run, changes: Changes = Changes()) -> Replay:  # noqa: B008 (frozen)
    """A robot's replay as a page computes it, to the bit: hand it a brood's key and sample, and a parent's memory."""
    from mujoco_fused import DOUBLE

    from evolvability.tasks.engines.cores import cores_episodes

    options: Any = run.config.task_options
    # Of circumstances, a page has the start's alone.
    options = replace(options, **circumstances_in(Circumstances(start_noise=options.start_noise)))
    task = read_task(run)
    assert task.stage is not None
    assert task.network is not None
    robot = task.stage.robot
    velocities, push = np.zeros(robot.model.nv), dict(zip(robot.ground, changes.push, strict=False))
    velocities[list(push)] = list(push.values())
    friction, gear = (robot.parameters[name] for name in CHANGED)
    works = ~np.isin(np.arange(len(gear)), changes.broken)
    fixed = velocities, {"friction": changes.friction * friction, "gear": works * gear}
    whole = cores_episodes(robot, task.network, options, DOUBLE)

    def episodes(sample: Sample, drawn: Drawn, *given: Any) -> Any:
        rows: Any = jax.tree.map(lambda row: np.tile(row, (sample.num_members, 1)), fixed)
        return whole(sample, Drawn(drawn.qpos, *rows), *given)

    return host_replay(robot, options, episodes)
