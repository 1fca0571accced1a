"""Correlations, undefined where there is nothing to correlate."""

from itertools import combinations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats, known_pairs

_RULE = "correlation: x and y must pair up"


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of the pairs in which both values are known.

    x, y: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [−1, 1]; NaN with fewer than two pairs or where one side does not vary.
    Raises UsageError: ``x`` and ``y`` differ in length.

    >>> round(pearson([1, 2, 3], [2, 4, 6]), 6)
    1.0
    """
    first, second = known_pairs(x, y, _RULE)
    return _correlate(first, second)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation, mean ranks for ties, of the pairs in which both values are known.

    x, y: Shape ``(n,)``; pairs with NaN are left out before ranking.
    Returns: In [−1, 1]; NaN with fewer than two pairs or where one side does not vary.
    Raises UsageError: ``x`` and ``y`` differ in length.

    >>> round(spearman([1, 2, 3], [1, 100, 10]), 6)
    0.5
    """
    first, second = known_pairs(x, y, _RULE)
    if first.size < 2:
        return float("nan")
    return _correlate(scipy.stats.rankdata(first), scipy.stats.rankdata(second))


def mean_pairwise_spearman(rows: ArrayLike) -> float:
    """Mean of Spearman's correlation over all unordered pairs of rows.

    rows: Shape ``(m, k)``: ``m`` rankings of ``k`` things; NaN where one is unknown.
    Returns: In [−1, 1]; NaN where no pair of rows has a defined correlation. Pairs without one are left out.
        0 is expected of rankings that have nothing to do with one another.
    Raises UsageError: ``rows`` has not two axes.

    >>> round(mean_pairwise_spearman([[1, 2, 3], [1, 2, 3], [3, 2, 1]]), 6)
    -0.333333
    """
    table = np.asarray(rows, np.float64)
    if table.ndim != 2:
        raise UsageError(f"mean_pairwise_spearman: rows must have two axes, found {table.ndim}")
    defined = [r for a, b in combinations(table, 2) if not np.isnan(r := spearman(a, b))]
    return float(np.mean(defined)) if defined else float("nan")


def _correlate(x: Floats, y: Floats) -> float:
    if x.size < 2:
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    spread = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    # A constant side leaves rounding noise of the order of eps × its size, not a true spread.
    if spread <= 1e-13 * max(1.0, float(np.abs(x).max() * np.abs(y).max())):
        return float("nan")
    return float(np.clip(a @ b / spread, -1.0, 1.0))
