"""Rows of the study: what fresh mutations of a trained center do in circumstances that it has not seen."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dependability.arms import CONDITIONS, FAILED, START_NOISE, Arm, Scale
from evolvability import Run
from evolvability.core.keys import Purpose, key_for
from evolvability.core.noise import rows as noise_rows
from evolvability.core.types import PyTree, Sample, sample_of
from evolvability.methods.meta_gradient import adapt as gradient_step
from evolvability.methods.registry import MAML, MamlOptions
from evolvability.methods.rollouts import Actor, check_memoryless, roll_out
from evolvability.runs.files import write_output
from evolvability.runs.picking import Evaluate, Parent, evaluator
from evolvability.studies.adapters import Start, goal_vector
from evolvability.studies.races import starts_of
from evolvability.studies.repeatability import repeatability
from evolvability.studies.sweeps import Planned, Show, Status
from evolvability.tasks.base import Task, with_episodes, world_of
from evolvability.tasks.registry import make_task

Array = np.ndarray[Any, Any]
TRIES, UNSEEN = 4, 10  # episodes by which mutations are picked, and further ones by which picks are judged
NEAR = 3.0  # meters: who comes no farther to a side does not go there
ADAPTATION = 10  # episodes of MAML's adaptation
WAYS = {1: {"right": 0, "left": 180}, 2: {"0": 0, "90": 90, "180": 180, "270": 270}}
"""Directions that are asked for, in degrees, by the number of behaviors."""
SECTORS = {1: 2, 2: 12}


@dataclass(frozen=True)
class Work:
    """A run and its rows."""

    arm: Arm
    """Of which arm it is."""
    run: Planned
    """The run."""
    scale: Scale
    """The study's size."""
    output: Path
    """The study's folder."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.run.name

    @property
    def path(self) -> Path:
        """Where its rows are."""
        return self.output / "rows" / f"{self.run.name.replace('/', '-')}.jsonl"

    def status(self) -> Status:
        """How far it has come; what has rows is done, whether its run is kept or not."""
        if self.path.is_file():
            return "done"
        state = self.run.status()
        return "begun" if state == "done" else state

    def conduct(self, show: Show) -> None:
        """Train what is not trained yet, then judge every center."""
        if self.run.status() != "done":
            self.run.conduct(show)
        rows = list(self.rows(Run(self.run.path)))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_output(self.path, "".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        """What is measured of the run."""
        return rows_of(run, self.arm, self.scale)


def rows_of(run: Run, arm: Arm, scale: Scale) -> Iterator[dict[str, Any]]:
    """One row per center and condition; of failed motors one per motor."""
    parents = run.parents()
    starts = starts_of(run, parents)
    for seed, parent, start in zip(run.seeds, parents, starts, strict=True):
        for condition, place in conditions(run):
            row = {"task": arm.task, "arm": arm.name, "seed": seed, "condition": condition, "motor": place.motor}
            row |= judged(parent, place, scale)
            if arm.objective == MAML:
                row["adapted"] = adapted(parent, start, place)
            yield row


class Place(NamedTuple):
    """Where centers are judged."""

    name: str
    """The task's name."""
    options: Any
    """Its options, which have the circumstances."""
    motor: int | None = None
    """Which motor does nothing, if one does."""

    @property
    def task(self) -> Task:
        """The task."""
        return _made(self.name, self.options)

    def evaluate(self, episodes: int) -> Evaluate:
        """The task's ``evaluate`` with so many episodes per member, compiled once."""
        return _evaluated(self.name, self.options, episodes)


def conditions(run: Run) -> Iterator[tuple[str, Place]]:
    """Every condition's name, and what it is."""
    options = replace(run.config.task_options, start_noise=START_NOISE)
    for name, circumstances in CONDITIONS.items():
        yield name, Place(run.config.task, replace(options, **circumstances))
    for motor in range(Place(run.config.task, options).task.shapes[-1][0]):
        yield FAILED, Place(run.config.task, options, motor)


@lru_cache
def _made(name: str, options: Any) -> Task:
    return make_task(name, options)


@lru_cache
def _evaluated(name: str, options: Any, episodes: int) -> Evaluate:
    return evaluator(with_episodes(_made(name, options), episodes))


