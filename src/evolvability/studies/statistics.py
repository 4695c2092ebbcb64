"""Statistics over groups of seeds: a rank test with its effect size, medians with intervals, many tests at once.

All but `ratio_interval` go by ranks, so a run that collapsed, whose value is minus infinity, counts as the worst there
is. Only nan is left out, and the counts say so.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy import optimize, stats

from evolvability.core.errors import ConfigError

SIGNIFICANT = 0.05
EXACT_UP_TO = 100  # values in both groups together; of more, p-values are those of the normal limit
RESAMPLES = 20_000  # of a bootstrap
MOST_FLIPPED = 13  # pairs, with 2 ** 13 choices of signs: so far SciPy's test of tied ranks is exact
Correction = Literal["holm", "benjamini-hochberg"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

Array = np.ndarray[Any, Any]
Values = Sequence[float] | Array


@dataclass(frozen=True)
class Interval:
    """A median with a distribution-free confidence interval."""

    median: float
    """The median."""
    low: float
    """The lower end of the interval."""
    high: float
    """The upper end of the interval."""
    level: float
    """The probability that the interval holds the true median; at least 0.95 if there are enough values."""
    number: int
    """How many values there are."""


@dataclass(frozen=True)
class Test:
    """A rank test: of two groups Mann and Whitney's, two-sided; of one, Wilcoxon's signed ranks."""

    __test__ = False  # not one of pytest's

    statistic: float
    """Of two groups U: in how many pairs the first value is above the second; ties count one half."""
    p: float | None
    """The p-value, corrected if that was asked for; None where there are too few values for any."""
    effect: float
    """The probability that a value of the first group is above one of the second, ties counted half; 0.5 means no
    difference."""
    shift: float
    """The median of all differences, first minus second (Hodges and Lehmann)."""
    reason: str = ""
    """Why there is no p-value."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """A 95 % confidence interval of the effect of two groups, see `effect_interval`."""
    num_runs: tuple[int, ...] = ()
    """How many values of each group were used."""


class Paired(NamedTuple):
    """P-values of tests that go by pairs, such as runs of two methods with one seed; None where there are too few."""

    wilcoxon: float | None
    """The p-value of Wilcoxon's signed ranks, in which the size of differences counts."""
    sign: float | None
    """The p-value of the sign test."""
    number: int
    """How many pairs there are."""


@dataclass(frozen=True)
class Comparison:
    """Two groups and their test."""

    first: str
    """The name of the first group."""
    second: str
    """The name of the second group."""
    test: Test
    """Their test."""


def median_index(values: Values) -> int:
    """Where the median of some values is; of two in the middle, the lower."""
    return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])


