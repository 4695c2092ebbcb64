"""The paper's statements about MAML (section 5.2.1), like those of `paper_claims`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from evolvability.config.schema import MAML
from evolvability.reproduction.claims.claim import Answer, Claim, claim, is_more, is_same, trained_by
from evolvability.reproduction.claims.paper import EVOLVABILITY, Array, adapted
from evolvability.runs.folder import Run
from evolvability.studies.groups import METHOD_NAMES, RunGroup, by_seed
from evolvability.studies.offspring import kept_offspring
from evolvability.studies.races import load_race
from evolvability.studies.statistics import SIGNIFICANT

GOALS = ("left", "right")
QUARTER = 0.25
"""The smaller mutations of MAML's policies have this share of the standard deviation of training."""


def adapts_better(runs: Sequence[Run], task: str = "cheetah") -> Claim:
    """The best of 40 mutations of MaxEnt walks further in the asked direction than MAML after its gradient step."""

    def answer() -> Answer:
        own, rival = trained_by(runs, task, "max_entropy"), trained_by(runs, task, MAML)
        return is_more(adapted(own, GOALS), _after_one_step(rival), bound=0.005)

    statement = f"the best of 40 mutations of MaxEnt-EES walks further than MAML after adaptation ({task})"
    return claim(
        statement, "5.2.1", "p < 0.005", "P(MaxEnt-EES is above MAML), mean over directions and start states", answer
    )


def adapts_alike(runs: Sequence[Run], task: str = "cheetah") -> Claim:
    """The best of 40 mutations of MaxVar and MAML after its gradient step walk alike."""

    def answer() -> Answer:
        own, rival = trained_by(runs, task, "max_variance"), trained_by(runs, task, MAML)
        return is_same(adapted(own, GOALS), _after_one_step(rival))

    statement = f"the best of 40 mutations of MaxVar-EES and MAML after adaptation walk alike ({task})"
    return claim(
        statement, "5.2.1", "p > 0.1", "P(MaxVar-EES is above MAML), mean over directions and start states", answer
    )


def offspring_have_more(
    runs: Sequence[Run], objective: str, what: str, *, share: float = 1.0, task: str = "cheetah"
) -> Claim:
    """Mutations of Evolvability ES go further, or spread more, than mutations of MAML's policies.

    Args:
        runs: runs of any kind, whose offspring are kept.
        objective: of Evolvability ES.
        what: ``distance`` from the origin, its mean; or ``spread``, its variance.
        share: of MAML's mutations, the standard deviation relative to that of training.
        task: the task.
    """

    def answer() -> Answer:
        own, rival = trained_by(runs, task, objective), trained_by(runs, task, MAML)
        bound = 0.00005 if share == 1 else SIGNIFICANT  # of smaller mutations the paper gives no p-value
        return is_more(_of_offspring(own, what, 1.0), _of_offspring(rival, what, share), bound=bound)

    name, smaller = METHOD_NAMES[objective], f" of {share:g} sigma" if share != 1 else ""
    measure = "mean distance" if what == "distance" else "variance of distance"
    statement = f"mutations of {name} have a larger {measure} from the origin than those of MAML{smaller} ({task})"
    section, paper = ("5.2.1", "p < 0.00005") if share == 1 else ("figure S5", "similar results")
    return claim(statement, section, paper, f"P({name} is above MAML)", answer)


def small_mutations_lose_far_right(runs: Sequence[Run], task: str = "cheetah") -> Claim:
    """Smaller mutations of MAML's policies do not walk as far to the right."""

    def answer() -> Answer:
        group = trained_by(runs, task, MAML)
        whole, quarter = (_of_offspring(group, "farthest right", share) for share in (1.0, QUARTER))
        return is_more(whole, quarter)

    statement = f"no mutation of a quarter of sigma of MAML's policies walks as far right as one of sigma ({task})"
    return claim(
        statement, "figure S5", "eliminated", "P(the farthest right of sigma is above that of a quarter)", answer
    )


def _claims() -> dict[str, Callable[[Sequence[Run]], Claim]]:
    found: dict[str, Callable[[Sequence[Run]], Claim]] = {
        "maxent-adapts-better-than-maml": adapts_better,
        "maxvar-adapts-like-maml": adapts_alike,
        "small-mutations-lose-far-right": small_mutations_lose_far_right,
    }
    for objective in EVOLVABILITY:
        for what in ("distance", "spread"):
            for share, size in ((1.0, "sigma"), (QUARTER, "quarter")):
                one = partial(offspring_have_more, objective=objective, what=what, share=share)
                found[f"offspring-{what}/{objective}/{size}"] = one
    return found


MAML_CLAIMS = _claims()
"""Every statement, by name: a function from runs to a `Claim`."""


def _after_one_step(group: RunGroup) -> Array:
    """What each seed reached after one gradient step, as it was trained for, mean over directions."""
    reached = [[load_race(run, goal, "gradient").performance[:, 1] for run in group.runs] for goal in GOALS]
    return np.mean([by_seed(group, [own.tolist() for own in several]) for several in reached], axis=0)


def _of_offspring(group: RunGroup, what: str, share: float) -> list[float]:
    statistics: dict[str, Callable[[Array], Any]] = {
        "distance": lambda cloud: np.mean(np.linalg.norm(cloud, axis=1)),
        "spread": lambda cloud: np.var(np.linalg.norm(cloud, axis=1)),
        "farthest right": lambda cloud: np.max(cloud[:, 0]),
    }
    values = []
    for run in group.runs:
        clouds = kept_offspring(run, share * run.config.sigma)
        values.append([float(statistics[what](cloud)) for cloud in clouds])
    return by_seed(group, values)
