"""Of the study's picked mutations, how many do again what they were picked for?

    python -m benchmarks.dependability.tries results/dependable-study --output results/dependable-study/tries.jsonl
    python -m benchmarks.dependability.tries results/dependable-study/tries.jsonl

The section "One try" of `results/dependable-study/RULES.md` has the rules. A row per center that is kept; with the
rows' file in the study's place, only its table is printed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dependability.arms import SCALES
from benchmarks.dependability.kept import Array, Rows, by_arm, centers, program
from benchmarks.dependability.rows import TRIES, UNSEEN, WAYS, along

FULL = SCALES["full"]
HOW = {"one episode": (FULL.picked_from, 1), "four": (FULL.picked_from // TRIES, TRIES)}
"""How mutations are picked: of how many, by how many episodes."""


def rows(study: Path, robots: Sequence[str], mutations: int, steps: int) -> Iterator[dict[str, Any]]:
    """What became of every kept center's picks."""
    for kept in centers(study, robots):
        did = kept.episodes(kept.members(mutations), steps, TRIES + UNSEEN)
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


def table(found: Rows) -> str:
    """The rows as Markdown, in percent; of every arm both seeds."""
    lines = ["| | " + " | ".join(f"picked by {how}: half as far, back" for how in HOW) + " |", "|---|---|---|"]
    for name, own in by_arm(found):
        cells = [", ".join(f"{100 * row[how]['half']:.0f} {100 * row[how]['back']:.0f}" for row in own) for how in HOW]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    program(__doc__, FULL.mutations, rows, table)
