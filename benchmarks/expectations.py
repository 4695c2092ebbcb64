"""What the paper expects and does not test: on toy worlds a minute or two per part on two CPU cores, and on a robot.

    python -m benchmarks.expectations resemblance --output resemblance.json
    python -m benchmarks.expectations auxiliary --output auxiliary.json
    python -m benchmarks.expectations actions --output actions.json

- resemblance (section 4.1): MaxEnt behaves more similarly to evolvability search than MaxVar does. The point, 12 seeds,
  256 evaluations per generation, 60 generations each. Of 500 fresh offspring of each last center: how far the number of
  distinct behaviors, which evolvability search climbs, is from the median of evolvability search's own centers; and how
  far the distances from the origin are from theirs (Wasserstein's distance to all of them together). It holds where
  MaxEnt is nearer by both, p < 0.05 after Holm's correction, signed ranks by seed.
- auxiliary (section 6): evolvability as an auxiliary objective catalyzes progress towards a goal, and novelty. The maze
  with a trap, 12 seeds, 128 members, 200 generations. Standard ES and NS-ES, each with and without half of MaxVar's or
  MaxEnt's objective. It holds where more seeds reach the goal (Fisher's exact test) or where they do so in fewer
  generations (Mann-Whitney, never counts as 200), p < 0.05 after Holm's correction over all tests of this part.
- actions (sections 6 and S5): a policy gradient learns evolvability on a robot. The cheetah with 64 units, 200 steps
  and start poses that differ by up to 0.1 rad, 12 seeds, 256 episodes per generation, 60 generations; ES, and the
  policy gradient with noise of 0.3 in actions. The variance of where 500 fresh mutations end that act without noise.
  It learns where the last center's is above that of a center after one update by ES, and faster where it is above that
  of ES, p < 0.05 after Holm's correction over the three tests, signed ranks by seed.
"""

import argparse
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import stats

from evolvability import Parameters, Task, evolve, make_task, normal
from evolvability.core.keys import Purpose, key_for
from evolvability.runs.picking import evaluator
from evolvability.studies.measures import num_distinct
from evolvability.studies.statistics import corrected, mann_whitney, paired
from evolvability.tasks.maze import REACHED
from examples.evolvability_search import TASKS, search

SEEDS, FRESH, THRESHOLD = 12, 500, 1.0
VARIANTS = ("max_variance", "max_entropy")
BASES = ("mean_fitness", "ns_es")
HELP = 0.5
ROBOT = {"task": "cheetah", "objective": "max_variance"}
ROBOT_OPTIONS = {"num_steps": 200, "hidden": 64, "start_noise": 0.1}
ESTIMATORS: dict[str, dict[str, Any]] = {"ES": {}, "policy gradient": {"estimator": "actions", "action_std": 0.3}}


def clouds(generations: int, task: str = "point", **settings: Any) -> list[Any]:
    """The behaviors of fresh offspring of every seed's last center."""
    run = evolve(task, population_size=256, generations=generations, seeds=SEEDS, progress=False, **settings)
    parents = run.parents()
    places = [(parent.key, parent.parameters.center, parent.memory) for parent in parents]
    return offspring(parents[0].task, parents[0].sigma, places)


def offspring(task: Task, sigma: Any, places: Iterable[tuple[Any, Any, Any]]) -> list[Any]:
    """The behaviors of fresh offspring of first centers, each with the key and the memory of its seed."""
    mutations, evaluate = normal(sigma, mirrored=False), evaluator(task)
    found = []
    for key, center, memory in places:
        sample = mutations.sample(key_for(Purpose.OFFSPRING, key), Parameters(center[:1]), 0, jnp.arange(FRESH))
        found.append(np.asarray(evaluate(key, sample, memory)[0].behavior))
    return found


def searched(generations: int) -> list[Any]:
    """The same of evolvability search's best parents."""
    task, sigma = make_task("point"), TASKS["point"]["sigma"]
    states = search(task, sigma=sigma, threshold=THRESHOLD, members=256, seeds=SEEDS)
    state = next(itertools.islice(states, generations, None))
    return offspring(task, sigma, zip(state.key, state.parameters.center, [task.memory] * SEEDS, strict=True))


