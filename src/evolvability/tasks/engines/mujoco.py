"""Native MuJoCo on all CPU cores.

A block of draws goes through its whole episode on one thread, policy and physics in turn: the block's noise stays in
the processor's cache, and threads never wait for each other.
"""

from typing import Any

import numpy as np
from mujoco.batch import Batch, SimulationError

from evolvability.core.types import Sample
from evolvability.tasks.circumstances import rubs_by_pairs
from evolvability.tasks.engines.base import Engine, EpisodeResults, on_threads
from evolvability.tasks.engines.drawing import Drawn
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import LIMIT, Moments, include, scaling
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.replay import HostArray
from evolvability.tasks.robots.observations import is_plausible, slowed, touching
from evolvability.tasks.robots.robot import Robot
from evolvability.tasks.robots.views import View

BLOCK = 128
"""Draws per block, at most: many make Python's share of a control step small, few let their noise stay in cache."""


def mujoco_engine(robot: Robot, family: NetworkFamily, options: EpisodeOptions) -> Engine:
    """An engine of native MuJoCo, which drives a robot with a network family."""

    def episodes(sample: Sample, drawn: Drawn, *given: Any) -> tuple[EpisodeResults, HostArray]:
        return _Block(robot, family, options, sample, drawn).run(*given)

    return on_threads("mujoco", robot, options, BLOCK, episodes)


def _give(batch: Batch, physics: dict[str, Any]) -> None:
    """Give simulations parameters of their own, as the compiled physics understands them."""
    places = {
        "friction": ("geom_friction", (..., 0)),
        "gear": ("actuator_gear", ... if np.ndim(physics.get("gear", 0)) == 3 else (..., 0)),
        "gravity": ("opt.gravity", ...),
    }
    for name, rows in physics.items():
        if name == "mass":
            # What MuJoCo has derived from masses, such as the softness of contacts, stays as it is.
            mass, inertia = batch.expand("body_mass"), batch.expand("body_inertia")
            inertia *= np.divide(rows, mass, out=np.ones_like(mass), where=mass > 0)[..., None]
            mass[:] = rows
        else:
            field, place = places[name]
            own = batch.expand(field)
            if name == "friction" and rubs_by_pairs(batch.model):
                geom = int(np.argmax(own[0, :, 0]))  # all by one factor, which is read off one that rubs
                batch.expand("pair_friction")[..., :2] *= (rows[:, geom] / own[:, geom, 0])[:, None, None]
            own[place] = rows


class _Block:
    """The episodes of a few members, on the calling thread."""

    def __init__(
        self, robot: Robot, family: NetworkFamily, options: EpisodeOptions, sample: Sample, drawn: Drawn
    ) -> None:
        number = len(drawn.qpos)
        self.robot, self.family, self.options = robot, family, options
        self.networks, self.carry = family.build(sample), family.start(number, np)
        self.batch = Batch(robot.model, nsim=number, nthread=1)
        _give(self.batch, drawn.physics)
        # Views: what is written into them is the simulations' state.
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.sensordata = self.batch.bind("sensordata")
        own = [robot.model.sensor(name) for name in robot.sensors]
        self.read = [int(one.adr[0]) + k for one in own for k in range(int(one.dim[0]))]
        self.qpos[:] = drawn.qpos  # in float64, which is MuJoCo's only type; policies are in float32
        if robot.activation is not None:
            self.batch.bind("act")[:] = robot.activation
        if drawn.qvel is not None:
            self.qvel[:] = drawn.qvel
        self.running = np.ones(number, bool)
        self.valid: Any = np.ones(number, bool)
        self.contacts = np.zeros((number, robot.num_links))
        self.total: Any = np.zeros((number, len(robot.behavior)))
        self.view = self._look()

    def run(self, moments: Moments, kept: HostArray, is_watched: bool) -> tuple[EpisodeResults, HostArray]:
        """Whole episodes; of ``seen``, one entry per member that is kept; and all poses, if they are watched."""
        mean, std = (np.asarray(part) for part in scaling(moments))
        blank = np.zeros((int(kept.sum()), self.robot.num_observations))
        seen = Moments(np.zeros(len(blank)), blank, blank)
        num_steps: Any = np.zeros(len(self.running), np.int32)
        frames = [self.qpos.copy()]
        for _ in range(self.options.num_steps):
            if not self.running.any():
                break
            observation = self.robot.look(self.view)
            if len(blank):
                seen = include(seen, observation[kept], self.running[kept])
            num_steps += self.running
            scaled = np.clip((observation.astype(np.float32) - mean) / std, -LIMIT, LIMIT)
            outputs, self.carry = self.family.act(self.networks, scaled, self.carry)
            self._advance(self.robot.actions(outputs))
            if is_watched:
                frames.append(self.qpos.copy())
        did = self.total / num_steps[:, None] if self.robot.is_averaged else self.robot.measure(self.view)
        return EpisodeResults(did.astype(np.float32), self.valid, num_steps, seen), np.stack(frames, axis=1)

    def _look(self) -> View:
        return self.robot.view(self.qpos, self.qvel, self.contacts, self.robot.readings(self.sensordata[:, self.read]))

    def _advance(self, controls: Any) -> None:
        """One control step of the episodes that go on; those that end or break down stay where they are."""
        before, moving = self.qpos.copy(), self.running.copy()
        finite = np.isfinite(controls)
        self.ctrl[:] = np.where(finite, controls, 0)  # MuJoCo would do the same, and write a log file about it
        try:
            running = None if self.running.all() else np.flatnonzero(self.running)
            self.batch.step(running, nstep=self.robot.steps_per_control)
        except SimulationError as error:
            self.qpos[error.ids] = np.nan  # so that it is found implausible below
        self.qvel[:] = np.where(self.running[:, None], slowed(self.robot, self.qpos, self.qvel), self.qvel)
        self.view = self._look()
        good = is_plausible(self.view.torso, self.qpos, self.qvel) & finite.all(axis=1)
        if not good.all():
            broken = ~good
            # Back where it was, and at rest: observations stay finite, and a broken state is not stepped again.
            self.qpos[broken], self.qvel[broken] = before[broken], 0
            self.valid &= good
            self.running &= good
        if self.robot.links:
            self.contacts = np.where(self.running[:, None], touching(self.robot, self.sensordata), self.contacts)
        self.view = self._look()
        if self.robot.is_averaged:
            self.total += np.where(moving[:, None], self.robot.measure(self.view), 0)
        if self.options.early_termination and self.robot.ends is not None:
            self.running &= ~self.robot.ends(self.view)
