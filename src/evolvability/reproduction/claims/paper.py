"""The paper's statements about what evolvability is worth: sections 5.2 to 5.4.

Those about MAML are in `maml_claims`.

Each is a function from runs of any kind to a `Claim`; it finds the runs it is about by their configurations. `CLAIMS`
names all of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from evolvability.reproduction.claims.claim import (
    Answer,
    Claim,
    claim,
    evolved_from,
    in_most,
    is_more,
    is_same,
    species,
    trained_by,
)
from evolvability.runs.folder import Run
from evolvability.studies.comparison import quantity, reach_of
from evolvability.studies.groups import METHOD_NAMES, RunGroup, by_seed
from evolvability.studies.measures import degenerate_share, valid_behaviors, yardstick
from evolvability.studies.statistics import SIGNIFICANT, above_zero, mann_whitney

EVOLVABILITY = ("max_variance", "max_entropy")
DISTANCE_SHARES = {
    ("cheetah", "max_variance"): 92.1,
    ("cheetah", "max_entropy"): 93.9,
    ("ant", "max_variance"): 85.4,
    ("ant", "max_entropy"): 83.2,
}
"""Mean distance as a percentage of that of standard ES."""
CLOSE = 0.1
"""What the paper gives as a share counts as met within 10 points."""
RADIUS, RADIUS_STEPS = 5.0, 1000
"""Offspring nearer to the start than this are degenerate, in episodes of so many steps."""
SECTORS = 36
SPECIES_RUNS = 6
"""Of each kind of mixture in the paper."""

VARIANTS = "P(a run of MaxVar-EES is above one of MaxEnt-EES)"
Array = np.ndarray[Any, Any]

# Sections 5.2 and 5.3: what training finds


def both_directions(runs: Sequence[Run], objective: str, task: str = "cheetah") -> Claim:
    """About half of all mutations move left, the others right."""

    def answer() -> Answer:
        shares = per_seed(trained_by(runs, task, objective), lambda behavior: float(np.mean(behavior[:, 0] > 0)))
        return in_most(shares, lambda share: abs(share - 0.5) <= CLOSE)

    statement = f"{METHOD_NAMES[objective]}: about half of all mutations move left, the others right ({task})"
    return claim(statement, "5.2", "about half", "share of offspring right of the start, median over runs", answer)


def standard_es_moves_further(runs: Sequence[Run], task: str, objective: str) -> Claim:
    """Standard ES moves further on average than Evolvability ES."""

    def answer() -> Answer:
        standard, own = trained_pair(runs, task, objective)
        return is_more(quantity(standard, "distance"), quantity(own, "distance"), bound=0.05)

    statement = f"standard ES moves further on average than {METHOD_NAMES[objective]} ({task})"
    return claim(statement, _section(task), "p < 0.05", f"P(standard ES is above {METHOD_NAMES[objective]})", answer)


def distance_share(runs: Sequence[Run], task: str, objective: str) -> Claim:
    """Evolvability ES moves nearly as far as standard ES."""
    paper = DISTANCE_SHARES[task, objective]

    def answer() -> Answer:
        standard, own = (quantity(group, "distance") for group in trained_pair(runs, task, objective))
        share = float(100 * np.mean(own) / np.mean(standard))
        sizes, off = (len(standard), len(own)), abs(share - paper)
        test = mann_whitney(standard, own)
        if test.p is None:
            return Answer(share, sizes, "not enough runs", None, test.reason)
        if off <= 100 * CLOSE:
            return Answer(share, sizes, "holds", test.p)
        reason = f"off by {off:.1f} points, more than {100 * CLOSE:.0f}"
        return Answer(share, sizes, "holds in part" if off <= 200 * CLOSE else "does not hold", test.p, reason)

    statement = f"{METHOD_NAMES[objective]} moves {paper} % as far on average as standard ES ({task})"
    return claim(statement, _section(task), f"{paper} %", "mean distance in % of that of standard ES", answer)


def standard_es_learns_faster(runs: Sequence[Run], task: str, objective: str) -> Claim:
    """Standard ES takes fewer generations to the same distance: half of what the nearer of both ends with."""

    def answer() -> Answer:
        pair = trained_pair(runs, task, objective)
        level = min(float(np.median(quantity(group, "distance"))) for group in pair) / 2
        times = [by_seed(group, [_time_to(level, run) for run in group.runs]) for group in pair]
        return is_more(times[1], times[0])

    statement = f"standard ES learns faster than {METHOD_NAMES[objective]} ({task})"
    figure = "figure S1" if task == "cheetah" else "figure S2"
    statistic = f"P({METHOD_NAMES[objective]} takes longer to half of the nearer one's final distance)"
    return claim(statement, figure, "faster", statistic, answer)


def variants_move_alike(runs: Sequence[Run], task: str) -> Claim:
    """MaxVar and MaxEnt do not differ in how far their populations move."""

    def answer() -> Answer:
        first, second = (quantity(trained_by(runs, task, objective), "distance") for objective in EVOLVABILITY)
        return is_same(first, second)

    statement = f"MaxVar-EES and MaxEnt-EES move equally far ({task})"
    return claim(statement, _section(task), "p > 0.1", VARIANTS, answer)


def variants_spread_alike(runs: Sequence[Run], task: str = "cheetah") -> Claim:
    """MaxVar and MaxEnt produce similar distributions of behavior."""

    def answer() -> Answer:
        first, second = (quantity(trained_by(runs, task, objective), "entropy") for objective in EVOLVABILITY)
        return is_same(first, second)

    statement = f"MaxVar-EES and MaxEnt-EES produce similar distributions, by their entropy ({task})"
    return claim(statement, "5.2", "similar", VARIANTS, answer)


def all_directions(runs: Sequence[Run], objective: str, task: str = "ant") -> Claim:
    """Nearly all directions of travel are reachable by mutation."""

    def answer() -> Answer:
        shares = per_seed(trained_by(runs, task, objective), share_of_directions)
        return in_most(shares, lambda share: share >= 1 - CLOSE)

    statement = f"{METHOD_NAMES[objective]}: nearly all directions are reachable by mutation ({task})"
    statistic = f"share of {SECTORS} directions with an offspring beyond half of the median distance, median over runs"
    return claim(statement, "5.3", "nearly all", statistic, answer)


def fewer_degenerate(runs: Sequence[Run], objective: str, task: str = "ant") -> Claim:
    """Of standard ES, more offspring end near the start."""

    def answer() -> Answer:
        pair = trained_pair(runs, task, objective)
        steps = getattr(pair[0].config.task_options, "num_steps", RADIUS_STEPS)
        radius = RADIUS * steps / RADIUS_STEPS  # in a shorter episode nobody gets that far
        shares = [per_seed(group, lambda behavior: degenerate_share(behavior, radius)) for group in pair]
        return is_more(shares[0], shares[1], bound=0.01)

    statement = (
        f"more offspring of standard ES than of {METHOD_NAMES[objective]} end within 5 units of the start ({task})"
    )
    return claim(statement, "5.3", "p < 0.01", f"P(standard ES has more than {METHOD_NAMES[objective]})", answer)


# Section 5.2.1, its first half: pick a mutation


def maxent_adapts_better(runs: Sequence[Run], task: str = "cheetah", goals: Sequence[str] = ("left", "right")) -> Claim:
    """The best of 40 mutations of MaxEnt gets further in the asked direction than that of MaxVar."""

    def answer() -> Answer:
        entropy, variance = (trained_by(runs, task, objective) for objective in ("max_entropy", "max_variance"))
        return is_more(adapted(entropy, goals), adapted(variance, goals), bound=0.05)

    statement = f"the best of 40 mutations gets further with MaxEnt-EES than with MaxVar-EES ({task})"
    return claim(
        statement,
        "5.2.1",
        "p < 0.05",
        "P(MaxEnt-EES is above MaxVar-EES), mean over directions and start states",
        answer,
    )


# Section 5.3.1: seed further evolution


def seeded_beats_random(
    runs: Sequence[Run], objective: str, generation: int, task: str = "ant", goal: str = "right"
) -> Claim:
    """Standard ES seeded by Evolvability ES gets further than from a random start."""

    def answer() -> Answer:
        groups = [evolved_from(runs, task, start, goal) for start in (objective, None)]
        reached = [quantity(group, "fitness_mean", generation=generation) for group in groups]
        return is_more(reached[0], reached[1], bound=0.0005)

    after = f"after {generation} generations ({task})"
    statement = f"seeded by {METHOD_NAMES[objective]}, standard ES gets further than from a random start {after}"
    return claim(statement, "5.3.1", "p < 0.0005", "P(a seeded run is above one from a random start)", answer)


def seeds_alike(runs: Sequence[Run], generation: int, task: str = "ant", goal: str = "right") -> Claim:
    """It makes no difference whether MaxVar or MaxEnt seeds further evolution."""

    def answer() -> Answer:
        groups = [evolved_from(runs, task, objective, goal) for objective in EVOLVABILITY]
        first, second = (quantity(group, "fitness_mean", generation=generation) for group in groups)
        return is_same(first, second)

    statement = f"MaxVar-EES and MaxEnt-EES seed further evolution equally well after {generation} generations ({task})"
    return claim(statement, "5.3.1", "p > 0.1", VARIANTS, answer)


# Section 5.4: species


def species_specialize(runs: Sequence[Run], objective: str, *, split: bool, task: str = "ant") -> Claim:
    """Components come to do different things, without pressure to."""

    def answer() -> Answer:
        shares = quantity(species(runs, task, objective, split=split), "specialization")
        test = above_zero(shares)
        median, number = float(np.median(shares)), (len(shares),)
        if test.p is None:
            return Answer(median, number, "not enough runs", None, test.reason)
        return Answer(median, number, "holds" if test.p < SIGNIFICANT else "does not hold", test.p)

    statement = f"{METHOD_NAMES[objective]}, {_how(split)}: the components specialize ({task})"
    statistic = "specialization (0: components do the same, 1: behavior tells the component), median over runs"
    return claim(statement, "5.4", "specialization emerges", statistic, answer)


def species_cover_no_more(runs: Sequence[Run], objective: str, *, split: bool, task: str = "ant") -> Claim:
    """Several species cover the space like one."""

    def answer() -> Answer:
        return _cover_alike(species(runs, task, objective, split=split), trained_by(runs, task, objective))

    statement = f"{METHOD_NAMES[objective]}, {_how(split)}: covers as much as a single component ({task})"
    return claim(statement, "5.4", "p > 0.1", "P(several components are above a single one)", answer)


def species_variants_alike(runs: Sequence[Run], objective: str, task: str = "ant") -> Claim:
    """Mixtures from scratch and split populations cover the space alike."""

    def answer() -> Answer:
        return _cover_alike(*(species(runs, task, objective, split=split) for split in (False, True)))

    statement = f"{METHOD_NAMES[objective]}: mixtures from scratch and split populations cover the space alike ({task})"
    figure = "figure 7" if objective == "max_entropy" else "figure S4"
    return claim(statement, figure, "similar", "P(a mixture from scratch is above a split population)", answer)


def _claims() -> dict[str, Callable[[Sequence[Run]], Claim]]:
    found: dict[str, Callable[[Sequence[Run]], Claim]] = {
        "variants-spread-alike": variants_spread_alike,
        "maxent-adapts-better": maxent_adapts_better,
    }
    for task in ("cheetah", "ant"):
        found[f"variants-move-alike/{task}"] = partial(variants_move_alike, task=task)
        for objective in EVOLVABILITY:
            both: dict[str, Any] = {"task": task, "objective": objective}
            found[f"standard-moves-further/{task}/{objective}"] = partial(standard_es_moves_further, **both)
            found[f"distance-share/{task}/{objective}"] = partial(distance_share, **both)
            found[f"standard-learns-faster/{task}/{objective}"] = partial(standard_es_learns_faster, **both)
    for generation in (5, 10, 20):
        found[f"seeds-alike/{generation}"] = partial(seeds_alike, generation=generation)
        for objective in EVOLVABILITY:
            beats = partial(seeded_beats_random, objective=objective, generation=generation)
            found[f"seeded-beats-random/{objective}/{generation}"] = beats
    for objective in EVOLVABILITY:
        found[f"both-directions/{objective}"] = partial(both_directions, objective=objective)
        found[f"all-directions/{objective}"] = partial(all_directions, objective=objective)
        found[f"fewer-degenerate/{objective}"] = partial(fewer_degenerate, objective=objective)
        found[f"species-variants-alike/{objective}"] = partial(species_variants_alike, objective=objective)
        for split, how in ((False, "mixture"), (True, "split")):
            which: dict[str, Any] = {"objective": objective, "split": split}
            found[f"species-specialize/{objective}/{how}"] = partial(species_specialize, **which)
            found[f"species-cover-no-more/{objective}/{how}"] = partial(species_cover_no_more, **which)
    return found


CLAIMS = _claims()
"""Every statement, by name: a function from runs to a `Claim`."""


def share_of_directions(behavior: Array) -> float:
    """The share of directions in which some behavior lies farther than half of the median distance."""
    distance = np.linalg.norm(behavior[:, :2], axis=1)
    far = behavior[distance > np.median(distance) / 2]
    sector = np.floor((np.arctan2(far[:, 1], far[:, 0]) / np.pi + 1) / 2 * SECTORS).astype(int) % SECTORS
    return len(np.unique(sector)) / SECTORS


def trained_pair(runs: Sequence[Run], task: str, objective: str) -> tuple[RunGroup, RunGroup]:
    """The runs of standard ES, and those of Evolvability ES."""
    return trained_by(runs, task, "mean_fitness"), trained_by(runs, task, objective)


def _cover_alike(first: RunGroup, second: RunGroup) -> Answer:
    by = yardstick(reach_of([first, second]))
    covered = [quantity(group, "coverage", by=by) for group in (first, second)]
    return is_same(covered[0], covered[1], enough=SPECIES_RUNS)


def adapted(group: RunGroup, goals: Sequence[str]) -> Array:
    """What the best of each seed's mutations reached, mean over goals."""
    return np.mean([quantity(group, f"adapted:{goal}") for goal in goals], axis=0)


def per_seed(group: RunGroup, statistic: Callable[[Array], float]) -> list[float]:
    """A statistic of the last recorded behaviors, one a seed."""
    values = [[statistic(valid_behaviors(run, seed)[0]) for seed in range(run.config.seeds)] for run in group.runs]
    return by_seed(group, values)


def _time_to(level: float, run: Run) -> list[float]:
    """The first generation at which each seed has come so far; one more than there are, where it never does."""
    distance = run.metrics["distance"]
    return [float(np.argmax(own >= level)) if (own >= level).any() else float(len(own)) for own in distance]


def _section(task: str) -> str:
    return "5.2" if task == "cheetah" else "5.3"


def _how(split: bool) -> str:
    return "split after training" if split else "mixture from scratch"