def judged(parent: Parent, place: Place, scale: Scale) -> dict[str, Any]:
    """What fresh mutations of a center do in episodes of their own."""
    key_noise, key_episodes = jax.random.split(key_for(Purpose.OFFSPRING, parent.key))
    sample = without_motor(parent.mutations(key_noise, scale.mutations), place)
    outcome, _ = place.evaluate(TRIES + UNSEEN)(key_episodes, sample, parent.memory)
    did, valid = np.asarray(outcome.episodes, np.float64), np.asarray(outcome.valid)
    found = repeatability(did[valid])
    row: dict[str, Any] = {"repeatability": found.share, "low": found.low, "high": found.high}
    row |= {"std_between": found.between, "std_within": found.within, "invalid": int((~valid).sum())}
    row["distance"] = float(np.linalg.norm(did[valid], axis=2).mean())
    along = did[valid][:, :, 0]
    row["both_ways"] = float(((along > NEAR).any(axis=1) & (along < -NEAR).any(axis=1)).mean())
    row["directions"] = directions(did[valid].mean(axis=1))
    ways = WAYS[did.shape[2]]
    few = scale.picked_from // TRIES
    row["best_of_all"] = {way: best(did, valid, angle, scale.picked_from, 1) for way, angle in ways.items()}
    row["best_of_few"] = {way: best(did, valid, angle, few, TRIES) for way, angle in ways.items()}
    return row


def directions(places: Array) -> float:
    """The share of sectors in which some mutation's mean place lies beyond half of the median distance."""
    radius = np.linalg.norm(places, axis=1)
    far = places[radius > np.median(radius) / 2]
    if places.shape[1] == 1:
        return len(np.unique(far[:, 0] > 0)) / SECTORS[1]
    sector = np.floor((np.arctan2(far[:, 1], far[:, 0]) / np.pi + 1) / 2 * SECTORS[2]).astype(int) % SECTORS[2]
    return len(np.unique(sector)) / SECTORS[2]


def best(did: Array, valid: Array, angle: float, number: int, tries: int) -> float:
    """What the best of so many mutations does in the unseen episodes, median over disjoint sets of mutations.

    Picked by the mean of its first ``tries`` episodes; one of those that picks may be picked by is never one by which
    they are judged. ``did``: (num_mutations, TRIES + UNSEEN, num_behaviors).
    """
    scores = along(did, angle)
    first = np.where(valid, scores[:, :tries].mean(axis=1), -np.inf).reshape(-1, number)
    unseen = scores[:, TRIES:].mean(axis=1).reshape(-1, number)
    return float(np.median(unseen[np.arange(len(first)), np.argmax(first, axis=1)]))


def along(did: Array, angle: float) -> Array:
    """How far behaviors lie in a direction, in degrees; the last axis is that of behaviors."""
    way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])[: did.shape[-1]]
    scores: Array = did @ way
    return scores


def without_motor(sample: Sample, place: Place) -> Sample:
    """The same mutations, whose networks give a motor that failed no torque."""
    keep, noise = mask(place), noise_rows(sample.noise)
    return sample._replace(center=sample.center * keep, noise=noise * keep.astype(noise.dtype))


def mask(place: Place) -> jax.Array:
    """(num_params,) zero for what leads to a motor that failed in the network's last layer, one elsewhere."""
    *before, weights, bias = (np.ones(shape) for shape in place.task.shapes)
    if place.motor is not None:
        weights[:, place.motor] = bias[place.motor] = 0
    return jnp.asarray(np.concatenate([part.ravel() for part in (*before, weights, bias)]), jnp.float32)


def adapted(parent: Parent, start: Start, place: Place) -> dict[str, float]:
    """What MAML's policy reaches in unseen episodes after one gradient step of `ADAPTATION` episodes, by direction."""
    keep, world = mask(place), world_of(place.task)
    step = _step(place.name, place.options, parent.config.objective_options)
    works = np.ones(world.num_actions, np.float32)
    if place.motor is not None:
        works[place.motor] = 0
    key_adapt, key_again = jax.random.split(key_for(Purpose.RACE, parent.key))
    found = {}
    for way, angle in WAYS[1].items():  # MAML is trained on the cheetah alone
        actor = Actor(start.center * keep, jnp.asarray(start.log_std))
        after = step(key_adapt, actor, goal_vector(way, world), start.memory, works)
        outcome, _ = place.evaluate(UNSEEN)(key_again, sample_of(after.center[None] * keep), start.memory)
        found[way] = float(along(np.asarray(outcome.episodes, np.float64), angle).mean())
    return found


@lru_cache
def _step(name: str, task_options: Any, options: MamlOptions) -> Callable[..., Actor]:
    """MAML's gradient step in a world in which some motors do nothing, also where actions are drawn."""
    world = check_memoryless(world_of(_made(name, task_options)))

    @jax.jit
    def step(key: jax.Array, actor: Actor, goal: jax.Array, memory: PyTree, works: jax.Array) -> Actor:
        # Which motors work is an argument, so that one program does for all.
        broken = replace(world, advance=lambda situation, actions: world.advance(situation, actions * works))
        several = jax.tree.map(lambda leaf: leaf[None], actor)  # rollouts are of several actors, each with a goal
        batch, _, _ = roll_out(broken, key, several, goal[None], memory, ADAPTATION, options.discount)
        own = jax.tree.map(lambda leaf: leaf[0], batch)
        return gradient_step(world.networks, actor, own, rate=options.inner_rate, discount=options.discount)

    return step
