"""The paper's statements about what trained populations are good for: sections 5.2.1, 5.3.1 and 5.4."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from evolvability import Run, RunFolderError
from evolvability.methods.registry import MAML
from evolvability.studies.adaptation import load_adaptation
from evolvability.studies.comparison import p_text, quantity, reach_of
from evolvability.studies.groups import RunGroup, by_seed
from evolvability.studies.measures import measure_scale, valid_behaviors
from evolvability.studies.offspring import kept_offspring
from evolvability.studies.races import load_race
from evolvability.studies.statistics import SIGNIFICANT
from evolvability_paper.claims.claim import (
    EVOLVABILITY,
    Answer,
    Seeded,
    compared,
    evolved_from,
    in_most,
    is_more,
    is_same,
    numbers,
    species,
    statement,
    trained_by,
)
from evolvability_paper.claims.training import VARIANTS, WALKS, length_of, walk

GOALS = ("left", "right")
QUARTER = 0.25  # the smaller mutations of MAML's policies have this share of the standard deviation of training
FAR = 0.5  # of the farthest right that mutations of training's size come: who comes that far walks far right
SPECIALIZED = 0.5  # behavior tells half of which component it is of
SPECIES_RUNS = 6  # runs per kind of mixture in the paper

Array = np.ndarray[Any, Any]
Runs = Sequence[Run]

# Section 5.2.1: pick a mutation, and MAML


# The paper evaluates picks "with different random seeds", so start states that differ decide; what is reached from the
# start state of training stands beside. With which actions MAML is evaluated it does not say: both are judged.


@statement("adaptation", "5.2.1", "p < 0.05", "P(MaxEnt-EES is above MaxVar-EES), mean over directions")
def maxent_adapts_better(runs: Runs) -> Answer:
    """The best of 40 mutations gets further with MaxEnt-EES than with MaxVar-EES (cheetah)."""
    return _from_other_starts(
        is_more, lambda start: [_best_mutation(runs, objective, start) for objective in reversed(EVOLVABILITY)]
    )


@statement("maml", "5.2.1", "p < 0.005", "P(MaxEnt-EES is above MAML with {acts}), mean over directions")
def maxent_adapts_better_than_maml(runs: Runs, actions: str) -> Answer:
    """The best of 40 mutations of MaxEnt-EES walks further than MAML after adaptation (cheetah)."""
    return _from_other_starts(
        partial(is_more, bound=0.005),
        lambda start: [_best_mutation(runs, "max_entropy", start), _after_one_step(runs, actions, start)],
    )


@statement(
    "maml", "5.2.1", "p > 0.1", "P(MaxVar-EES is above MAML with {acts}), mean over directions", kind="no difference"
)
def maxvar_adapts_like_maml(runs: Runs, actions: str) -> Answer:
    """The best of 40 mutations of MaxVar-EES and MAML after adaptation walk alike (cheetah)."""
    return _from_other_starts(
        is_same, lambda start: [_best_mutation(runs, "max_variance", start), _after_one_step(runs, actions, start)]
    )


def _from_other_starts(compare: Callable[[Seeded, Seeded], Answer], pair: Callable[[str], list[Seeded]]) -> Answer:
    """A comparison of what is reached from start states that differ, and beside it from that of training."""
    found = compare(*pair("varied"))
    try:
        fixed = compared(*pair("fixed"))
    except RunFolderError:  # an older race has none
        return found
    p = "" if fixed.p is None else f", p = {p_text(fixed.p)}"
    medians = " and ".join(f"{median:.3g}" for median in fixed.medians)
    return found._replace(beside=f"from the start state of training: {fixed.value:.3g}{p}, medians {medians}")


@statement("maml", "{where}", "{printed}", "P({method} is above MAML)")
def offspring_distance(runs: Runs, objective: str, size: str) -> Answer:
    """Mutations of {method} have a larger mean distance than those of MAML, of {smaller} (cheetah)."""
    return _offspring_have_more(runs, objective, size, lambda cloud: np.mean(np.linalg.norm(cloud, axis=1)))


@statement("maml", "{where}", "{printed}", "P({method} is above MAML), by the {spread}")
def offspring_spread(runs: Runs, objective: str, size: str, reading: str) -> Answer:
    """Mutations of {method} have a larger variance of distance than those of MAML, of {smaller} (cheetah)."""
    spreads: dict[str, Callable[[Array], Any]] = {
        "words": lambda cloud: np.var(np.linalg.norm(cloud, axis=1)),
        "figure": lambda cloud: np.var(cloud[:, 0]),
    }
    return _offspring_have_more(runs, objective, size, spreads[reading])


@statement(
    "maml",
    "figure S5",
    "eliminated",
    "how far right a quarter of sigma comes, relative to sigma, the farthest of each, median over runs",
    ours="eliminated: not even half as far, in most runs",
)
def small_mutations_lose_far_right(runs: Runs) -> Answer:
    """Mutations of a quarter of sigma of MAML's policies walk far right no longer (cheetah)."""
    group = trained_by(runs, "cheetah", MAML)
    whole, small = (_of_offspring(group, share, lambda cloud: np.max(cloud[:, 0])) for share in (1.0, QUARTER))
    both = compared(whole, small)
    # Where nobody walks right there is nothing to be lost.
    shares = [small[seed] / far if far > 0 else 1.0 for seed, far in whole.items()]
    return in_most(shares, lambda share: share < FAR)._replace(medians=both.medians, pairs=both.pairs)


