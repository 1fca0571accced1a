"""Correlations, undefined where there is nothing to correlate."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from stereotrope.stats.arrays import Floats, known_pairs

_RULE = "correlation: x and y must pair up"


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of the pairs in which both values are known.

    x, y: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [−1, 1]; NaN with fewer than two pairs or where one side does not vary.
    """
    first, second = known_pairs(x, y, _RULE)
    return _correlate(first, second)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation, mean ranks for ties; as :func:`pearson` of the ranks of known pairs."""
    first, second = known_pairs(x, y, _RULE)
    if first.size < 2:
        return float("nan")
    return _correlate(scipy.stats.rankdata(first), scipy.stats.rankdata(second))


def _correlate(x: Floats, y: Floats) -> float:
    if x.size < 2:
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    spread = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    # A constant side leaves rounding noise of the order of eps × its size, not a true spread.
    if spread <= 1e-13 * max(1.0, float(np.abs(x).max() * np.abs(y).max())):
        return float("nan")
    return float(np.clip(a @ b / spread, -1.0, 1.0))
