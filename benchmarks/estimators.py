r"""How noisy the two forms of MaxVar's gradient are, for equal episodes: parameters' scores against actions' scores.

    python benchmarks/estimators.py --task point --output estimators-point.json
    python benchmarks/estimators.py --task cheetah --episodes 64 --repetitions 8 --times 10 30 100

Episodes are those of one center, a random start or the center of a run (`--run`); observations are scaled by what a
first batch of episodes saw. `--action-std 0` stands for Evolvability ES as it is, without noise in actions and with
mirrored members. Writes a JSON with `--output`; `docs/extensions.md` says what the columns mean.

Of independent estimates $g_1, \ldots, g_R$ of a gradient, each from $n$ episodes, with mean $\bar g$:

$$\text{noise} = \operatorname{tr} \widehat{\mathrm{Cov}} = \frac{1}{R - 1} \sum_r |g_r - \bar g|^2, \qquad
\text{signal} = \frac{1}{R (R - 1)} \sum_{r \ne s} g_r \cdot g_s,$$

both without bias. The noise falls like $1/n$, so that $n \cdot \text{noise} / \text{signal}$ is the number of episodes
from which an estimate is as much signal as noise, and points to within 45 degrees of the truth: the fewer the better.
"""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability import Population, Run, make_task, max_variance, normal, sample_weights
from evolvability.config.schema import layered
from evolvability.core.shaping import unshaped
from evolvability.core.types import Outcome, Parameters, PyTree, Sample
from evolvability.methods.policy_gradient import Exploration, action_score, explore, weights_over_time
from evolvability.methods.rollouts import Rollouts
from evolvability.tasks.base import Task, world_of
from evolvability.tasks.normalizer import Moments, merge

FORMS = ("parameters", "actions", "actions, baseline")


def main() -> None:
    options = _arguments()
    began = time.perf_counter()
    config = layered(options.task)
    task = make_task(options.task, {"num_steps": max(options.times)})
    sigma = options.sigma or config.population_options.sigma
    center = jnp.asarray(Run(options.run).centers[0, 0]) if options.run else task.init(jax.random.key(options.seed))
    key_seen, key_estimates = jax.random.split(jax.random.key(options.seed + 1))
    memory, rows = None, []
    for action_std in options.action_std:
        population = normal(sigma, mirrored=action_std == 0)
        exploration = Exploration(world_of(task), action_std, tuple(options.times))
        memory = memory or _memory(task, population, exploration, key_seen, center, options.episodes)
        sizes = {"num_episodes": options.episodes, "repetitions": options.repetitions}
        found = compare(population, exploration, key_estimates, center, memory, **sizes)
        for row in found:
            print(_line(row), flush=True)
        rows += found
    if options.output:
        report = {
            "task": options.task,
            "run": options.run and options.run.name,
            "num_params": len(center),
            "sigma": sigma,
            "seed": options.seed,
            "device": jax.devices()[0].device_kind,
            "seconds": round(time.perf_counter() - began),
            "rows": rows,
        }
        options.output.write_text(json.dumps(report, indent=1) + "\n")


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
        reference: less noisy estimates of the same gradient, of as many repetitions, for the direction;
            default: the same ones. An estimate is never compared with what comes from its own episodes.

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


def forms(population: Population, exploration: Exploration, sample: Sample, episodes: Rollouts) -> list[Array]:
    """(num_params,) MaxVar's gradient at the times of an exploration, in each form; all from the same episodes."""
    weights = weights_over_time(weigh, episodes, exploration.watched)
    found = [population.gradient(sample, jnp.sum(weights, axis=1))]
    if exploration.action_std > 0:  # only drawn actions have a score
        found += [action_score(exploration, sample, episodes, weights, fitted=fitted) for fitted in (False, True)]
    return [cloud.center[0] for cloud in found]