def resemblance(generations: int = 60) -> dict[str, Any]:
    """How near MaxVar and MaxEnt come to evolvability search, by seed."""
    bred = searched(generations)
    count = float(np.median([num_distinct(cloud, THRESHOLD) for cloud in bred]))
    reach = np.linalg.norm(np.concatenate(bred), axis=1)
    rows: dict[str, Any] = {"evolvability_search": [num_distinct(cloud, THRESHOLD) for cloud in bred]}
    apart: dict[str, dict[str, list[float]]] = {}
    for objective in VARIANTS:
        own = clouds(generations, objective=objective)
        rows[objective] = [num_distinct(cloud, THRESHOLD) for cloud in own]
        apart[objective] = {
            "distinct": [abs(number - count) for number in rows[objective]],
            "distances": [float(stats.wasserstein_distance(np.linalg.norm(cloud, axis=1), reach)) for cloud in own],
        }
    p = [paired(apart["max_entropy"][name], apart["max_variance"][name]).wilcoxon for name in apart["max_entropy"]]
    medians = {one: {name: float(np.median(values)) for name, values in own.items()} for one, own in apart.items()}
    return {"distinct": rows, "apart": apart, "medians": medians, "p": p, "corrected": corrected(p, "holm")}


def reached_in(objective: str, generations: int) -> list[int]:
    """The first generation in which a member of each seed reaches the goal; as many as there are, where none does."""
    run = evolve("maze", objective=objective, generations=generations, seeds=SEEDS, progress=False)
    solved = run.metrics["fitness_max"] > -REACHED
    return [int(np.argmax(own)) if own.any() else generations for own in solved]


def auxiliary(generations: int = 200) -> dict[str, Any]:
    """When seeds reach the goal, without and with evolvability beside the objective."""
    names = [name for base in BASES for name in (base, *(f"{base}+{HELP}*{one}" for one in VARIANTS))]
    found = {name: reached_in(name, generations) for name in (*names, *VARIANTS)}
    tests, p = [], []
    for base in BASES:
        for one in VARIANTS:
            alone, helped = found[base], found[f"{base}+{HELP}*{one}"]
            solved = [sum(value < generations for value in values) for values in (helped, alone)]
            table = [[number, SEEDS - number] for number in solved]
            tests += [[f"{one} beside {base}", "seeds", solved], [f"{one} beside {base}", "generations", solved]]
            p += [float(stats.fisher_exact(table).pvalue), mann_whitney(alone, helped).p]
    rows = [[*test, one, own] for test, one, own in zip(tests, p, corrected(p, "holm"), strict=True)]
    return {"first generation at the goal": found, "tests": rows}


def actions(generations: int = 60) -> dict[str, Any]:
    """How far mutations of a robot spread before and after learning, by who is credited."""
    found: dict[str, list[float]] = {}
    plans = {"one update of ES": (1, {}), **{name: (generations, own) for name, own in ESTIMATORS.items()}}
    for name, (length, own) in plans.items():
        spread = clouds(length, **ROBOT, task_options=ROBOT_OPTIONS, **own)
        found[name] = [float(cloud.var(axis=0).sum()) for cloud in spread]
    first, es, gradient = found.values()
    tests = {"ES learns": (es, first), "policy gradient learns": (gradient, first), "faster than ES": (gradient, es)}
    p = [paired(*pair).wilcoxon for pair in tests.values()]
    medians = {name: float(np.median(values)) for name, values in found.items()}
    rows = [[name, one, own] for name, one, own in zip(tests, p, corrected(p, "holm"), strict=True)]
    return {"variance": found, "medians": medians, "tests": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"resemblance": resemblance, "auxiliary": auxiliary, "actions": actions}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--generations", type=int, help="fewer, to try it")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    sizes = {"generations": options.generations} if options.generations else {}
    found = parts[options.part](**sizes)
    text = json.dumps(found, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
