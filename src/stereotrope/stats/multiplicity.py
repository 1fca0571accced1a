"""Many tests at once: false discovery rate, familywise error, and the exact tests they are fed with."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats

_FAR = 40.0
"""Standard deviations beyond which a hypergeometric probability is 0 in a float."""
_TIE = 1e-7
"""Difference of logarithms up to which two tables are equally probable: what rounding makes of equal ones."""
_ROUNDED = 1e-9
"""Part of a p by which one is as small as another."""
_AT_ONCE = 200_000
"""Tables whose probabilities are held in memory together."""
_GREATEST = 0.9
"""p beyond which a test speaks no more against the others it is combined with."""


def benjamini_hochberg(p: ArrayLike, least: ArrayLike | None = None) -> Floats:
    r"""q-values: p-values adjusted so that ``q ≤ α`` keeps the false discovery rate at ``α``.

    With the ``m`` p-values in ascending order, :math:`q_{(i)} = \min_{j ≥ i} p_{(j)}·m/j`. Of tests that
    cannot give every p, :math:`m` is how many of them could have given one as small as :math:`p_{(j)}`:
    :func:`count_able`. The others could not have been told from chance by such a p, whatever was seen.

    p: p-values of one family, any shape, in [0, 1]; NaN where a test could not be made.
    least: Least p that each test could have given, of the same shape; NaN stands for any. It must not hang on
        what was seen, only on what was there to be seen, such as the margins of a table.
    Returns: Same shape, in [0, 1], never below ``p``. NaN stays NaN and does not count in ``m``. With
        ``least`` the rate is at most :math:`α/(1-α)`, 0.0526 of 0.05, for independent tests.
    Source: Benjamini and Hochberg (1995), JRSS B 57, eq. 1; for discrete tests Heyse (2011), with the bound
        of Döhler, Durand and Roquain (2018), Electronic Journal of Statistics 12, theorem 1.

    >>> # Two of these three could not have given 0.01.
    >>> print(benjamini_hochberg([0.01, 0.2, 0.9]), benjamini_hochberg([0.01, 0.2, 0.9], [1e-6, 0.1, 0.2]))
    [0.03 0.3  0.9 ] [0.01 0.3  0.9 ]
    """
    values = np.asarray(p, np.float64)
    reach = None if least is None else np.asarray(least, np.float64)[~np.isnan(values)]

    def rule(x: Floats) -> Floats:
        rank = np.arange(1, x.size + 1)
        able = x.size if reach is None else np.maximum(count_able(reach, x), rank)
        return np.asarray(np.minimum.accumulate((x * able / rank)[::-1])[::-1])

    return _adjusted(values, rule)


def count_able(least: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
    """How many tests could have given a p as small as each.

    least: Least p that each test could have given, any shape; NaN stands for any.
    Returns: Of the shape of ``p``.
    """
    reach = np.sort(np.nan_to_num(np.asarray(least, np.float64), nan=0.0), axis=None)
    return np.searchsorted(reach, np.asarray(p, np.float64) * (1 + _ROUNDED), side="right")


def fewest_told(least: ArrayLike, *, alpha: float = 0.05) -> int:
    """How many tests must show the least p that they could for any to have q ≤ ``alpha``; 0 where none can.

    least: As of :func:`benjamini_hochberg`.
    """
    reach = np.sort(np.nan_to_num(np.asarray(least, np.float64), nan=0.0), axis=None)
    r = np.arange(1, reach.size + 1)
    told = reach * np.maximum(count_able(reach, reach), r) <= alpha * r
    return int(r[told][0]) if told.any() else 0


def holm(p: ArrayLike) -> Floats:
    r"""p-values adjusted so that ``≤ α`` keeps the probability of any false rejection at ``α``.

    With the ``m`` p-values in ascending order, :math:`\tilde p_{(i)} = \max_{j ≤ i} (m-j+1)·p_{(j)}`,
    at most 1.

    p: p-values as for :func:`benjamini_hochberg`.
    Returns: Same shape, in [0, 1]. NaN stays NaN and does not count in ``m``.
    Source: Holm (1979), Scand. J. Statistics 6.
    """
    return _adjusted(p, lambda x: np.maximum.accumulate(x * np.arange(x.size, 0, -1)))


def cauchy_combined(p: ArrayLike) -> Floats:
    r"""One p-value of several tests of one hypothesis, however they depend on one another.

    :math:`p = \tfrac12 - \arctan\left(\frac1m Σ_i \tan(π(\tfrac12 - p_i))\right)/π`: about :math:`m`
    times the least p where one is far smaller than the others, and their common value where they agree. A p
    above 0.9 counts as 0.9, or as the least one: that of a discrete test is often 1, whose term of
    :math:`-\infty` would outweigh whatever the others show.

    p: Shape ``(…, m)``; NaN where a test could not be made.
    Returns: Shape ``(…)``, in (0, 1]; NaN where none could. Its size is near the nominal one where that is
        small: within a tenth at 0.05 by simulation, whatever the correlation (tests/stats).
    Source: Liu and Xie (2020), JASA 115, eq. 1 and theorem 1; the limit after Fang, Chang, Park and Tseng
        (2021), arXiv:2103.12967.
    """
    values = np.asarray(p, np.float64)
    known = ~np.isnan(values)
    n = known.sum(axis=-1)
    least = np.where(known, values, 1.0).min(axis=-1, keepdims=True, initial=1.0)
    safe = np.where(known, np.minimum(values, np.maximum(least, _GREATEST)), 0.5)
    safe = np.clip(safe, np.finfo(np.float64).tiny, 1 - 1e-9)
    # Close to 0 the tangent is 1/(πp), which keeps its digits where 1/2 − p does not.
    terms = np.where(safe < 1e-8, 1 / (np.pi * safe), np.tan(np.pi * (0.5 - safe)))
    mean = np.divide(np.where(known, terms, 0.0).sum(axis=-1), n, out=np.full(n.shape, np.nan), where=n > 0)
    large = mean > 1e7
    near = 1 / (np.pi * np.where(large, mean, 1.0))
    return np.asarray(np.where(large, near, 0.5 - np.arctan(mean) / np.pi))


def _adjusted(p: ArrayLike, rule: Callable[[Floats], Floats]) -> Floats:
    """p-values adjusted by a rule for known ones in ascending order."""
    values = np.asarray(p, dtype=np.float64)
    used = ~np.isnan(values)
    if np.any((values[used] < 0) | (values[used] > 1)):
        raise UsageError("p-values must lie in [0, 1]; pass NaN where a test could not be made")
    order = np.argsort(values[used], kind="stable")
    adjusted = np.empty(order.size)
    adjusted[order] = np.minimum(rule(values[used][order]), 1.0)
    out = np.full(values.shape, np.nan)
    out[used] = adjusted
    return out


def fisher_exact(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, mid: bool = False) -> Floats:
    """Two-sided p-value of Fisher's exact test that two shares are equal.

    The sum of the hypergeometric probabilities of all tables with the same margins that are no more
    probable than the one seen. Its size never exceeds the nominal one; at 20 against 20 it stays well below.

    k1, n1, k2, n2: Whole numbers: successes and trials of both sides; shapes broadcast.
    mid: Count tables as probable as the one seen by half (mid-p): more power, and a size that is near the
        nominal one on average but may exceed it: at 0.05 up to 0.046 of 20 against 20, 0.057 of 50.
    Returns: In (0, 1]; NaN where either side has no trial.
    Source: Fisher (1934), Statistical Methods for Research Workers, 5th ed., section 21.02; Lancaster (1961),
        JASA 56, for mid-p.
    """
    broadcast = np.broadcast_arrays(*(np.asarray(x, np.int64) for x in (k1, n1, k2, n2)))
    tables = np.stack([b.ravel() for b in broadcast], axis=1)
    if tables.size and (np.any(tables[:, [0, 2]] > tables[:, [1, 3]]) or np.any(tables < 0)):
        raise UsageError("fisher_exact: each k must lie between 0 and its n; pass counts, not shares")
    unique, where = np.unique(tables, axis=0, return_inverse=True)
    p = np.full(len(unique), np.nan)
    tried = np.flatnonzero((unique[:, 1] > 0) & (unique[:, 3] > 0))
    lows, highs = _reach(unique[tried])
    # Tables are tested some at a time, so that what is held in memory stays small at any n.
    ends = np.cumsum(highs - lows + 1) // _AT_ONCE
    for some in np.split(np.arange(len(tried)), np.flatnonzero(np.diff(ends)) + 1):
        p[tried[some]] = _two_sided(unique[tried[some]], lows[some], highs[some], 0.5 if mid else 1.0)
    return p[where.ravel()].reshape(broadcast[0].shape)


def fisher_least(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, mid: bool = False) -> Floats:
    """Least p-value that :func:`fisher_exact` gives any table with these margins.

    k1, n1, k2, n2, mid: As for :func:`fisher_exact`.
    Returns: In (0, 1]; NaN where either side has no trial.
    Source: Tarone (1990), Biometrics 46.
    """
    k, n, j, m = (np.asarray(x, np.int64) for x in (k1, n1, k2, n2))
    ends = np.maximum(0, k + j - m), np.minimum(k + j, n)
    return np.asarray(np.minimum(*(fisher_exact(end, n, k + j - end, m, mid=mid) for end in ends)))


def _reach(tables: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest first count whose probability, at these margins, is more than nothing in a float."""
    k, n, j, m = tables.T
    both, of = k + j, n + m
    mean = n * both / of
    sd = np.sqrt(mean * (m / of) * ((of - both) / np.maximum(of - 1, 1)))
    low = np.maximum(np.maximum(0, both - m), np.floor(np.minimum(mean - _FAR * sd, k)).astype(np.int64))
    high = np.minimum(np.minimum(both, n), np.ceil(np.maximum(mean + _FAR * sd, k)).astype(np.int64))
    return low, high


