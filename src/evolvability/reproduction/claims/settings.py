"""The paper's statements that are no comparison of methods: figure 1, the shape of populations, sizes and costs.

Like those of `paper_claims`, each is a function from runs to a `Claim`.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from evolvability.reproduction.claims.claim import (
    Answer,
    Claim,
    Verdict,
    claim,
    evolved_from,
    in_most,
    is_more,
    trained_by,
)
from evolvability.reproduction.claims.paper import CLOSE, EVOLVABILITY, Array, per_seed, trained_pair
from evolvability.runs.folder import Run
from evolvability.studies.comparison import quantity
from evolvability.studies.groups import METHOD_NAMES, by_seed

PARAMETERS = {"cheetah": 74_246, "ant": 75_272}
MOST_EVOLVABLE = 5 * np.pi / 2
NEARLY = 0.8
"""As a share of standard ES's distance: nearly as far."""
SIDES: tuple[Verdict, ...] = ("does not hold", "holds in part", "holds")
"""By how many sides get there."""


def finds_the_most_evolvable(runs: Sequence[Run], objective: str) -> Claim:
    """Centers come to the point whose behavior is most sensitive to mutation."""

    def answer() -> Answer:
        group = trained_by(runs, "interference", objective)
        courses = [run.metrics["center"] for run in group.runs]  # (num_seeds, num_generations, 1)
        left = [np.abs(own[:, -1, 0] - MOST_EVOLVABLE) / np.abs(own[:, 0, 0] - MOST_EVOLVABLE) for own in courses]
        return in_most(by_seed(group, [own.tolist() for own in left]), lambda share: share <= CLOSE)

    statement = f"{METHOD_NAMES[objective]} converges to the most evolvable parameter, x = 5 pi / 2 (interference)"
    return claim(statement, "5.1", "converges", "share of the way from x = 1 that is left, median over runs", answer)


def runs_far_both_ways(runs: Sequence[Run], objective: str, task: str = "cheetah") -> Claim:
    """Mutations go nearly as far backwards and forwards as standard ES goes forwards alone."""

    def answer() -> Answer:
        standard, own = trained_pair(runs, task, objective)
        forwards = float(np.median(per_seed(standard, lambda behavior: float(np.median(behavior[:, 0])))))
        sides = [
            per_seed(own, lambda behavior: _reached(-behavior[:, 0])),
            per_seed(own, lambda behavior: _reached(behavior[:, 0])),
        ]
        left, right = (float(np.median(side)) / forwards for side in sides)
        verdict = SIDES[(left >= NEARLY) + (right >= NEARLY)]
        reason = f"{100 * left:.0f} % to the left, {100 * right:.0f} % to the right"
        return Answer(100 * min(left, right), (len(sides[0]),), verdict, reason=reason)

    statement = f"{METHOD_NAMES[objective]} goes nearly as far backwards and forwards as standard ES forwards ({task})"
    statistic = f"median distance of the weaker side in % of standard ES's; nearly: {100 * NEARLY:.0f} %"
    return claim(statement, "figure 2", "nearly as far", statistic, answer)


def goes_roughly_as_far(runs: Sequence[Run], objective: str, task: str = "ant") -> Claim:
    """Mutations go, in whatever direction, roughly as far as standard ES goes in one."""

    def answer() -> Answer:
        standard, own = (per_seed(group, _median_distance) for group in trained_pair(runs, task, objective))
        forwards = float(np.median(standard))
        return in_most([distance / forwards for distance in own], lambda share: share >= NEARLY)

    statement = f"{METHOD_NAMES[objective]} goes roughly as far as standard ES in one direction alone ({task})"
    statistic = f"median distance in that of standard ES, median over runs; roughly: {NEARLY:g}"
    return claim(statement, "figure 4", "roughly as far", statistic, answer)