def _best_mutation(runs: Runs, objective: str, start: str) -> Seeded:
    """By seed what the best of its mutations reached, mean over goals."""

    def reached(run: Run, goal: str) -> Array:
        found = load_adaptation(run, goal)
        # PickedMutation by its score, which is of one episode from the start state of training.
        return found.performance if start == "varied" else np.nanmax(found.scores, axis=1)

    return _mean_over_goals(trained_by(runs, "cheetah", objective), reached)


def _after_one_step(runs: Runs, actions: str, start: str) -> Seeded:
    """By seed what MAML reached after one gradient step, as it was trained for; mean over goals."""

    def reached(run: Run, goal: str) -> Array:
        # The point 0 is before any episode, the point 1 after the first step.
        return load_race(run, goal, "gradient").reached(actions, start)[:, 1]

    return _mean_over_goals(trained_by(runs, "cheetah", MAML), reached)


def _mean_over_goals(group: RunGroup, reached: Callable[[Run, str], Array]) -> Seeded:
    means = [np.mean([reached(run, goal) for goal in GOALS], axis=0).tolist() for run in group.runs]
    return by_seed(group, means)


def _offspring_have_more(runs: Runs, objective: str, size: str, statistic: Callable[[Array], Any]) -> Answer:
    own, baseline = trained_by(runs, "cheetah", objective), trained_by(runs, "cheetah", MAML)
    # For smaller mutations the paper gives no p-value.
    share, bound = (1.0, 0.00005) if size == "sigma" else (QUARTER, SIGNIFICANT)
    # Mutations of MAML alone are made smaller, as in figure S5.
    return is_more(_of_offspring(own, 1.0, statistic), _of_offspring(baseline, share, statistic), bound=bound)


def _of_offspring(group: RunGroup, share: float, statistic: Callable[[Array], Any]) -> Seeded:
    """A statistic of kept offspring by seed, for mutations of a share of training's standard deviation."""
    clouds = [kept_offspring(run, share * run.config.population_options.sigma) for run in group.runs]
    return by_seed(group, [[float(statistic(cloud)) for cloud in own] for own in clouds])


# Section 5.3.1: seed further evolution