def log_factorial(x: NDArray[np.int64]) -> Floats:
    """Logarithms of the factorials of whole numbers, looked up where that is less work."""
    most = int(x.max(initial=0))
    if most < x.size:
        return np.asarray(special.gammaln(np.arange(most + 1) + 1.0)[x])
    return np.asarray(special.gammaln(x + 1.0))


def _two_sided(
    tables: NDArray[np.int64], lows: NDArray[np.int64], highs: NDArray[np.int64], of_seen: float
) -> Floats:
    if not len(tables):
        return np.zeros(0)
    lengths = highs - lows + 1
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    k, n, j, m = (np.repeat(column, lengths) for column in tables.T)
    first = np.arange(lengths.sum()) - np.repeat(starts - lows, lengths)
    second = k + j - first
    ways = -sum(map(log_factorial, (first, n - first, second, m - second)), np.zeros(len(first)))
    seen = np.repeat(ways[starts + tables[:, 0] - lows], lengths)
    parts = np.exp(ways - np.repeat(np.maximum.reduceat(ways, starts), lengths))
    rare = np.where(ways < seen - _TIE, parts, np.where(ways <= seen + _TIE, of_seen * parts, 0.0))
    p = np.add.reduceat(rare, starts) / np.add.reduceat(parts, starts)
    return np.clip(p, np.finfo(np.float64).tiny, 1.0)


def sign_test(k: int, n: int, p: float = 0.5) -> float:
    """Two-sided p-value of the exact test that either of two outcomes is as probable as the other.

    Twice the smaller tail of the binomial distribution with probability 1/2, at most 1. Of images that
    each show one of several groups, those that show one of two are such trials.

    k, n: How often the first outcome came, of how many trials.
    p: Another probability of the first outcome than 1/2. Where it is the mean of probabilities that differ
        between the trials, the test errs less often than its level: their sum varies less.
    Returns: In (0, 1]; NaN where ``n`` is 0.
    Source: Dixon and Mood (1946), JASA 41.
    """
    if not 0 <= k <= n:
        raise UsageError(f"sign_test: k must lie between 0 and n, found {k} of {n}; pass counts, not shares")
    if not n:
        return float("nan")
    least, most = float(special.bdtr(k, n, p)), float(special.bdtr(n - k, n, 1.0 - p))
    return min(1.0, 2.0 * min(least, most))
