"""The exact test of the value that shifts most between two sides, for tables of any number of values."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats
from stereotrope.stats.multiplicity import fisher_exact, fisher_least

_COUNTED_OUT = 400
"""Labels of both sides up to which the joint distribution of all values is counted out."""
_AT_ONCE = 1 << 16
"""Cells of the tables that are counted out together."""
_TIE = 1e-7


def greatest_shift(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats, Floats]:
    r"""Test that two sides show values alike, by the value whose share differs most clearly.

    The statistic is the least of the values' two-sided p-values of Fisher's test of that value against all
    others, :math:`m = \min_v P_v`. Under shuffled sides the counts are multivariate hypergeometric, and
    :math:`p = P(m \le m_{obs})` is counted out over all tables with the same margins: nothing is drawn, so p
    may be as small as it is. With two values it is Fisher's p.

    first, second: Counts by value of both sides, shape ``(T, K)``: a row a test.
    Returns p, mid_p, least: Each of shape ``(T,)``. ``mid_p`` counts tables as probable as the one seen half:
        its size is near the nominal one on average where that of p lies below. ``least`` is the least p that
        these margins can give. Above 400 labels p is Bonferroni's, over the values that could reach it.
    Undefined: NaN where a side has no count.
    Source: Fisher (1934), section 21.02; Westfall and Young (1993), section 2.3 (min-p); Lancaster (1961),
        JASA 56 (mid-p).

    >>> p, mid_p, least = greatest_shift([[6, 0, 0]], [[0, 3, 3]])
    >>> round(float(p[0]), 5), round(float(least[0]), 5)
    (0.00216, 0.00216)
    """
    one, other = (np.atleast_2d(np.asarray(x, np.int64)) for x in (first, second))
    if one.shape != other.shape or (one < 0).any() or (other < 0).any():
        raise UsageError(
            f"greatest_shift: both sides need whole counts of the same values, found shapes {one.shape} and "
            f"{other.shape}; pass a row of counts a test"
        )
    # The smaller side is the one that is counted out.
    smaller = one.sum(axis=1) <= other.sum(axis=1)
    few, many = np.where(smaller[:, None], one, other), np.where(smaller[:, None], other, one)
    # Values in falling order, so that tables that are counted out together are alike.
    order = np.argsort(-(few + many), axis=1, kind="stable")
    few, many = (np.take_along_axis(x, order, axis=1) for x in (few, many))
    sizes = np.stack([few.sum(axis=1), many.sum(axis=1)], axis=1)
    found = np.full((3, len(few)), np.nan)
    for n, m in np.unique(sizes, axis=0).tolist():
        here = np.flatnonzero((sizes == (n, m)).all(axis=1))
        if n:
            found[:, here] = _of_size(few[here], many[here], n, m)
    return found[0], found[1], found[2]


def _of_size(few: NDArray[np.int64], many: NDArray[np.int64], n: int, m: int) -> Floats:
    pooled = few + many
    if n + m > _COUNTED_OUT:
        return _bounded(few, many, n, m)
    margins, which = np.unique(pooled, axis=0, return_inverse=True)
    which = which.ravel()
    lines = _lines(n, m)
    own = np.where(pooled > 0, lines[pooled, few], 1.0).min(axis=1)
    floor = np.where(margins > 0, lines.min(axis=1)[margins], 1.0).min(axis=1)
    upto, below = _tails(pooled, own * (1 + _TIE), n, m), _tails(pooled, own * (1 - _TIE), n, m)
    least = _tails(margins, floor * (1 + _TIE), n, m)
    return np.stack([upto, (upto + below) / 2, least[which]])


def _bounded(few: NDArray[np.int64], many: NDArray[np.int64], n: int, m: int) -> Floats:
    pooled = few + many
    p = np.where(pooled > 0, fisher_exact(few, n, many, m), 1.0)
    reach = np.where(pooled > 0, fisher_least(few, n, many, m), 1.0)
    own, floor = p.min(axis=1), reach.min(axis=1)
    # Two values are one test; others count where their margins could have given as small a p.
    two = (pooled > 0).sum(axis=1) == 2
    tested, testable = ((reach <= x[:, None] * (1 + _TIE)).sum(axis=1) for x in (own, floor))
    bounds = [
        np.minimum(1.0, x * np.where(two, 1, np.maximum(k, 1))) for x, k in ((own, tested), (floor, testable))
    ]
    return np.stack([bounds[0], bounds[0], bounds[1]])


@lru_cache(maxsize=64)
def _weights(n: int, m: int) -> Floats:
    """Probability of ``x`` on the smaller side of ``c`` in all, sides being tossed for: by ``(c, x)``."""
    c, x = np.arange(n + m + 1)[:, None], np.arange(n + 1)[None, :]
    share = n / (n + m)
    rest = np.maximum(c - x, 0)
    ways = gammaln(c + 1.0) - gammaln(x + 1.0) - gammaln(rest + 1.0)
    tossed = np.exp(ways + xlogy(x, share) + xlog1py(rest, -share))
    return np.where((x <= c) & (c - x <= m), tossed, 0.0)


@lru_cache(maxsize=64)
def _lines(n: int, m: int) -> Floats:
    """Fisher's two-sided p by ``(c, x)``; 1 where no table is."""
    c, x = (np.broadcast_to(a, (n + m + 1, n + 1)) for a in (np.arange(n + m + 1)[:, None], np.arange(n + 1)))
    possible = (x <= c) & (c - x <= m)
    lines = np.ones(possible.shape)
    lines[possible] = fisher_exact(x[possible], n, c[possible] - x[possible], m)
    return lines


def _tails(pooled: NDArray[np.int64], limit: Floats, n: int, m: int) -> Floats:
    """Probability that any value's p is at most the ``limit`` of its table."""
    lines, weights = _lines(n, m), _weights(n, m)
    result = np.empty(len(pooled))
    step = max(1, _AT_ONCE // (n + 1))
    for start in range(0, len(pooled), step):
        part = slice(start, start + step)
        margins, most = pooled[part], limit[part, None]
        within, beyond = np.zeros((2, len(margins), n + 1))
        within[:, 0] = 1.0
        for c in margins.T:
            extreme = lines[c] <= most
            usual, far = np.where(extreme, 0.0, weights[c]), np.where(extreme, weights[c], 0.0)
            summed = np.zeros((2, len(margins), n + 1))
            for x in range(min(n, int(c.max())) + 1):
                kept = n + 1 - x
                summed[0, :, x:] += within[:, :kept] * usual[:, x, None]
                summed[1, :, x:] += within[:, :kept] * far[:, x, None]
                summed[1, :, x:] += beyond[:, :kept] * weights[c, x][:, None]
            within, beyond = summed
        result[part] = beyond[:, n] / (within[:, n] + beyond[:, n])
    return np.clip(result, np.finfo(np.float64).tiny, 1.0)
