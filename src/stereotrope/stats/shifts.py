"""The exact test of the value that shifts most between two sides, for tables of any number of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.binomial import binomial

_COUNTED_OUT = 400
"""Labels of both sides up to which the joint distribution of all values is counted out."""
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
        these margins can give. Above 400 labels tables in which two values other than the commonest two are
        far out count twice: all three are then 0.97 to 1.13 times the ones counted out where these are
        under 0.1, 0.97 to 1.04 under 1e-3 (2 to 30 values, sides of 40 and 300 to 200 and 200).
    Undefined: NaN where a side has no count.
    Source: Fisher (1934), section 21.02; Westfall and Young (1993), section 2.3 (min-p); Lancaster (1961),
        JASA 56 (mid-p); Hunter (1976), J. Applied Probability 13 (the bound).

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
    counts, at = np.unique(pooled, return_inverse=True)
    at = at.reshape(pooled.shape)
    tables = _Tables.of(counts, n, m)
    own = np.where(pooled > 0, tables.p[at, few], 1.0).min(axis=1)
    of_margins = at[np.unique(which, return_index=True)[1]]
    floor = np.where(margins > 0, tables.p.min(axis=1)[of_margins], 1.0).min(axis=1)
    upto, below = tables.tails(at, own * (1 + _TIE)), tables.tails(at, own * (1 - _TIE))
    least = tables.tails(of_margins, floor * (1 + _TIE))
    return np.stack([upto, (upto + below) / 2, least[which]])


def _bounded(few: NDArray[np.int64], many: NDArray[np.int64], n: int, m: int) -> Floats:
    """As counted out, but for tables in which two values other than the commonest two are far out."""
    pooled = few + many
    found = []
    for one, counts in zip(few.tolist(), pooled.tolist(), strict=True):
        each = [(_line(c, n, m), x) for c, x in zip(counts, one, strict=True) if c]
        own, floor = min(line.p_of(x) for line, x in each), min(float(line.p.min()) for line, _ in each)
        several = [line for line, _ in each]
        limits = own * (1 + _TIE), own * (1 - _TIE), floor * (1 + _TIE)
        upto, below, least = (_any_beyond(several, limit, n, m) for limit in limits)
        found.append((upto, (upto + below) / 2, least))
    return np.array(found).T


@dataclass(frozen=True)
class _Line:
    """What the count of one value on the smaller side may be.

    count, start: The count on both sides, and the least that may be on the smaller one.
    weight, p: Probability of each count, and Fisher's two-sided p.
    """

    count: int
    start: int
    weight: Floats
    p: Floats

    def p_of(self, x: int) -> float:
        return float(self.p[x - self.start])

    def ends(self, limit: float) -> tuple[int, int]:
        """How many of the counts, from either end on, have a p up to the limit."""
        usual = np.flatnonzero(self.p > limit)
        return (int(usual[0]), len(self.p) - 1 - int(usual[-1])) if usual.size else (len(self.p), 0)


def _line(count: int, n: int, m: int) -> _Line:
    x = np.arange(max(0, count - m), min(count, n) + 1)
    ways = -(special.gammaln(x + 1.0) + special.gammaln(count - x + 1.0))
    ways -= special.gammaln(n - x + 1.0) + special.gammaln(m - count + x + 1.0)
    weight = np.exp(ways - ways.max())
    weight /= weight.sum()
    order = np.argsort(ways)
    # What is equally probable but for rounding counts together.
    upto = np.searchsorted(ways[order], ways + _TIE, side="right")
    return _Line(count, int(x[0]), weight, np.minimum(1.0, np.cumsum(weight[order])[upto - 1]))


def _any_beyond(lines: Sequence[_Line], limit: float, n: int, m: int) -> float:
    """At most so probable is it that any value's p is within the limit (Hunter 1976).

    The sum of all values less how probable it is that both of the commonest two are, whose counts go against
    each other; the second's count, given the first's, is taken for normal. Of two values alone it is exact.
    """
    ends = [line.ends(limit) for line in lines]
    every = sum(
        float(line.weight[:low].sum() + line.weight[len(line.p) - high :].sum())
        for line, (low, high) in zip(lines, ends, strict=True)
    )
    if len(lines) < 2 or not (sum(ends[0]) and sum(ends[1])):
        return min(1.0, max(every, np.finfo(np.float64).tiny))
    first, second = lines[:2]
    at = np.r_[: ends[0][0], len(first.p) - ends[0][1] : len(first.p)]
    left, drawn = n + m - first.count, n - (first.start + at)
    share = second.count / left
    rest = share * (1 - share) * drawn * (left - drawn) / max(1, left - 1)
    sd = np.sqrt(np.maximum(rest, _TIE))
    low = second.start + ends[1][0] - 0.5 - drawn * share
    high = second.start + len(second.p) - ends[1][1] - 0.5 - drawn * share
    both = float(first.weight[at] @ (special.ndtr(low / sd) + special.ndtr(-high / sd)))
    return min(1.0, max(every - both, np.finfo(np.float64).tiny))


@lru_cache(maxsize=4096)
def _short_line(count: int, n: int, m: int) -> _Line:
    return _line(count, n, m)


@dataclass(frozen=True)
class _Tables:
    """What counts of values on the smaller side may be, by pooled count that occurs and ``x = 0 … n``.

    counts: The pooled counts.
    weight: Probability of ``x``, sides being tossed for.
    p: Fisher's two-sided p; 1 where no table is.
    m: Images of the larger side.
    """

    counts: NDArray[np.int64]
    weight: Floats
    p: Floats
    m: int

    @classmethod
    def of(cls, counts: NDArray[np.int64], n: int, m: int) -> _Tables:
        p = np.ones((len(counts), n + 1))
        for row, count in zip(p, counts.tolist(), strict=True):
            line = _short_line(count, n, m)
            row[line.start : line.start + len(line.p)] = line.p
        return cls(counts, _tossed(counts, n, m), p, m)

    def tails(self, at: NDArray[np.int64], limit: Floats) -> Floats:
        """Probability that any value's p is at most the ``limit`` of its table.

        Values of which no count is so extreme are tossed for together.

        at: Rows of the values of each table.
        """
        n = self.p.shape[1] - 1
        result = np.empty(len(at))
        able = (self.p.min(axis=1) <= limit[:, None])[np.arange(len(at))[:, None], at] & (self.counts[at] > 0)
        others, of_others = np.unique((self.counts[at] * ~able).sum(axis=1), return_inverse=True)
        rest = _tossed(others, n, self.m)
        for row, most in enumerate(limit.tolist()):
            within, beyond = rest[of_others[row]], np.zeros(n + 1)
            for value in at[row, able[row]].tolist():
                top = min(n, int(self.counts[value])) + 1
                extreme, weight = self.p[value, :top] <= most, self.weight[value, :top]
                far = np.convolve(within, np.where(extreme, weight, 0.0)) + np.convolve(beyond, weight)
                within = np.convolve(within, np.where(extreme, 0.0, weight))[: n + 1]
                beyond = far[: n + 1]
            result[row] = beyond[n] / (within[n] + beyond[n])
        return np.clip(result, np.finfo(np.float64).tiny, 1.0)


def _tossed(counts: NDArray[np.int64], n: int, m: int) -> Floats:
    """Probability of ``x = 0 … n`` of each count on the smaller side, sides being tossed for."""
    c, x = counts[:, None], np.arange(n + 1)[None, :]
    return np.where(c - x <= m, binomial(x, c, n / (n + m)), 0.0)