def ring_is_hollow(runs: Sequence[Run], objective: str, task: str = "ant") -> Claim:
    """Few behaviors lie in the interior of the ring."""

    def answer() -> Answer:
        return in_most(per_seed(trained_by(runs, task, objective), share_inside), lambda share: share <= CLOSE)

    statement = f"{METHOD_NAMES[objective]}: few behaviors lie in the interior of the ring ({task})"
    statistic = "share of offspring nearer to the start than half of the median distance, median over runs"
    return claim(statement, "5.3", "few", statistic, answer)


def converges_to_the_goal(runs: Sequence[Run], objective: str, task: str = "ant", goal: str = "right") -> Claim:
    """Standard ES turns a trained population to the new goal."""

    def answer() -> Answer:
        group = evolved_from(runs, task, objective, goal)
        after, before = (quantity(group, "fitness_mean", generation=generation) for generation in (20, 0))
        return is_more(after, before)

    statement = f"a population of {METHOD_NAMES[objective]} converges to a new goal within 20 generations ({task})"
    return claim(statement, "5.3.1", "converges", "P(fitness after 20 generations is above that before)", answer)


def as_many_evaluations(runs: Sequence[Run], objective: str, task: str) -> Claim:
    """Evolvability ES needs no more evaluations a generation than standard ES."""

    def answer() -> Answer:
        spent = [quantity(group, "evaluations", generation=0) for group in trained_pair(runs, task, objective)]
        ratio = float(np.mean(spent[1]) / np.mean(spent[0]))
        return Answer(ratio, (len(spent[0]), len(spent[1])), "holds" if ratio <= 1 else "does not hold")

    statement = f"{METHOD_NAMES[objective]} takes no more evaluations than standard ES ({task})"
    return claim(statement, "1 and 4", "no overhead", "evaluations a generation, in those of standard ES", answer)


def as_many_parameters(runs: Sequence[Run], task: str) -> Claim:
    """The networks have the paper's number of parameters."""

    def answer() -> Answer:
        group = trained_by(runs, task, "max_entropy")
        number = group.runs[0].center.shape[-1]
        num_runs = sum(run.config.seeds for run in group.runs)
        return Answer(number, (num_runs,), "holds" if number == PARAMETERS[task] else "does not hold")

    statement = f"the network has {PARAMETERS[task]:,} parameters ({task})"
    section = "5.2" if task == "cheetah" else "5.3"
    return claim(statement, section, f"{PARAMETERS[task]:,}", "parameters of a center", answer)


def share_inside(behavior: Array) -> float:
    """The share of behaviors nearer to the origin than half of the median distance."""
    distance = np.linalg.norm(behavior, axis=1)
    return float(np.mean(distance < np.median(distance) / 2))


def _median_distance(behavior: Array) -> float:
    return float(np.median(np.linalg.norm(behavior, axis=1)))


def _reached(along: Array) -> float:
    """The median of those that go this way; zero if nobody does."""
    return float(np.median(along[along > 0])) if np.any(along > 0) else 0.0


def _claims() -> dict[str, Callable[[Sequence[Run]], Claim]]:
    found: dict[str, Callable[[Sequence[Run]], Claim]] = {}
    for objective in EVOLVABILITY:
        found[f"finds-the-most-evolvable/{objective}"] = partial(finds_the_most_evolvable, objective=objective)
        found[f"runs-far-both-ways/{objective}"] = partial(runs_far_both_ways, objective=objective)
        found[f"goes-roughly-as-far/{objective}"] = partial(goes_roughly_as_far, objective=objective)
        found[f"ring-is-hollow/{objective}"] = partial(ring_is_hollow, objective=objective)
        found[f"converges-to-the-goal/{objective}"] = partial(converges_to_the_goal, objective=objective)
        for task in PARAMETERS:
            more = partial(as_many_evaluations, objective=objective, task=task)
            found[f"as-many-evaluations/{task}/{objective}"] = more
    return found | {f"as-many-parameters/{task}": partial(as_many_parameters, task=task) for task in PARAMETERS}


SETTING_CLAIMS = _claims()
"""Every statement, by name: a function from runs to a `Claim`."""
