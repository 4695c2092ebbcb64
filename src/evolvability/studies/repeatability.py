r"""Whether mutations can be relied on: how much of what they do lies between them, and how much is their luck.

The variance of behavior is $V_B$, between mutations, plus $V_W$, within them: what circumstances do to each. Only the
former can be picked. Their repeatability $V_B / (V_B + V_W)$, the intra-class correlation, is the biologists' upper
bound of heritability (Nakagawa and Schielzeth, 2010). Read it beside the distance: standing still repeats well, too.
"""

import math
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
RESAMPLES = 1000


class Repeatability(NamedTuple):
    """The share of the variance of behavior that lies between mutations."""

    share: float
    """$V_B / (V_B + V_W)$: 1 where every mutation repeats itself, 0 where all of them differ by luck alone."""
    low: float
    """The lower end of its 95 % interval, by a bootstrap over mutations."""
    high: float
    """The upper end."""
    between: float
    """The square root of $V_B$, in units of behavior."""
    within: float
    """The square root of $V_W$."""

    def __str__(self) -> str:
        return f"{self.share:.2f} ({self.low:.2f} to {self.high:.2f})"


def repeatability(episodes: Array) -> Repeatability:
    """Of (num_mutations, num_episodes, num_behaviors), two episodes or more; not a number where it has no meaning.

    Examples:
        >>> luck, own = np.random.default_rng(0).normal(size=(2, 4000, 5, 1))
        >>> found = repeatability(2 * own[:, :1] + luck)
        >>> round(found.share, 1), found.low < 0.8 < found.high
        (0.8, True)
    """
    episodes = np.asarray(episodes, np.float64)
    if episodes.ndim != 3 or len(episodes) < 2 or episodes.shape[1] < 2:
        return Repeatability(*[math.nan] * 5)
    number = episodes.shape[1]
    # Far from the origin squares would lose their digits.
    means = episodes.mean(axis=1) - episodes.mean(axis=(0, 1))
    within = episodes.var(axis=1, ddof=1).sum(axis=1)
    # How often each mutation is in a resample; the first of them is the sample itself.
    generator = np.random.default_rng(0)
    size = len(means)
    drawn = generator.multinomial(size, np.full(size, 1 / size), RESAMPLES)
    counts = np.concatenate([np.ones((1, size), drawn.dtype), drawn]) / size
    own = counts @ within
    spread = counts @ (means**2).sum(axis=1) - ((counts @ means) ** 2).sum(axis=1)
    between = spread * size / (size - 1) - own / number
    shares = between / np.maximum(between + own, np.finfo(float).tiny)
    low, high = np.quantile(shares[1:], (0.025, 0.975))
    return Repeatability(float(shares[0]), float(low), float(high), math.sqrt(max(between[0], 0)), math.sqrt(own[0]))
