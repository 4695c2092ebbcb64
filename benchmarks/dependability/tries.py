"""Of the study's picked mutations, how many do again what they were picked for?

    python -m benchmarks.dependability.tries results/dependable-study --output results/dependable-study/tries.jsonl
    python -m benchmarks.dependability.tries results/dependable-study/tries.jsonl

The section "One try" of `results/dependable-study/RULES.md` has the rules. A row per center that is kept; with the
rows' file in the study's place, only its table is printed.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dependability.arms import ARMS
from benchmarks.dependability.bullet import centers, here
from benchmarks.dependability.rows import TRIES, UNSEEN, WAYS, Array, along
from evolvability.runs.files import write_output

MUTATIONS, PICKED_FROM = 400, 40
HOW = {"one episode": (PICKED_FROM, 1), "four": (PICKED_FROM // TRIES, TRIES)}
"""How mutations are picked: of how many, by how many episodes."""


def rows(study: Path, mutations: int, steps: int) -> Iterator[dict[str, Any]]:
    """What became of every kept center's picks."""
    for kept in centers(study, ("cheetah", "ant")):
        place = (kept.arm.task, kept.falls, steps, kept.seed, kept.members(mutations), kept.memory)
        did = here(*place, episodes=TRIES + UNSEEN)
        ways = WAYS[did.shape[2]].values()
        found = {how: np.concatenate([again(did, way, *tries) for way in ways]) for how, tries in HOW.items()}
        shares = {
            how: {"half": float((shown >= 0.5).mean()), "back": float((shown < 0).mean())}
            for how, shown in found.items()
        }
        yield kept.names | shares


def again(did: Array, angle: float, number: int, tries: int) -> Array:
    """(num_picks * UNSEEN,) how far picks come in unseen episodes, as a share of what they were picked for.

    A pick is the best of so many mutations by its first episodes. One that went the other way even then has 0.
    """
    scores = along(did, angle)
    first = scores[:, :tries].mean(axis=1).reshape(-1, number)
    unseen = scores[:, TRIES:].reshape(-1, number, UNSEEN)
    sets, picks = np.arange(len(first)), np.argmax(first, axis=1)
    promised = first[sets, picks][:, None]
    return np.where(promised > 0, unseen[sets, picks] / np.where(promised > 0, promised, 1), 0.0).ravel()


def table(found: list[dict[str, Any]]) -> str:
    """The rows as Markdown, in percent; of every arm both seeds."""
    lines = ["| | " + " | ".join(f"picked by {how}: half as far, back" for how in HOW) + " |", "|---|---|---|"]
    for arm in ARMS:
        if own := [row for row in found if (row["task"], row["arm"]) == (arm.task, arm.name)]:
            cells = [
                ", ".join(f"{100 * row[how]['half']:.0f} {100 * row[how]['back']:.0f}" for row in own) for how in HOW
            ]
            lines.append(f"| {arm.task}, {arm.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="the study's folder, or rows that were made")
    parser.add_argument("--output", type=Path, default=None, help="where rows are written")
    parser.add_argument("--mutations", type=int, default=MUTATIONS)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    if options.study.is_file():
        found = [json.loads(line) for line in options.study.read_text().splitlines()]
    else:
        found = []
        for row in rows(options.study, options.mutations, options.steps):
            print(json.dumps(row), flush=True)
            found.append(row)
        if options.output:
            write_output(options.output, "".join(f"{json.dumps(row)}\n" for row in found).encode())
    print(table(found))


if __name__ == "__main__":
    main()
