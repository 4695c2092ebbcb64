"""The paper's statements about what training finds: sections 5.1 to 5.3, figures 1, 2, 4, S1 and S2."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from evolvability import Run
from evolvability.core.entropy import entropy
from evolvability.studies.comparison import quantity
from evolvability.studies.groups import RunGroup, by_seed, of_common_seeds
from evolvability.studies.measures import degenerate_share, median_one_way, whole_populations
from evolvability.studies.statistics import SIGNIFICANT, above_zero, ratio_interval
from evolvability_paper.claims.claim import (
    EVOLVABILITY,
    WORDS,
    Answer,
    Seeded,
    Verdict,
    compared,
    in_most,
    is_more,
    is_same,
    judged_by,
    numbers,
    statement,
    trained_by,
    trained_pair,
)

MOST_EVOLVABLE = 5 * np.pi / 2
CLOSE = 0.1  # what the paper gives as a share counts as met within 10 points
NEARLY = 0.8  # as a share of standard ES's distance: nearly as far
UNIFORM = 1 / 8  # of a uniform disc: the share within half of the median distance
LAST = 20  # generations
FEWEST = 5  # seeds, of which a bootstrap tells something
RADIUS, WALKS = 5.0, 6.0  # offspring nearer to the start are degenerate; ants that go farther on average walk
WHOLE_STEPS = 1000  # of the episodes these are for; in a shorter one nobody gets that far
SECTORS = 36
VARIANTS = "P(a run of MaxVar-EES is above one of MaxEnt-EES)"

Array = np.ndarray[Any, Any]
Runs = Sequence[Run]


@statement(
    "figure1", "5.1", "converges", "share of the way from x = 1 that is left, median over runs", ours="a tenth is left"
)
def finds_the_most_evolvable(runs: Runs, objective: str) -> Answer:
    """{method} converges to the most evolvable parameter, x = 5 pi / 2 (interference)."""
    group = trained_by(runs, "interference", objective)
    centers = [run.metrics["center"] for run in group.runs]  # (num_seeds, num_generations, 1)
    left = [np.abs(own[:, -1, 0] - MOST_EVOLVABLE) / np.abs(own[:, 0, 0] - MOST_EVOLVABLE) for own in centers]
    return in_most(by_seed(group, [own.tolist() for own in left]), lambda share: share <= CLOSE)


@statement(
    "cheetah", "5.2", "about half", "share of offspring right of the start, median over runs", ours="within 10 points"
)
def both_directions(runs: Runs, objective: str) -> Answer:
    """{method}: about half of all mutations move left, the others right (cheetah)."""
    shares = per_seed(trained_by(runs, "cheetah", objective), lambda behavior: float(np.mean(behavior[:, 0] > 0)))
    return in_most(shares, lambda share: abs(share - 0.5) <= CLOSE)


@statement(
    "cheetah",
    "figure 2",
    "nearly as far",
    "median distance of the weaker side in % of standard ES's",
    ours=f"nearly: {100 * NEARLY:.0f} % on both sides, in part on one",
)
def runs_far_both_ways(runs: Runs, objective: str) -> Answer:
    """{method} goes nearly as far backwards and forwards as standard ES forwards (cheetah)."""
    standard, own = trained_pair(runs, "cheetah", objective)
    forwards = _median(per_seed(standard, lambda behavior: float(np.median(behavior[:, 0]))))
    sides = [
        per_seed(own, lambda behavior: median_one_way(-behavior[:, 0])),
        per_seed(own, lambda behavior: median_one_way(behavior[:, 0])),
    ]
    left, right = (_median(side) / forwards for side in sides)
    verdicts: tuple[Verdict, ...] = ("refuted", "holds in part", "holds")  # by how many sides get there
    reason = f"{100 * left:.0f} % to the left, {100 * right:.0f} % to the right"
    verdict = verdicts[(left >= NEARLY) + (right >= NEARLY)]
    return Answer(100 * min(left, right), (len(sides[0]),), verdict, reason=reason)


@statement(
    "cheetah",
    "5.2",
    "similar",
    VARIANTS,
    ours="p > 0.1, and that the entropy of behaviors tells",
    kind="no difference",
)
def variants_spread_alike(runs: Runs) -> Answer:
    """MaxVar-EES and MaxEnt-EES produce similar distributions, by their entropy (cheetah)."""
    # Of recorded behaviors: older runs have another estimate in their metrics.
    return is_same(*(per_seed(trained_by(runs, "cheetah", objective), entropy) for objective in EVOLVABILITY))


@statement("{task}", "{section}", "p > 0.1", VARIANTS, kind="no difference")
def variants_move_alike(runs: Runs, task: str) -> Answer:
    """MaxVar-EES and MaxEnt-EES move equally far ({task})."""
    return _by_distance(is_same, [trained_by(runs, task, objective) for objective in EVOLVABILITY])


@statement("{task}", "{section}", "p < 0.05", "P(standard ES is above {method})")
def standard_moves_further(runs: Runs, task: str, objective: str) -> Answer:
    """Standard ES moves further on average than {method} ({task})."""
    return _by_distance(is_more, trained_pair(runs, task, objective))


def _by_distance(compare: Callable[[Seeded, Seeded], Answer], pair: Sequence[RunGroup]) -> Answer:
    """A comparison of final distances, and beside it one of means over the last generations, since they zigzag."""
    last, later = (compare(*(distance(group) for group in pair)) for distance in (_final_distance, _late_distance))
    p = "" if later.p is None else f", p = {later.p:.2g}"
    return last._replace(beside=f"over the last {LAST} generations: {later.value:.3g}{p}")


def _final_distance(group: RunGroup) -> Seeded:
    return quantity(group, "distance")


def _late_distance(group: RunGroup) -> Seeded:
    """By seed the mean over the last generations."""
    return by_seed(group, [run.metrics["distance"][:, -LAST:].mean(axis=1).tolist() for run in group.runs])


@statement(
    "{task}",
    "{section}",
    "{share} %",
    "mean distance in % of that of standard ES",
    ours=f"within {100 * CLOSE:.0f} points, in part {200 * CLOSE:.0f}; open where the interval has the paper's share "
    f"and others more than {200 * CLOSE:.0f} points from it",
)
def distance_share(runs: Runs, task: str, objective: str) -> Answer:
    """{method} moves {share} % as far on average as standard ES ({task})."""
    pair = trained_pair(runs, task, objective)
    (standard, own), late = ([distance(group) for group in pair] for distance in (_final_distance, _late_distance))
    share, later = (100 * _mean(second) / _mean(first) for first, second in ((standard, own), late))
    beside = f"over the last {LAST} generations: {later:.1f} %"
    pairs, papers = of_common_seeds(own, standard), float(WORDS[task, objective]["share"])
    low = high = share
    if len(pairs[0]) >= FEWEST:
        low, high = (100 * end for end in ratio_interval(*pairs))
        beside = f"95 % interval {low:.0f} to {high:.0f} %, a bootstrap over pairs of seeds; {beside}"
    # The share decides, not the test, which stands beside.
    found = compared(standard, own)._replace(value=share, medians=(), beside=beside)
    if found.p is None:
        return found
    if low <= papers <= high and max(papers - low, high - papers) > 200 * CLOSE:
        return found._replace(reason="the interval has the paper's share, and others far from it")
    off = abs(share - papers)
    if off <= 100 * CLOSE:
        return found._replace(verdict="holds")
    return found._replace(
        verdict="holds in part" if off <= 200 * CLOSE else "refuted", reason=f"off by {off:.1f} points"
    )


@statement(
    "{task}", "{curves}", "faster", "P({method} takes longer to {half})", ours="p < 0.05, and how far is learned"
)
def standard_learns_faster(runs: Runs, task: str, objective: str, level: str) -> Answer:
    """Standard ES learns faster than {method} ({task})."""
    pair = trained_pair(runs, task, objective)
    ends = [_median(_final_distance(group)) for group in pair]
    # Of its own distance, standard ES is asked for more, since it goes further.
    levels = [min(ends)] * 2 if level == "same" else ends
    standard, own = (
        by_seed(group, [_generations_to(end / 2, run) for run in group.runs])
        for group, end in zip(pair, levels, strict=True)
    )
    return is_more(own, standard)


@statement(
    "{task}",
    "1 and 4",
    "no overhead",
    "evaluations per generation, relative to those of standard ES",
    kind="by construction",
)
def as_many_evaluations(runs: Runs, task: str, objective: str) -> Answer:
    """{method} takes no more evaluations than standard ES ({task})."""
    pair = trained_pair(runs, task, objective)
    # The metric counts from the start of a run: at generation 0 it is that of one generation.
    standard, own = (quantity(group, "evaluations", generation=0) for group in pair)
    ratio = _mean(own) / _mean(standard)
    return Answer(ratio, (len(standard), len(own)), "holds" if ratio <= 1 else "refuted")


@statement("{task}", "{section}", "{parameters}", "parameters of the network", kind="by construction")
def as_many_parameters(runs: Runs, task: str) -> Answer:
    """The network has {parameters} parameters ({task})."""
    group = trained_by(runs, task, "max_entropy")
    shape = jax.eval_shape(group.runs[0].task.init, jax.random.key(0))  # all methods have the same network
    number = math.prod(shape.shape)
    num_runs = sum(run.config.seeds for run in group.runs)
    return Answer(number, (num_runs,), "holds" if f"{number:,}" == WORDS[task]["parameters"] else "refuted")


@statement(
    "ant",
    "5.3",
    "nearly all",
    f"share of {SECTORS} directions with an offspring beyond half of the median distance, median over runs",
    ours=f"nine tenths of the directions, in most runs; none where ants do not walk, {WALKS:g} m on average",
)
def all_directions(runs: Runs, objective: str) -> Answer:
    """{method}: nearly all directions are reachable by mutation (ant)."""
    group = trained_by(runs, "ant", objective)
    least = WALKS * length_of(group)
    # Whoever stays at the start points in all directions, and reaches none.
    shares = per_seed(group, lambda cloud: share_of_directions(cloud) if walk(cloud, least) else 0.0)
    return in_most(shares, lambda share: share >= 1 - CLOSE)


@statement(
    "ant",
    "figure 4",
    "roughly as far",
    "median distance relative to that of standard ES, median over runs",
    ours=f"roughly: {NEARLY:g}, in most runs",
)
def goes_roughly_as_far(runs: Runs, objective: str) -> Answer:
    """{method} goes roughly as far as standard ES in one direction alone (ant)."""
    pair = trained_pair(runs, "ant", objective)
    standard, own = (per_seed(group, lambda cloud: float(np.median(np.linalg.norm(cloud, axis=1)))) for group in pair)
    forwards = _median(standard)
    return in_most([distance / forwards for distance in own.values()], lambda share: share >= NEARLY)


@statement(
    "ant",
    "5.3",
    "few",
    "% of offspring nearer to the start than half of the median distance, median over runs",
    ours=f"fewer than the {100 * UNIFORM:g} % of a uniform disc, p < 0.05 (signed ranks, one-sided)",
)
def ring_is_hollow(runs: Runs, objective: str) -> Answer:
    """{method}: few behaviors lie in the interior of the ring (ant)."""
    shares = numbers(per_seed(trained_by(runs, "ant", objective), share_inside))
    test = above_zero(UNIFORM - np.asarray(shares))
    median = float(np.median(shares))
    # Half of all lie within the median distance: who is not inside is in the annulus, which is thrice as large.
    density = 3 * median / (0.5 - median) if median < 0.5 else np.inf
    beside = f"{density:.2f} times as dense as from there to the median distance"
    fuller = above_zero(np.asarray(shares) - UNIFORM).p
    is_fuller = fuller is not None and fuller < SIGNIFICANT
    found = Answer(100 * median, test.num_runs, "not enough runs", fuller if is_fuller else test.p, test.reason)
    return judged_by(found._replace(beside=beside, bound=SIGNIFICANT, is_reversed=is_fuller))


@statement("ant", "5.3", "p < 0.01", "P(standard ES has more than {method} within {near})")
def fewer_degenerate(runs: Runs, objective: str, radius: str) -> Answer:
    """More offspring of standard ES than of {method} end within 5 units of the start (ant)."""
    pair = trained_pair(runs, "ant", objective)
    near = RADIUS * length_of(pair[0])
    if radius == "reach":
        near = CLOSE * _median(per_seed(pair[0], lambda cloud: float(np.median(np.linalg.norm(cloud, axis=1)))))
    shares = [per_seed(group, lambda behavior: degenerate_share(behavior, near)) for group in pair]
    return is_more(shares[0], shares[1], bound=0.01)


def per_seed(group: RunGroup, statistic: Callable[[Array], float]) -> dict[int, float]:
    """A statistic of the last recorded behaviors by seed."""
    values = [[statistic(cloud) for cloud in whole_populations(run)] for run in group.runs]
    return by_seed(group, values)


def length_of(group: RunGroup) -> float:
    """How long an episode is, relative to the paper's."""
    return float(getattr(group.config.task_options, "num_steps", WHOLE_STEPS) / WHOLE_STEPS)


