"""The study's centers that are kept, and programs that have a row for each of them."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.dependability.arms import ARMS, START_NOISE, Arm
from evolvability import make_task
from evolvability.core.types import sample_of
from evolvability.runs.files import write_output
from evolvability.tasks.base import with_episodes
from evolvability.tasks.normalizer import Moments

Array = np.ndarray[Any, Any]
Rows = list[dict[str, Any]]
SIGMA = 0.02


class Kept(NamedTuple):
    """A center that is kept, in 16 bits."""

    arm: Arm
    """Of which arm it is."""
    seed: int
    """Of the run that trained it."""
    center: Array
    """(1, num_params) itself."""
    memory: Moments
    """The statistics by which its observations are scaled."""

    @property
    def names(self) -> dict[str, Any]:
        """What its row begins with."""
        return {"task": self.arm.task, "arm": self.arm.name, "seed": self.seed}

    @property
    def falls(self) -> bool:
        """Whether a fall ended an episode in training."""
        return self.arm.task == "ant" and "task_options" not in self.arm.settings

    def members(self, mutations: int) -> Array:
        """So many mutations of it."""
        noise = np.random.default_rng(self.seed).standard_normal((mutations, self.center.shape[1]))
        return (self.center.astype(np.float32) + SIGMA * noise).astype(np.float32)

    def episodes(self, members: Array, steps: int, number: int) -> Array:
        """(num_mutations, number, num_behaviors) of so many episodes in the body that was fitted to PyBullet's."""
        ends = {"early_termination": self.falls} if self.arm.task == "ant" else {}
        task = make_task(self.arm.task, {"body": "paper", "start_noise": START_NOISE, "num_steps": steps, **ends})
        sample, key = sample_of(jax.numpy.asarray(members)), jax.random.key(self.seed)
        outcome, _ = with_episodes(task, number).evaluate(key, sample, self.memory)
        return np.asarray(outcome.episodes, np.float64)


def centers(study: Path, robots: Sequence[str]) -> Iterator[Kept]:
    """All that are kept, arm by arm."""
    for arm in (arm for arm in ARMS if arm.task in robots):
        for path in sorted((study / "centers").glob(f"{arm.task}-{arm.file_name}-2??.npz")):
            found = dict(np.load(path))
            memory = Moments(*(np.asarray(found[part], np.float32) for part in Moments._fields))
            yield Kept(arm, int(path.stem[-3:]), found["center"], memory)


def by_arm(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """The rows of every arm that has some, and what it is called."""
    for arm in ARMS:
        if own := [row for row in rows if (row["task"], row["arm"]) == (arm.task, arm.name)]:
            yield f"{arm.task}, {arm.name}", own


def program(
    about: str | None,
    mutations: int,
    make: Callable[[Path, Sequence[str], int, int], Iterator[dict[str, Any]]],
    table: Callable[[Rows], str],
) -> None:
    """A program that makes rows, by ``(study, robots, mutations, steps)``, or reads them, and prints their table."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="the study's folder, or rows that were made")
    parser.add_argument("--output", type=Path, default=None, help="where rows are written")
    parser.add_argument("--robots", nargs="+", default=["cheetah", "ant"])
    parser.add_argument("--mutations", type=int, default=mutations)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    if options.study.is_file():
        found = [json.loads(line) for line in options.study.read_text().splitlines()]
    else:
        found = []
        for row in make(options.study, options.robots, options.mutations, options.steps):
            print(json.dumps(row), flush=True)
            found.append(row)
        if options.output:
            write_output(options.output, "".join(f"{json.dumps(row)}\n" for row in found).encode())
    print(table(found))
