"""Statistics over groups of seeds: a rank test with its effect size, medians with intervals, many tests at once."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from evolvability.errors import ConfigError

SIGNIFICANT = 0.05
EXACT_UP_TO = 50
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
    """A two-sided Mann-Whitney U test.

    Attributes:
        u: the statistic: how many pairs have the first value above the second; ties count one half.
        p: the p-value, corrected if that was asked; None where there are too few values for any.
        effect: the probability that a value of the first group is above one of the second, ties counted half: 0.5 means
            no difference.
        shift: the median of all differences, first minus second (Hodges and Lehmann).
        reason: why there is no p-value.
    """

    __test__ = False  # not one of pytest's

    u: float
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

    The p-value is exact where there are no ties. Where even completely separate groups could not be significant at
    0.05, there is none: the test says so instead.

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
    smallest = 2 / math.comb(len(first) + len(second), len(first))
    if smallest > SIGNIFICANT:
        reason = (
            f"too few runs: of {len(first)} and {len(second)}, the smallest p-value possible is "
            f"{min(smallest, 1):.2g}; 4 and 4 are enough"
        )
        return Test(u, None, effect, shift, reason)
    everything = np.concatenate([first, second])
    exact = len(np.unique(everything)) == len(everything) and len(everything) <= 2 * EXACT_UP_TO
    result = stats.mannwhitneyu(first, second, alternative="two-sided", method="exact" if exact else "asymptotic")
    # All values the same: SciPy's asymptotic p-value is nan, and there is no difference at all.
    return Test(u, 1.0 if np.isnan(result.pvalue) else float(result.pvalue), effect, shift)


def above_zero(values: Values) -> tuple[float | None, str]:
    """The p-value of the one-sided Wilcoxon signed-rank test that values lie above zero; or why there is none."""
    values = _finite(values)
    if 0.5 ** len(values) > SIGNIFICANT:
        return None, f"too few runs: of {len(values)}, the smallest p-value possible is {0.5 ** len(values):.2g}"
    if not np.any(values):
        return 1.0, ""
    return float(stats.wilcoxon(values, alternative="greater").pvalue), ""


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
        tests = [Test(t.u, p, t.effect, t.shift, t.reason) for t, p in zip(tests, p_values, strict=True)]
    return [Comparison(first, second, test) for (first, second), test in zip(pairs, tests, strict=True)]


def _finite(values: Values) -> Array:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]