def walk(behavior: Array, least: float) -> bool:
    """Whether a population goes so far on average; nobody does not."""
    return len(behavior) > 0 and float(np.linalg.norm(behavior, axis=1).mean()) >= least


def share_of_directions(behavior: Array) -> float:
    """The share of directions in which some behavior lies farther than half of the median distance."""
    distance = np.linalg.norm(behavior[:, :2], axis=1)
    far = behavior[distance > np.median(distance) / 2]
    # An angle of exactly pi would have a sector of its own: it is the same direction as -pi.
    sector = np.floor((np.arctan2(far[:, 1], far[:, 0]) / np.pi + 1) / 2 * SECTORS).astype(int) % SECTORS
    return len(np.unique(sector)) / SECTORS


def share_inside(behavior: Array) -> float:
    """The share of behaviors nearer to the origin than half of the median distance."""
    distance = np.linalg.norm(behavior, axis=1)
    return float(np.mean(distance < np.median(distance) / 2))


def _median(values: Seeded) -> float:
    return float(np.median(numbers(values)))


def _mean(values: Seeded) -> float:
    return float(np.mean(numbers(values)))


def _generations_to(level: float, run: Run) -> list[float]:
    """The first generation at which each seed has come so far; one more than there are, where it never does."""
    distance = run.metrics["distance"]
    # argmax of booleans is the first that is true, and 0 where none is.
    return [float(np.argmax(own >= level)) if (own >= level).any() else float(len(own)) for own in distance]
