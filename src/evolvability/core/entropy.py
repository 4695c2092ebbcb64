r"""How spread out behaviors are: their differential entropy, by distances to nearest neighbors.

Kozachenko and Leonenko (1987): with $r_i$ the distance from behavior $i$ to its $k$-th neighbor and $V_d$ the volume of
the unit ball,

$$\hat H = \psi(n) - \psi(k) + \log V_d + \frac dn \sum_i \log r_i .$$

Neighbors are near by, so bands, rings and whatever shape come out right, where a kernel of one width for the whole
cloud smears them. MaxEnt climbs the entropy seen by its own kernel all the same: that is the metric ``objective``.
"""

import math
from typing import Any

import numpy as np
import scipy  # which imports its parts once they are used: a process that only evaluates members starts without it

NUM_NEIGHBORS = 3
MOST_MEMBERS = 10_000
"""Of more members the entropy is that of so many, chosen at random: its error is then about 0.01 nats."""


def entropy(behavior: Any) -> float:
    """Differential entropy in nats, of (num_members, num_behaviors) behaviors; invalid members left out before.

    Minus infinity where there is no density: where behaviors lie on a line or at a point, as exactly as float32 can
    tell, or where more members than have neighbors behave the same.

    Examples:
        >>> square = np.random.default_rng(0).uniform(0, 10, (2000, 2))
        >>> round(entropy(square), 1), round(math.log(100), 1)
        (4.6, 4.6)
    """
    points = np.asarray(behavior, np.float64)
    if not len(points):
        return math.nan
    if len(points) > MOST_MEMBERS:
        # At random, yet the same every time: members drawn in turn from components must not fall in step with a stride.
        points = np.random.default_rng(0).choice(points, MOST_MEMBERS, replace=False)
    number, num_behaviors = points.shape
    neighbors = min(NUM_NEIGHBORS, number - 1)  # none for a single point, which has no spread and ends below
    deviations = points - points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(deviations, full_matrices=False)
    rounding = np.finfo(np.float32).eps * np.linalg.norm(points)
    if len(lengths) < num_behaviors or lengths.min() <= rounding:
        return -math.inf
    # Decorrelated: an axis with little spread would have neighbors all along the others.
    white = deviations @ (axes.T / lengths)
    distances = scipy.spatial.cKDTree(white).query(white, [neighbors + 1])[0]  # everyone's nearest is itself
    # Of more equal behaviors than neighbors the distance is zero, and its log the minus infinity that is meant.
    with np.errstate(divide="ignore"):
        # The second term undoes the change of volume by decorrelating.
        spread = num_behaviors * np.log(distances).mean() + np.log(lengths).sum()
    log_ball = num_behaviors / 2 * math.log(math.pi) - scipy.special.gammaln(num_behaviors / 2 + 1)
    return float(scipy.special.digamma(number) - scipy.special.digamma(neighbors) + log_ball + spread)
