r"""How noisy two forms of one gradient are: parameters' scores against actions' scores, for equal episodes.

Of independent estimates $g_1, \ldots, g_R$ of a gradient, each from $n$ episodes, with mean $\bar g$:

$$\text{noise} = \operatorname{tr} \widehat{\mathrm{Cov}} = \frac{1}{R - 1} \sum_r |g_r - \bar g|^2, \qquad
\text{signal} = \frac{1}{R (R - 1)} \sum_{r \ne s} g_r \cdot g_s,$$

both without bias. The noise falls like $1/n$, so that $n \cdot \text{noise} / \text{signal}$ is the number of episodes
from which an estimate is as much signal as noise, and points to within 45 degrees of the truth: the fewer the better.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.objectives import Objective
from evolvability.core.types import Cloud, PyTree
from evolvability.methods.policy_gradient import (
    Episodes,
    Estimator,
    Exploration,
    action_score,
    explore,
    parameter_score,
    weights_over_time,
)

ESTIMATORS: dict[str, Estimator] = {
    "parameters": parameter_score,
    "actions": partial(action_score, fitted=False),
    "actions, baseline": action_score,
}


class Quality(NamedTuple):
    """Of an estimator of a gradient.

    Attributes:
        noise: the trace of the estimates' covariance.
        signal: the squared norm of what they estimate; it may come out below zero where noise drowns it.
        signal_error: its standard error.
        cosine: the mean cosine of an estimate with the mean of a reference's other estimates.
    """

    noise: float
    signal: float
    signal_error: float
    cosine: float


def quality(gradients: Any, reference: Any = None) -> Quality:
    """Noise, signal and direction of (repetitions, num_params) estimates.

    Args:
        gradients: the estimates.
        reference: less noisy estimates of the same gradient, of as many repetitions, for the direction; the same ones
            unless given. An estimate is never compared with what comes from its own episodes.

    Examples:
        >>> generator = np.random.default_rng(0)
        >>> found = quality(3 / np.sqrt(100) + generator.normal(size=(4000, 100)))  # of a gradient of length 3
        >>> round(found.noise), round(found.signal), round(found.cosine, 2)  # 3 / sqrt(9 + 100)
        (100, 9, 0.29)
    """
    gradients = np.asarray(gradients, np.float64)
    reference = gradients if reference is None else np.asarray(reference, np.float64)
    repetitions, mean = len(gradients), gradients.mean(axis=0)
    noise = float(np.sum((gradients - mean) ** 2)) / (repetitions - 1)
    products = gradients @ (repetitions * mean) - np.sum(gradients**2, axis=1)  # of each estimate with all others
    signal = float(products.sum()) / (repetitions * (repetitions - 1))
    without = (products.sum() - 2 * products) / ((repetitions - 1) * (repetitions - 2))  # each in turn: the jackknife
    error = float(np.std(without)) * np.sqrt(repetitions - 1)
    others = reference.sum(axis=0) - reference
    lengths = np.linalg.norm(gradients, axis=1) * np.linalg.norm(others, axis=1)
    cosine = float(np.mean(np.sum(gradients * others, axis=1) / lengths))
    return Quality(noise, signal, float(error), cosine)


def estimates(
    exploration: Exploration, objective: Objective, key: Array, center: Array, memory: PyTree, num_episodes: int
) -> list[Array]:
    """(num_estimators, num_params) for every time of the exploration, as if episodes ended then; all from the same."""
    key_noise, key_episodes = jax.random.split(key)
    population = exploration.population
    sample = population.sample(key_noise, Cloud(center[None]), 0, population.draws(num_episodes))
    episodes = explore(exploration, key_episodes, sample, memory)
    forms = ESTIMATORS if exploration.action_std > 0 else {"parameters": parameter_score}
    found = []
    for time in exploration.watched:
        short = replace(exploration, times=(time,))
        part = until(episodes, time)
        weights, _ = weights_over_time(short, objective, part)
        found.append(jnp.stack([form(short, sample, part, weights).center[0] for form in forms.values()]))
    return found


def until(episodes: Episodes, time: int) -> Episodes:
    """The first so many steps of episodes."""
    inputs, actions, counts = (part[:, :time] for part in (episodes.inputs, episodes.actions, episodes.counts))
    return episodes._replace(inputs=inputs, actions=actions, counts=counts, path=episodes.path[:, : time + 1])


def compare(
    exploration: Exploration,
    objective: Objective,
    key: Array,
    center: Array,
    memory: PyTree = (),
    *,
    num_episodes: int,
    repetitions: int,
) -> list[dict[str, Any]]:
    """The quality of every estimator, for every time of an exploration.

    Returns:
        Rows for JSON. ``episodes_needed`` is taken with the signal of the least noisy estimator of the same gradient,
        and is None where that is less than two standard errors above zero.
    """
    one = jax.jit(partial(estimates, exploration, objective, num_episodes=num_episodes))
    found = [one(key_one, center, memory) for key_one in jax.random.split(key, repetitions)]
    rows = []
    for index, time in enumerate(exploration.watched):
        gradients = np.stack([np.asarray(each[index]) for each in found], axis=1)
        rows += [{"time": time, "action_std": exploration.action_std, **row} for row in _rows(gradients, num_episodes)]
    return rows


def _rows(gradients: np.ndarray[Any, Any], num_episodes: int) -> list[dict[str, Any]]:
    """One row an estimator; gradients: (num_estimators, repetitions, num_params)."""
    best = min(range(len(gradients)), key=lambda index: quality(gradients[index]).noise)
    _, signal, error, _ = quality(gradients[best])
    rows = []
    for name, own in zip(ESTIMATORS, gradients, strict=False):
        found = quality(own, gradients[best])
        needed = num_episodes * found.noise / signal if signal > 2 * error else None
        row = {"estimator": name, "num_episodes": num_episodes, "repetitions": len(own), "episodes_needed": needed}
        rows.append(row | found._asdict())
    return rows