def median_interval(values: Values, level: float = 0.95) -> Interval:
    r"""The median, and the narrowest pair of order statistics that holds the true one with a probability of ``level``.

    The interval from the $j$-th smallest value to the $j$-th largest holds the median with probability
    $1 - 2 P(X < j)$ for $X \sim \mathrm{Binomial}(n, 1/2)$, whatever the distribution. With fewer than 6 values even
    the whole range falls short of 95 %: then it is given with the level it has.

    Examples:
        >>> median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        Interval(median=3.5, low=1.0, high=6.0, level=0.96875, number=6)
    """
    ordered = np.sort(_known(values))
    number = len(ordered)
    if not number:
        return Interval(math.nan, math.nan, math.nan, 0.0, 0)
    levels = 1 - 2 * stats.binom.cdf(np.arange((number + 1) // 2), number, 0.5)
    enough = np.flatnonzero(levels >= level)
    place = int(enough[-1]) if len(enough) else 0
    low, high = ordered[place], ordered[number - 1 - place]
    return Interval(float(np.median(ordered)), float(low), float(high), max(float(levels[place]), 0.0), number)


def mann_whitney(first: Values, second: Values) -> Test:
    """Whether values of two groups differ: the two-sided Mann-Whitney U test.

    The p-value is exact, with ties too, up to a hundred runs. Where even completely separate groups could not be
    significant at 0.05, there is none: the test says so instead.

    Examples:
        >>> mann_whitney([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0]).p.__round__(4)
        0.0286
        >>> mann_whitney([5.0, 6.0], [1.0, 2.0]).reason
        'too few runs: of 2 and 2, the smallest p-value possible is 0.33; 4 and 4 are enough'
    """
    first, second = _known(first), _known(second)
    sizes = len(first), len(second)
    if not min(sizes):
        return Test(math.nan, None, math.nan, math.nan, "one of the groups has no value", num_runs=sizes)
    above, equal = np.greater.outer(first, second), np.equal.outer(first, second)
    u = float(np.sum(above) + 0.5 * np.sum(equal))
    # Two runs that both collapsed do not differ: -inf - -inf would be nan.
    differences = np.subtract.outer(first, second, where=~equal, out=np.zeros(sizes))
    effect, shift = u / equal.size, float(np.median(differences))
    test = Test(u, None, effect, shift, "", effect_interval(effect, *sizes), sizes)
    smallest = smallest_p(*sizes)
    if smallest > SIGNIFICANT:
        few = f"too few runs: of {sizes[0]} and {sizes[1]}, the smallest p-value possible is {smallest:.2g}"
        return replace(test, reason=f"{few}; 4 and 4 are enough")
    ranks = stats.rankdata(np.concatenate([first, second]))
    if len(ranks) <= EXACT_UP_TO:
        return replace(test, p=_exact_p(ranks, sizes[0]))
    # Given ranks, which say the same and are finite where values are not.
    limit = stats.mannwhitneyu(ranks[: sizes[0]], ranks[sizes[0] :], alternative="two-sided", method="asymptotic")
    # Where all values are equal the limit has no variance, and no p-value.
    return replace(test, p=float(limit.pvalue) if np.ptp(ranks) else 1.0)


def _exact_p(ranks: Array, number: int) -> float:
    """Two-sided, of the rank sum of the first ``number`` values, among all ways to choose so many of them.

    ``ways[k, s]`` counts the choices of k values whose ranks sum to s. Tied values share the mean of their ranks, a
    multiple of one half; so ranks are doubled to be whole. SciPy's exact test knows no ties.
    """
    doubled = np.rint(2 * ranks).astype(int)
    # As floats: there are 1e29 ways to choose 50 of 100, more than an integer holds.
    ways = np.zeros((number + 1, doubled.sum() + 1))
    ways[0, 0] = 1
    for rank in doubled:
        # Both sides overlap; NumPy reads all of the right one first, so that no value is chosen twice.
        ways[1:, rank:] += ways[:-1, :-rank]  # each choice without this value makes one with it
    shares, found = ways[number] / ways[number].sum(), doubled[:number].sum()
    return min(1.0, 2 * float(min(shares[: found + 1].sum(), shares[found:].sum())))


def effect_interval(effect: float, first: int, second: int, level: float = 0.95) -> tuple[float, float]:
    r"""A confidence interval of P(X > Y), from its estimate and the numbers of values in both groups.

    All $\theta$ that the estimate is not too far from, given what its variance would be if they were true:

    $$(\hat\theta - \theta)^2 \le z^2 \frac{\theta (1 - \theta)}{m n} \Bigl[1 + \Bigl(\frac{m + n}{2} - 1\Bigr)
    \Bigl(\frac{1 - \theta}{2 - \theta} + \frac{\theta}{1 + \theta}\Bigr)\Bigr].$$

    So it is not a single point where groups are separate, as bootstrapped intervals are. Reference: Newcombe,
    *Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2* (2006), method 5.

    Examples:
        >>> [round(end, 2) for end in effect_interval(1.0, 6, 6)]
        [0.69, 1.0]
    """
    z, spare = float(stats.norm.ppf((1 + level) / 2)), (first + second) / 2 - 1

    def excess(theta: float) -> float:
        shape = 1 + spare * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (effect - theta) ** 2 - z**2 * theta * (1 - theta) * shape / (first * second)

    # At 0 and 1 the variance is zero: these are roots too where the estimate is there, but not those that are sought.
    inside = min(max(effect, 1e-9), 1 - 1e-9)
    low = optimize.brentq(excess, 0, inside) if effect > 0 else 0.0
    high = optimize.brentq(excess, inside, 1) if effect < 1 else 1.0
    return float(low), float(high)


def smallest_p(first: int, second: int) -> float:
    """The p-value of so many values in two groups that do not overlap: there is none smaller.

    Examples:
        >>> smallest_p(12, 12) < 1e-6, round(smallest_p(6, 6), 4)
        (True, 0.0022)
    """
    return min(1.0, 2 / math.comb(first + second, first))


def above_zero(values: Values) -> Test:
    """Whether values lie above zero: the one-sided Wilcoxon signed-rank test; ``effect`` is the share that do."""
    values = _known(values)
    smallest, sizes = 0.5 ** len(values), (len(values),)  # the p-value where all are above zero
    effect = float(np.mean(values > 0)) if len(values) else math.nan
    test = Test(math.nan, None, effect, float(np.median(values)), num_runs=sizes)
    if smallest > SIGNIFICANT:
        reason = f"too few runs: of {len(values)}, the smallest p-value possible is {smallest:.2g}; 5 are enough"
        return replace(test, reason=reason)
    if not np.any(values):
        return replace(test, p=1.0)
    # The test goes by signed ranks; given those, it need not compute with infinities.
    result = stats.wilcoxon(np.sign(values) * stats.rankdata(np.abs(values)), alternative="greater")
    return replace(test, statistic=float(result.statistic), p=float(result.pvalue))


def paired(first: Values, second: Values) -> Paired:
    """Two-sided tests of differences between values that belong together, pair by pair; see `Paired`.

    Examples:
        >>> paired([2.0, 3.0, 4.0, 5.0, 6.0, 8.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        Paired(wilcoxon=0.03125, sign=0.03125, number=6)
    """
    before, after = np.asarray(first, np.float64), np.asarray(second, np.float64)
    # Two runs that both collapsed do not differ: -inf - -inf would be nan.
    differences = np.subtract(before, after, where=before != after, out=np.zeros(len(before)))
    different = differences[differences != 0]
    if 2 * 0.5 ** len(differences) > SIGNIFICANT:
        return Paired(None, None, len(differences))
    if not len(different):
        return Paired(1.0, 1.0, len(differences))
    # Given signed ranks, it need not compute with infinities.
    signed = np.sign(different) * stats.rankdata(np.abs(different))
    sign = stats.binomtest(int(np.sum(different > 0)), len(different)).pvalue
    # Every choice of signs, all at once. SciPy's test goes through them one by one where ranks are tied.
    few = len(signed) <= MOST_FLIPPED
    test = stats.permutation_test((signed,), np.sum, permutation_type="samples") if few else stats.wilcoxon(signed)
    return Paired(float(test.pvalue), float(sign), len(differences))


def ratio_interval(first: Values, second: Values) -> tuple[float, float]:
    """A 95 % confidence interval of the ratio of two means, of values that belong together: the percentile bootstrap.

    Examples:
        >>> ratio_interval([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
        (0.5, 0.5)
    """
    pairs = np.stack([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    drawn = np.random.default_rng(0).integers(0, pairs.shape[1], (RESAMPLES, pairs.shape[1]))
    means = pairs[:, drawn].mean(axis=-1)
    low, high = np.quantile(means[0] / means[1], [0.025, 0.975])
    return float(low), float(high)


def corrected(p_values: Sequence[float | None], method: Correction) -> list[float | None]:
    """P-values corrected for their number; None stays None and does not count.

    Examples:
        >>> corrected([0.01, None, 0.04], "holm")
        [0.02, None, 0.04]
    """
    if method not in CORRECTIONS:
        raise ConfigError(f"A correction is one of {', '.join(CORRECTIONS)}, got '{method}'.")
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    p = np.array([p for p, _ in known])
    if method == "holm":  # no p-value may overtake a smaller one
        adjusted = np.maximum.accumulate(p * np.arange(len(p), 0, -1))
    else:
        adjusted = stats.false_discovery_control(p) if known else p
    result: list[float | None] = [None] * len(p_values)
    for (_, place), value in zip(known, adjusted, strict=True):
        result[place] = min(float(value), 1.0)
    return result


def compare_all(groups: Mapping[str, Values], correction: Correction | None = None) -> list[Comparison]:
    """Every pair of groups, tested; with p-values corrected for their number if asked."""
    pairs = list(itertools.combinations(groups, 2))
    tests = [mann_whitney(groups[first], groups[second]) for first, second in pairs]
    if correction is not None:
        p_values = corrected([test.p for test in tests], correction)
        tests = [replace(test, p=p) for test, p in zip(tests, p_values, strict=True)]
    return [Comparison(first, second, test) for (first, second), test in zip(pairs, tests, strict=True)]


def _known(values: Values) -> Array:
    array = np.asarray(values, np.float64)
    return array[~np.isnan(array)]
