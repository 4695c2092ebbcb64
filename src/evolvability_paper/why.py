"""Why a population loses a side: what experiments beyond the paper found, one row per training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evolvability import Run
from evolvability.studies.groups import RunGroup, by_seed, of_common_seeds
from evolvability.studies.measures import median_one_way, whole_populations
from evolvability.studies.statistics import paired
from evolvability_paper.items import ITEMS, Item, Training

COLUMNS = (
    "training",
    "seeds",
    "mean distance (m), and by seed",
    "in % of standard ES's",
    "p by pairs",
    "left and right (m)",
    "both sides",
)
KEPT = 0.5  # a side is kept whose median distance is at least this share of the other's
NOTE = (
    "Shares of standard ES's distance are over the same seeds. P by pairs: Wilcoxon's signed ranks of distances by "
    "seed, against the standardized training of that body and size. Left and right: the medians of those members that "
    "end there, medians over seeds. Both sides: seeds of which at least a tenth of the members end on either, and the "
    f"weaker side goes {100 * KEPT:.0f} % as far as the other or more (ours)."
)
NAMES = {training.name for item in ITEMS.values() if not item.in_paper for training in item.trainings if training.label}
"""Of trainings that are not part of the paper."""


def training_name(run: Run) -> str:
    """Of which training a run is, by its folder: TASK/NAME, where a batch's seeds may follow."""
    return f"{run.path.parent.name}/{run.path.name}".partition("_seeds-")[0]


def rows(item: Item, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """A row for `COLUMNS` per training of an item that has finished runs."""
    done = [run for run in runs if run.recorded and run.generations_done == run.config.generations]
    return [row for training in item.trainings if (row := _row(training, done))]


def _row(training: Training, runs: Sequence[Run]) -> tuple[str, ...] | None:
    own = [run for run in runs if training_name(run) == training.name]
    if not own:
        return None
    clouds = [cloud[:, 0] for run in own for cloud in whole_populations(run)]
    body = training.settings.get("task_options", {}).get("body", "paper")
    size = "whole" if training.kind == "train" else "tenth"
    whole = (body, size) == ("paper", "whole")
    standard = _pairs(training.name, "cheetah/mean_fitness" if whole else f"cheetah/{body}-{size}-standard", runs)
    standardized = "cheetah/max_variance" if whole else f"cheetah/{body}-{size}-standardized"
    maximizes_variance = training.objective == "max_variance" and training.kind != "first leg"
    p = paired(*_pairs(training.name, standardized, runs)).wilcoxon if maximizes_variance else None
    distances = list(_distances(training.name, runs).values())
    sides = np.array([(median_one_way(-cloud), median_one_way(cloud)) for cloud in clouds])
    both = sum(_has_both(cloud, *ends) for cloud, ends in zip(clouds, sides, strict=True))
    left, right = np.median(sides, axis=0)
    return (
        training.name.partition("/")[2],
        str(len(clouds)),
        f"{np.mean(distances):.1f}: " + ", ".join(f"{distance:.1f}" for distance in distances),
        f"{100 * np.mean(standard[0]) / np.mean(standard[1]):.0f} %" if standard[0] else "",
        "" if p is None or training.name == standardized else f"{p:.2g}",
        f"{left:.1f} and {right:.1f}",
        f"{both} of {len(clouds)}",
    )


def _pairs(first: str, second: str, runs: Sequence[Run]) -> tuple[list[float], list[float]]:
    """The distances of two trainings, of the seeds that both have."""
    return of_common_seeds(_distances(first, runs), _distances(second, runs))


def _distances(name: str, runs: Sequence[Run]) -> dict[int, float]:
    """The last population's mean distance, by seed."""
    group = RunGroup(name, tuple(run for run in runs if training_name(run) == name))
    return by_seed(group, [run.metrics["distance"][:, -1].tolist() for run in group.runs])


def _has_both(cloud: np.ndarray[Any, Any], left: float, right: float) -> bool:
    shares = float(np.mean(cloud < 0)), float(np.mean(cloud > 0))
    return min(shares) >= 0.1 and min(left, right) >= KEPT * max(left, right)