@statement("evolution", "5.3.1", "converges", "P(fitness after 20 generations is above that before)", ours="p < 0.05")
def converges_to_the_goal(runs: Runs, objective: str) -> Answer:
    """A population of {method} converges to a new goal within 20 generations (ant)."""
    group = evolved_from(runs, "ant", objective)
    return is_more(*(quantity(group, "fitness_mean", generation=generation) for generation in (20, 0)))


@statement("evolution", "5.3.1", "p < 0.0005", "P(a seeded run is above one from a random start)")
def seeded_beats_random(runs: Runs, objective: str, generation: int) -> Answer:
    """Seeded by {method}, standard ES gets further than from a random start after {generation} generations (ant)."""
    groups = [evolved_from(runs, "ant", start) for start in (objective, None)]
    return is_more(*(quantity(group, "fitness_mean", generation=generation) for group in groups), bound=0.0005)


@statement("evolution", "5.3.1", "p > 0.1", VARIANTS, kind="no difference")
def seeds_alike(runs: Runs, generation: int) -> Answer:
    """MaxVar-EES and MaxEnt-EES seed further evolution equally well after {generation} generations (ant)."""
    groups = [evolved_from(runs, "ant", objective) for objective in EVOLVABILITY]
    return is_same(*(quantity(group, "fitness_mean", generation=generation) for group in groups))


# Section 5.4: species


@statement(
    "mixtures",
    "5.4",
    "specialization emerges",
    "specialization (0: components do the same, 1: behavior tells the component), median over runs",
    ours=f"one half or more in most runs; none where a component does not walk, {WALKS:g} m on average",
)
def species_specialize(runs: Runs, objective: str, origin: str) -> Answer:
    """{method}, {how}: the components specialize (ant)."""
    group = species(runs, "ant", objective, split=origin == "split")
    shares, least = quantity(group, "specialization"), WALKS * length_of(group)
    walking = by_seed(group, [[float(own) for own in _walking(run, least)] for run in group.runs])
    # One that stays at the start and one that walks do different things, but have not shared the directions.
    found = in_most([share * walking[seed] for seed, share in shares.items()], lambda share: share >= SPECIALIZED)
    still = sum(own == 0 for own in walking.values())
    beside = f"a component does not walk in {still} of them; with those {np.median(numbers(shares)):.3g}"
    return found._replace(beside=beside if still else "")


def _walking(run: Run, least: float) -> list[bool]:
    """By seed, whether all of its components walk."""
    clouds = [valid_behaviors(run, seed, None) for seed in range(run.config.seeds)]
    components = range(run.config.population_options.components)
    return [all(walk(cloud[which == one], least) for one in components) for cloud, which in clouds]


@statement("mixtures", "5.4", "p > 0.1", "P(several components are above a single one)", kind="no difference")
def species_cover_no_more(runs: Runs, objective: str, origin: str) -> Answer:
    """{method}, {how}: covers as much as a single component (ant)."""
    return _cover_alike(species(runs, "ant", objective, split=origin == "split"), trained_by(runs, "ant", objective))


@statement(
    "mixtures",
    "{species}",
    "similar",
    "P(a mixture from scratch is above a split population)",
    ours="p > 0.1",
    kind="no difference",
)
def species_variants_alike(runs: Runs, objective: str) -> Answer:
    """{method}: mixtures from scratch and split populations cover the space alike (ant)."""
    return _cover_alike(*(species(runs, "ant", objective, split=split) for split in (False, True)))


def _cover_alike(first: RunGroup, second: RunGroup) -> Answer:
    # Cells reach as far as both groups do: each by its own reach would be compared by different cells.
    by = measure_scale(reach_of([first, second]))
    covered = [quantity(group, "coverage", by=by) for group in (first, second)]
    # Six against six, as in the paper: of a single component there are twelve.
    common = covered[0].keys() & covered[1].keys()
    seeds = sorted(common)[:SPECIES_RUNS] if common else []
    pair = [{seed: own[seed] for seed in seeds} or own for own in covered]
    return is_same(pair[0], pair[1], enough=SPECIES_RUNS)
