"""Why a population loses a side: what the experiments found that are no part of the paper, a row per training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evolvability.reproduction.claims.training import reached
from evolvability.reproduction.items import Item, Training
from evolvability.runs.folder import Run
from evolvability.studies.measures import valid_behaviors

COLUMNS = ("training", "seeds", "mean distance (m)", "in % of standard ES's", "left and right (m)", "both sides")
KEPT = 0.5  # a side is kept whose median distance is at least this share of the other's
NOTE = (
    "Left and right: the medians of those members that end there, medians over seeds. Both sides: seeds of which at "
    f"least a tenth of the members end on either, and the weaker side goes {100 * KEPT:.0f} % as far as the other or "
    "more (ours)."
)


def rows(item: Item, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """A row for `COLUMNS` per training of an item that has finished runs; those are found by their folders' names."""
    return [_row(training, own, runs) for training in item.trainings if (own := _of(training.name, runs))]


def _of(name: str, runs: Sequence[Run]) -> list[Run]:
    """The runs of a training: its name, or that with a batch's seeds."""
    named = {run: f"{run.path.parent.name}/{run.path.name}".partition("_seeds-")[0] for run in runs if run.recorded}
    return [run for run, found in named.items() if found == name and run.generations_done == run.config.generations]


def _row(training: Training, own: Sequence[Run], runs: Sequence[Run]) -> tuple[str, ...]:
    clouds = [valid_behaviors(run, seed)[0][:, 0] for run in own for seed in range(run.config.seeds)]
    name = training.name.partition("/")[2]
    standard = _of(_standard(training), runs)
    distance = _distance(own)
    share = f"{100 * distance / _distance(standard):.0f} %" if standard else ""
    sides = np.array([(reached(-cloud), reached(cloud)) for cloud in clouds])
    both = sum(_has_both(cloud, *ends) for cloud, ends in zip(clouds, sides, strict=True))
    left, right = np.median(sides, axis=0)
    return name, str(len(clouds)), f"{distance:.1f}", share, f"{left:.1f} and {right:.1f}", f"{both} of {len(clouds)}"


def _standard(training: Training) -> str:
    """The standard ES of a training's body and size, by name."""
    body = training.settings.get("task_options", {}).get("body", "paper")
    size = "whole" if training.kind == "train" else "tenth"
    return "cheetah/mean_fitness" if (body, size) == ("paper", "whole") else f"cheetah/{body}-{size}-standard"


def _distance(runs: Sequence[Run]) -> float:
    return float(np.mean([value for run in runs for value in run.metrics["distance"][:, -1]]))


def _has_both(cloud: np.ndarray[Any, Any], left: float, right: float) -> bool:
    shares = float(np.mean(cloud < 0)), float(np.mean(cloud > 0))
    return min(shares) >= 0.1 and min(left, right) >= KEPT * max(left, right)
