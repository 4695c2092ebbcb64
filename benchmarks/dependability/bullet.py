"""The study's centers in PyBullet, the paper's own simulator: do mutations go there where they went here?

    pip install -e '.[locomotion,bullet]'
    python -m benchmarks.dependability.bullet results/dependable-study --output results/dependable-study/bullet.jsonl
    python -m benchmarks.dependability.bullet results/dependable-study/bullet.jsonl

The section "PyBullet" of `results/dependable-study/RULES.md` has the rules. Networks act as they are. A row per center
that is kept; with the rows' file in the study's place, only its table is printed.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.dependability.arms import ARMS, START_NOISE, Arm
from benchmarks.dependability.rows import WAYS, along
from evolvability import make_task
from evolvability.core.cores import num_cores
from evolvability.core.types import sample_of
from evolvability.runs.files import write_output
from evolvability.studies.repeatability import repeatability
from evolvability.tasks.base import with_episodes
from evolvability.tasks.normalizer import Moments
from evolvability.tasks.simulators import Address

Array = np.ndarray[Any, Any]
MUTATIONS, EPISODES, SIGMA = 16, 4, 0.02


def rows(study: Path, robots: Sequence[str], mutations: int, steps: int) -> Iterator[dict[str, Any]]:
    """What mutations of each kept center do here and there."""
    with ProcessPoolExecutor(num_cores(), get_context("spawn")) as processes:
        for kept in centers(study, robots):
            members = kept.members(mutations)
            place = (kept.arm.task, kept.falls, steps)
            calls = [
                processes.submit(there, *place, Address((kept.seed,), 0, number), member, kept.memory)
                for number, member in enumerate(with_motors_of_bullet(kept.arm.task, members))
            ]
            ours = here(*place, kept.seed, members, kept.memory)
            theirs = np.stack([call.result() for call in calls])
            yield kept.names | compared(ours, theirs)


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


def centers(study: Path, robots: Sequence[str]) -> Iterator[Kept]:
    """All that are kept, arm by arm."""
    for arm in (arm for arm in ARMS if arm.task in robots):
        for path in sorted((study / "centers").glob(f"{arm.task}-{arm.file_name}-2??.npz")):
            found = dict(np.load(path))
            memory = Moments(*(np.asarray(found[part], np.float32) for part in Moments._fields))
            yield Kept(arm, int(path.stem[-3:]), found["center"], memory)


def with_motors_of_bullet(robot: str, members: Array) -> Array:
    """The same networks, whose outputs are in the order of PyBullet's motors.

    Its ant has motors in the order of its joints; the model that ours is made of begins with the last leg.

    Examples:
        >>> ours = np.zeros((1, 75272))
        >>> ours[0, -8:] = [7, 8, 1, 2, 3, 4, 5, 6]  # biases of the torques at hip and ankle, leg by leg
        >>> with_motors_of_bullet("ant", ours)[0, -8:].astype(int).tolist()
        [1, 2, 3, 4, 5, 6, 7, 8]
    """
    if robot != "ant":
        return members
    (inputs, motors), _ = make_task(robot).shapes[-2:]
    last = members[:, -(inputs + 1) * motors :].reshape(len(members), inputs + 1, motors)
    turned = np.roll(last, -2, axis=2).reshape(len(members), -1)
    return np.concatenate([members[:, : -(inputs + 1) * motors], turned], axis=1)


def here(
    robot: str, falls: bool, steps: int, seed: int, members: Array, memory: Moments, episodes: int = EPISODES
) -> Array:
    """(num_mutations, episodes, num_behaviors) in the body that was fitted to PyBullet's."""
    ends = {"early_termination": falls} if robot == "ant" else {}
    task = make_task(robot, {"body": "paper", "start_noise": START_NOISE, "num_steps": steps, **ends})
    sample, key = sample_of(jax.numpy.asarray(members)), jax.random.key(seed)
    outcome, _ = with_episodes(task, episodes).evaluate(key, sample, memory)
    return np.asarray(outcome.episodes, np.float64)


def there(robot: str, falls: bool, steps: int, address: Address, member: Array, memory: Moments) -> Array:
    """(EPISODES, num_behaviors) of one mutation in PyBullet, whose start poses differ by up to 0.1 rad as well."""
    simulate = _simulator(robot, falls, steps)
    trials = [simulate(member, address._replace(episode=number), memory) for number in range(EPISODES)]
    return np.stack([np.asarray(trial.behavior, np.float64) for trial in trials])


@cache
def _simulator(robot: str, falls: bool, steps: int) -> Any:
    task = make_task(f"{robot}-bullet", {"num_steps": steps})
    assert task.simulator is not None
    simulator: Any = task.simulator()
    if robot == "ant" and not falls:
        # This one alone: PyBullet's ant ends when its torso sinks, and most of these were trained without.
        simulator.env._isDone = lambda: False
    return simulator


def compared(ours: Array, theirs: Array) -> dict[str, Any]:
    """Both (num_mutations, EPISODES, num_behaviors): the first episode picks a mutation, the others judge it."""
    means = [(one.mean(axis=1) - one.mean(axis=(0, 1))).ravel() for one in (ours, theirs)]
    row: dict[str, Any] = {"agreement": float(np.corrcoef(*means)[0, 1])}
    for place, did in (("here", ours), ("there", theirs)):
        found = repeatability(did)
        row[place] = {"distance": float(np.linalg.norm(did, axis=2).mean()), "repeatability": found.share}
    ways = WAYS[ours.shape[2]]
    for name, source in (("picked_here", ours), ("picked_there", theirs)):
        best = {way: int(np.argmax(along(source[:, 0], angle))) for way, angle in ways.items()}
        row[name] = {way: float(along(theirs[best[way], 1:], angle).mean()) for way, angle in ways.items()}
    return row


def table(found: list[dict[str, Any]]) -> str:
    """The rows as Markdown: of every arm both seeds."""
    lines = ["| | distance there / here | agreement | repeatability here | there | best of 16, picked here | there |"]
    lines.append("|---|---|---|---|---|---|---|")
    for arm in ARMS:
        own = [row for row in found if (row["task"], row["arm"]) == (arm.task, arm.name)]
        if not own:
            continue
        cells = (
            [f"{row['there']['distance'] / row['here']['distance']:.2f}" for row in own],
            [f"{row['agreement']:.2f}" for row in own],
            *([f"{row[place]['repeatability']:.2f}" for row in own] for place in ("here", "there")),
            *([f"{np.mean(list(row[name].values())):.1f}" for row in own] for name in ("picked_here", "picked_there")),
        )
        lines.append(f"| {arm.task}, {arm.name} | {' | '.join(map(', '.join, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="the study's folder, or rows that were made")
    parser.add_argument("--output", type=Path, default=None, help="where rows are written")
    parser.add_argument("--robots", nargs="+", default=["cheetah", "ant"])
    parser.add_argument("--mutations", type=int, default=MUTATIONS)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    if options.study.is_file():
        found = [json.loads(line) for line in options.study.read_text().splitlines()]
    else:
        found = []
        for row in rows(options.study, options.robots, options.mutations, options.steps):
            print(json.dumps(row), flush=True)
            found.append(row)
        if options.output:
            write_output(options.output, "".join(f"{json.dumps(row)}\n" for row in found).encode())
    print(table(found))


if __name__ == "__main__":
    main()