def weigh(outcome: Outcome) -> Array:
    """(num_members,) MaxVar's weights of raw behaviors, less their mean."""
    weights, _ = sample_weights(max_variance(unshaped), outcome)
    return jnp.where(outcome.valid, weights - jnp.sum(weights) / jnp.maximum(jnp.sum(outcome.valid), 1), 0)


def estimates(
    population: Population, exploration: Exploration, key: Array, center: Array, memory: PyTree, num_episodes: int
) -> list[Array]:
    """(num_estimators, num_params) for every time of the exploration, as if episodes ended then; all from the same."""
    key_noise, key_episodes = jax.random.split(key)
    sample = population.sample(key_noise, Parameters(center[None]), 0, population.draws(num_episodes))
    episodes = explore(exploration, key_episodes, sample, memory)
    found = []
    for last in exploration.watched:
        short = replace(exploration, times=(last,))
        found.append(jnp.stack(forms(population, short, sample, until(episodes, last))))
    return found


def until(episodes: Rollouts, last: int) -> Rollouts:
    """The first so many steps of episodes."""
    inputs, actions, counts = (part[:, :last] for part in (episodes.inputs, episodes.actions, episodes.counts))
    return episodes._replace(inputs=inputs, actions=actions, counts=counts, path=episodes.path[:, : last + 1])


def compare(
    population: Population,
    exploration: Exploration,
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
    one = jax.jit(partial(estimates, population, exploration, num_episodes=num_episodes))
    found = [one(key_one, center, memory) for key_one in jax.random.split(key, repetitions)]
    rows = []
    for index, last in enumerate(exploration.watched):
        gradients = np.stack([np.asarray(each[index]) for each in found], axis=1)
        rows += [{"time": last, "action_std": exploration.action_std, **row} for row in _rows(gradients, num_episodes)]
    return rows


def _rows(gradients: np.ndarray[Any, Any], num_episodes: int) -> list[dict[str, Any]]:
    """One row per estimator; gradients: (num_estimators, repetitions, num_params)."""
    best = min(range(len(gradients)), key=lambda index: quality(gradients[index]).noise)
    _, signal, error, _ = quality(gradients[best])
    rows = []
    for name, own in zip(FORMS, gradients, strict=False):
        found = quality(own, gradients[best])
        needed = num_episodes * found.noise / signal if signal > 2 * error else None
        row = {"estimator": name, "num_episodes": num_episodes, "repetitions": len(own), "episodes_needed": needed}
        rows.append(row | found._asdict())
    return rows


def _memory(
    task: Task, population: Population, exploration: Exploration, key: Array, center: Array, num_episodes: int
) -> Any:
    """The task's memory after a first batch of episodes."""
    if not isinstance(task.memory, Moments):
        return task.memory
    key_noise, key_episodes = jax.random.split(key)

    def seen() -> Moments:
        sample = population.sample(key_noise, Parameters(center[None]), 0, population.draws(num_episodes))
        return explore(exploration, key_episodes, sample, task.memory).seen

    return merge(task.memory, jax.jit(seen)())


def _line(row: dict[str, Any]) -> str:
    needed = "     drowned" if row["episodes_needed"] is None else f"{row['episodes_needed']:12,.0f}"
    return (
        f"{row['time']:5d} steps  deviation {row['action_std']:<5g} {row['estimator']:18s} noise {row['noise']:10.3g}  "
        f"cosine {row['cosine']:6.3f}  episodes for signal = noise {needed}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="point", help="a task that can be stepped on the device")
    parser.add_argument("--run", type=Path, help="a run folder whose center to start from")
    parser.add_argument("--episodes", type=int, default=256, help="of one estimate")
    parser.add_argument("--repetitions", type=int, default=40, help="estimates of each kind")
    parser.add_argument("--times", type=int, nargs="+", default=[5, 10, 20, 50, 100, 200], help="lengths of episodes")
    parser.add_argument("--action-std", type=float, nargs="+", default=[0, 0.1, 0.3, 1], help="deviations of actions")
    parser.add_argument("--sigma", type=float, help="of the population; default: the task's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
