"""The study's centers in PyBullet, the paper's own simulator: do mutations go there where they went here?

    pip install -e '.[locomotion,bullet]'
    python -m benchmarks.dependability.bullet results/dependable-study --output results/dependable-study/bullet.jsonl
    python -m benchmarks.dependability.bullet results/dependable-study/bullet.jsonl

The section "PyBullet" of `results/dependable-study/RULES.md` has the rules. Networks act as they are. A row per center
that is kept; with the rows' file in the study's place, only its table is printed.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dependability.kept import Array, Rows, by_arm, centers, program
from benchmarks.dependability.rows import WAYS, along
from evolvability import make_task
from evolvability.core.cores import num_cores
from evolvability.studies.repeatability import repeatability
from evolvability.tasks.normalizer import Moments
from evolvability.tasks.simulators import Address

MUTATIONS, EPISODES = 16, 4


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
            ours = kept.episodes(members, steps, EPISODES)
            theirs = np.stack([call.result() for call in calls])
            yield kept.names | compared(ours, theirs)


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


def table(found: Rows) -> str:
    """The rows as Markdown: of every arm both seeds."""
    lines = ["| | distance there / here | agreement | repeatability here | there | best of 16, picked here | there |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name_of_arm, own in by_arm(found):
        cells = (
            [f"{row['there']['distance'] / row['here']['distance']:.2f}" for row in own],
            [f"{row['agreement']:.2f}" for row in own],
            *([f"{row[place]['repeatability']:.2f}" for row in own] for place in ("here", "there")),
            *([f"{np.mean(list(row[name].values())):.1f}" for row in own] for name in ("picked_here", "picked_there")),
        )
        lines.append(f"| {name_of_arm} | {' | '.join(map(', '.join, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    program(__doc__, MUTATIONS, rows, table)
