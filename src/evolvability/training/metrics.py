"""What is kept of a generation: rows of metrics, and arrays of behaviors."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from evolvability.config.objective_text import names_in
from evolvability.config.schema import Config
from evolvability.core.entropy import entropy
from evolvability.core.errors import given
from evolvability.core.types import Outcome
from evolvability.methods.registry import objective_entry
from evolvability.runs.sealed import Arrays

Array = np.ndarray[Any, Any]
Rows = list[dict[str, Any]]  # one row per seed, ready for JSON

OUTLYING = 1 / 3
"""The share of the variance that one member may hold without a word; of a mirrored pair each has a half."""
MAX_RECORDED_CENTER = 16  # numbers in a center that is still recorded in every row


def with_entropy(info: Any, outcome: Outcome) -> dict[str, Array]:
    """Every diagnostic by name, with a seed axis in front, and the entropy, which a compiled step cannot compute."""
    found = [entropy(each) for each in valid_episodes(outcome)]
    named = info if isinstance(info, dict) else info._asdict()
    return {**named, "entropy": np.array(found, np.float32)}


def valid_episodes(outcome: Outcome) -> list[Array]:
    """(num_episodes, num_behaviors) of every seed, what its valid members did in each of their episodes."""
    seeds = [jax.tree.map(lambda leaf, k=k: leaf[k], outcome).by_episode() for k in range(len(outcome.valid))]
    return [rows.behavior[rows.valid] for rows in seeds]


def metric_rows(
    config: Config, has_fitness: bool, generation: int, info: Mapping[str, Array], centers: Any, seconds: float
) -> Rows:
    """One row per seed, from diagnostics by name; what is not finite, or means nothing for the task, is None.

    centers: (num_seeds, num_components, num_params), where they are small enough to be recorded, or None.
    """
    rows = []
    for k in range(config.seeds):
        row: dict[str, Any] = {"generation": generation, "seed": config.seed + k}
        row |= {name: _jsonable(values[k]) for name, values in info.items()}
        if not has_fitness:
            row["fitness_mean"] = row["fitness_max"] = None
        row["seconds"] = round(seconds, 6)
        # Counted from the start, not added up: a resumed run has the same.
        row["evaluations"] = (generation + 1) * config.population_size * config.episodes
        if centers is not None:
            row["center"] = centers[k].ravel().tolist()
        rows.append(row)
    return rows


def outlier_notice(config: Config, generation: int, shares: Array) -> str:
    """What to say where one member, or a mirrored pair, holds most of the variance that all are seen by; mostly "".

    shares: (num_seeds,) the metric ``outlier``.
    """
    share, number = float(np.max(shares)), config.population_size
    # A share times the number of members is a squared distance, in standard deviations.
    # Six standard deviations: less than that happens among few members.
    is_far = share > OUTLYING and share * number > 6**2
    shapings = {value for name, value in config.options.items() if name.endswith("behavior_shaping")}
    if not (is_far and shapings & {"standardize", "none"}):
        return ""
    return (
        f"generation {generation}: one of {number} members holds {share:.0%} of the variance of a behavior, so the "
        f"center follows its noise. If it blew up, try {given(behavior_shaping='robust')}. Further generations like "
        "this are not named: see the metric `outlier`."
    )


def sameness_notice(config: Config, names: Sequence[str], outcome: Outcome) -> str:
    """What to say where all members of the first generation do the same, so that nothing can be weighed; mostly ""."""
    if all(objective_entry(name).needs_fitness for name in names_in(config.objective)):
        return ""
    for did in valid_episodes(outcome):
        if len(did) > 1 and (did == did[0]).all():
            where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, did[0], strict=True))
            return (
                f"all {len(did)} members did the same ({where}), so the center has nowhere to go. Does the behavior "
                f"depend on the parameters? If it does, give larger mutations: sigma is {config.options.get('sigma')}."
            )
    return ""


def behavior_arrays(component: Any, outcome: Outcome) -> Arrays:
    """What is kept of behaviors, with a seed axis in front; component: (num_seeds, num_draws)."""
    num_signs = outcome.valid.shape[1] // component.shape[1]
    # Of members with one episode the behavior is all there is.
    episodes = {} if outcome.episodes is None else {"episodes": np.asarray(outcome.episodes)}
    return episodes | {
        "behavior": np.asarray(outcome.behavior),
        "fitness": np.asarray(outcome.fitness),
        "valid": np.asarray(outcome.valid),
        # Of members, not of draws: mirrored ones share their draw's.
        "component": np.repeat(np.asarray(component, np.uint16), num_signs, axis=1),
    }


def _jsonable(value: Any) -> float | int | None:
    """A number in the digits that tell it from every other of its own type, and no more; None where not finite."""
    number = value.item()
    if not math.isfinite(number):
        return None
    # By way of the text: a float32 made a Python float has digits that mean nothing.
    return float(str(np.asarray(value)[()])) if isinstance(number, float) else number
