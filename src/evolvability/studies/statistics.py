"""Statistics over groups of seeds: a rank test with its effect size, medians with intervals, many tests at once."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from evolvability.core.errors import ConfigError

SIGNIFICANT = 0.05
EXACT_UP_TO = 100
MAX_WAYS = 20_000
Correction = Literal["holm", "bonferroni", "benjamini-hochberg"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "bonferroni", "benjamini-hochberg")

Array = np.ndarray[Any, Any]
Values = Sequence[float] | Array


@dataclass(frozen=True)
class Interval:
    """A median with a distribution-free confidence interval.

    Attributes:
        median: the median.
        low: the interval's lower end.
        high: its upper end.
        level: the probability that it holds the true median; at least 0.95 if there are values enough.
        number: how many values there are.
    """

    median: float
    low: float
    high: float
    level: float
    number: int


@dataclass(frozen=True)
class Test:
    """A rank test: of two groups Mann and Whitney's, two-sided; of one, Wilcoxon's signed ranks.

    Attributes:
        statistic: of two groups, U: how many pairs have the first value above the second; ties count one half.
        p: the p-value, corrected if that was asked; None where there are too few values for any.
        effect: the probability that a value of the first group is above one of the second, ties counted half: 0.5 means
            no difference.
        shift: the median of all differences, first minus second (Hodges and Lehmann).
        reason: why there is no p-value.
    """

    __test__ = False  # not one of pytest's

    statistic: float
    p: float | None
    effect: float
    shift: float
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two groups and their test."""

    first: str
    second: str
    test: Test


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
    ordered = np.sort(_finite(values))
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

    The p-value is exact, but for many runs with ties among them. Where even completely separate groups could not be
    significant at 0.05, there is none: the test says so instead.

    Examples:
        >>> mann_whitney([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0]).p.__round__(4)
        0.0286
        >>> mann_whitney([5.0, 6.0], [1.0, 2.0]).reason
        'too few runs: of 2 and 2, the smallest p-value possible is 0.33; 4 and 4 are enough'
    """
    first, second = _finite(first), _finite(second)
    if not (len(first) and len(second)):
        return Test(math.nan, None, math.nan, math.nan, "one of the groups has no value")
    differences = np.subtract.outer(first, second)
    u = float(np.sum(differences > 0) + 0.5 * np.sum(differences == 0))
    effect, shift = u / differences.size, float(np.median(differences))
    smallest = smallest_p(len(first), len(second))
    if smallest > SIGNIFICANT:
        reason = (
            f"too few runs: of {len(first)} and {len(second)}, the smallest p-value possible is "
            f"{smallest:.2g}; 4 and 4 are enough"
        )
        return Test(u, None, effect, shift, reason)
    if not np.any(differences):
        return Test(u, 1.0, effect, shift)
    result = stats.mannwhitneyu(first, second, alternative="two-sided", method=_method(first, second))
    return Test(u, float(result.pvalue), effect, shift)


def _method(first: Array, second: Array) -> Any:
    """Exact where it can be: with ties, over every way to share the values out, if these are not too many."""
    everything = np.concatenate([first, second])
    if len(np.unique(everything)) == len(everything) and len(everything) <= EXACT_UP_TO:
        return "exact"
    ways = math.comb(len(everything), len(first))
    return stats.PermutationMethod(n_resamples=MAX_WAYS) if ways <= MAX_WAYS else "asymptotic"


def smallest_p(first: int, second: int) -> float:
    """The p-value of so many values in two groups that do not overlap: there is none smaller.

    Examples:
        >>> smallest_p(12, 12) < 1e-6, round(smallest_p(6, 6), 4)
        (True, 0.0022)
    """
    return min(1.0, 2 / math.comb(first + second, first))


def above_zero(values: Values) -> Test:
    """Whether values lie above zero: the one-sided Wilcoxon signed-rank test; ``effect`` is the share that do."""
    values = _finite(values)
    smallest = 0.5 ** len(values)
    effect, shift = float(np.mean(values > 0)) if len(values) else math.nan, float(np.median(values))
    if smallest > SIGNIFICANT:
        reason = f"too few runs: of {len(values)}, the smallest p-value possible is {smallest:.2g}; 5 are enough"
        return Test(math.nan, None, effect, shift, reason)
    if not np.any(values):
        return Test(math.nan, 1.0, effect, shift)
    result = stats.wilcoxon(values, alternative="greater")
    return Test(float(result.statistic), float(result.pvalue), effect, shift)


def corrected(p_values: Sequence[float | None], method: Correction) -> list[float | None]:
    """P-values corrected for their number; None stays None and does not count.

    Examples:
        >>> corrected([0.01, None, 0.04], "bonferroni")
        [0.02, None, 0.08]
    """
    if method not in CORRECTIONS:
        raise ConfigError(f"A correction is one of {', '.join(CORRECTIONS)}, got '{method}'.")
    places = [place for place, p in enumerate(p_values) if p is not None]
    given = np.array([p for p in p_values if p is not None])
    count, order = len(given), np.argsort(given, kind="stable")
    ranks = np.arange(1, count + 1)
    adjusted = np.empty(count)
    if method == "bonferroni":
        adjusted = given * count
    elif method == "holm":
        adjusted[order] = np.maximum.accumulate(given[order] * (count - ranks + 1))
    else:
        adjusted[order] = np.minimum.accumulate((given[order] * count / ranks)[::-1])[::-1]
    result: list[float | None] = [None] * len(p_values)
    for place, p in zip(places, adjusted, strict=True):
        result[place] = min(float(p), 1.0)
    return result


def compare_all(groups: Mapping[str, Values], correction: Correction | None = None) -> list[Comparison]:
    """Every pair of groups, tested; with p-values corrected for their number if asked."""
    pairs = list(itertools.combinations(groups, 2))
    tests = [mann_whitney(groups[first], groups[second]) for first, second in pairs]
    if correction is not None:
        p_values = corrected([test.p for test in tests], correction)
        tests = [Test(t.statistic, p, t.effect, t.shift, t.reason) for t, p in zip(tests, p_values, strict=True)]
    return [Comparison(first, second, test) for (first, second), test in zip(pairs, tests, strict=True)]


def _finite(values: Values) -> Array:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]
