"""Before and after: tests of paired scores, and how much their mean changes in proportion."""

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats, known_pairs, mid_ranks
from stereotrope.stats.intervals import normal_quantile

_EXACT = 200
"""Most pairs for which the distribution of the rank sum is counted out."""
_NOISE = 1e-12
_MOST_SUMS = 4_000
"""Different sums of deviations that are told apart."""


def paired_t(before: ArrayLike, after: ArrayLike) -> float:
    r"""Two-sided p-value of Student's paired t-test that the mean does not change.

    :math:`t = \bar d / (s_d/\sqrt n)` with :math:`d` = after − before, on n − 1 degrees of freedom.

    before, after: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [0, 1]; NaN with fewer than two pairs, or where all differences are equal: nothing says then
        how much they vary.
    Source: Student (1908), Biometrika 6.
    """
    first, second = known_pairs(before, after)
    change = second - first
    if change.size < 2 or _constant(change, first, second):
        return float("nan")
    t = change.mean() / (change.std(ddof=1) / np.sqrt(change.size))
    return float(2 * special.stdtr(change.size - 1, -abs(t)))


def signed_rank(before: ArrayLike, after: ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test that changes go up as much as down.

    Ranks of the absolute differences, mean ranks for ties, pairs without a difference left out. Up to 200
    pairs p is exact given the ranks, ties included: the share of the :math:`2^n` ways to set the signs whose
    rank sum is as far from its mean. Beyond, it is normal with continuity correction.

    before, after: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In (0, 1]; 1 where no pair differs, NaN with fewer than two pairs. With n differing pairs it is
        never below :math:`2^{1-n}`: fewer than six cannot reach 0.05.
    Source: Wilcoxon (1945), Biometrics Bulletin 1.
    """
    first, second = known_pairs(before, after)
    if first.size < 2:
        return float("nan")
    doubled, up = _signed(first, second)
    if not doubled.size:
        return 1.0
    plus, total = int(doubled[up].sum()), int(doubled.sum())
    if doubled.size <= _EXACT:
        return _exact(doubled, min(plus, total - plus))
    sd = float(np.sqrt((doubled**2).sum())) / 2
    return float(min(1.0, 2 * special.ndtr(-max(0.0, abs(plus - total / 2) - 1.0) / sd)))


def standardised_change(
    before: ArrayLike, after: ArrayLike, *, level: float = 0.95
) -> tuple[float, float, float]:
    r"""Mean change in standard deviations of the changes, with the interval of the noncentral t distribution.

    :math:`d_z = \bar d / s_d`; the ends are :math:`δ/\sqrt n` for the two noncentralities :math:`δ` that give
    :math:`t = d_z\sqrt n` on n − 1 degrees of freedom each end's tail of the level.

    before, after: Shape ``(n,)``; pairs with NaN are left out.
    Returns d_z, low, high: Below 0 where scores fall.
    Undefined: All NaN with fewer than two pairs, or where all differences are equal.
    Source: Cohen (1988), section 2.3.5; Cumming and Finch (2001), Educational and Psychological
        Measurement 61.
    """
    first, second = known_pairs(before, after)
    change, none = second - first, float("nan")
    if change.size < 2 or _constant(change, first, second):
        return none, none, none
    root, df = float(np.sqrt(change.size)), change.size - 1
    size = float(change.mean() / change.std(ddof=1))
    t, tail = size * root, float(special.ndtr(-normal_quantile(level)))
    # The distribution is the mean of Φ(t·√(v/df) − δ) over v from χ² with df degrees of freedom.
    nodes, weights = _nodes()
    at = t * np.sqrt(2 * special.gammaincinv(df / 2, (nodes + 1) / 2) / df)

    def end(share: float) -> float:
        low, high = t - 10.0 - 2.0 * abs(t), t + 10.0 + 2.0 * abs(t)
        while high - low > _NOISE * max(1.0, abs(t)):
            middle = (low + high) / 2
            above = float(weights @ special.ndtr(at - middle)) / 2 > share
            low, high = (middle, high) if above else (low, middle)
        return (low + high) / 2 / root

    return size, end(1.0 - tail), end(tail)


def rank_biserial(before: ArrayLike, after: ArrayLike) -> float:
    r"""Matched-pairs rank-biserial correlation: how much more of the ranks goes up than down.

    :math:`r = (W_+ - W_-)/(W_+ + W_-)` with the rank sums of :func:`signed_rank`, pairs without a difference
    left out.

    before, after: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [−1, 1]: −1 where no score rises, 1 where none falls; NaN where no pair differs.
    Source: Kerby (2014), Comprehensive Psychology 3.
    """
    doubled, up = _signed(*known_pairs(before, after))
    return float((doubled[up].sum() - doubled[~up].sum()) / doubled.sum()) if doubled.size else float("nan")


def paired_ratio(before: ArrayLike, after: ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
    r"""Change of the mean as a share of the mean before, with Fieller's interval over pairs.

    The change is :math:`\bar y/\bar x - 1`. The interval holds every :math:`ρ - 1` with
    :math:`(\bar y - ρ\bar x)^2 ≤ t^2 (s_{yy} - 2ρ s_{xy} + ρ^2 s_{xx})/n`, :math:`t` on n − 1 degrees of
    freedom: the pairs are a sample, and both scores of a pair vary together.

    before, after: Scores x and y, shape ``(n,)``; pairs with NaN are left out.
    Returns change, low, high: −1 where the mean falls to 0.
    Undefined: All NaN without a pair and where the mean before is not above 0. ``low`` and ``high`` are NaN
        with fewer than two pairs, where all pairs change in one proportion, and where the mean before is not
        told from 0, so that no bounded interval exists.
    Source: Fieller (1954), JRSS B 16, section 3.
    """
    x, y = known_pairs(before, after)
    none = float("nan")
    if x.size < 1 or x.mean() <= _NOISE * max(1.0, float(np.abs(x).max())):
        return none, none, none
    mean_x, mean_y = float(x.mean()), float(y.mean())
    ratio = mean_y / mean_x
    if x.size < 2 or _constant(y - ratio * x, x, y):
        return ratio - 1, none, none
    (s_xx, s_xy), (_, s_yy) = np.cov(x, y) / x.size
    t2 = float(special.stdtrit(x.size - 1, 0.5 + level / 2)) ** 2
    a, b, c = mean_x**2 - t2 * s_xx, mean_x * mean_y - t2 * s_xy, mean_y**2 - t2 * s_yy
    if a <= 0:
        return ratio - 1, none, none
    reach = float(np.sqrt(max(b * b - a * c, 0.0)))
    return ratio - 1, float((b - reach) / a - 1), float((b + reach) / a - 1)


def exchange_test(scores: ArrayLike, at: int) -> tuple[float, float]:
    r"""Exact two-sided p-value that one of several settings is like the others, whatever the rows are.

    If settings are alike, any of the :math:`k` scores of a row might have been that of the setting: p is the
    part of all :math:`k^m` ways in which the sum of its deviations from the means of rows is as far from 0.
    Of two settings the signs of differences are exchanged. How skew rows are does not matter.

    scores: Shape ``(m, k)``, a row a unit, a column a setting, without NaN.
    at: Column of the setting.
    Returns p, p_least: In (0, 1], and the least p of some of these ways: :math:`2^{1-m}` of two settings that
        differ in each row.
    Source: Fisher (1935), The Design of Experiments, section 21; Pitman (1938), Biometrika 29.

    >>> exchange_test([[0.5, 0.3], [0.9, 0.4], [0.2, 0.1]], 0)
    (0.25, 0.25)
    """
    table = np.asarray(scores, np.float64)
    away = table - table.mean(axis=1, keepdims=True)
    reach = float(np.ptp(away, axis=1).sum())
    if not reach > _NOISE * max(1.0, float(np.abs(table).max(initial=0.0))):
        return 1.0, 1.0
    # In whole steps: p is exact for sums of these, which differ from sums of deviations by rounding.
    steps = np.rint((away - away.min(axis=1, keepdims=True)) * (_MOST_SUMS / reach)).astype(np.int64)
    ways, k = np.ones(1), table.shape[1]
    for row in steps:
        longer = np.zeros(ways.size + int(row.max()))
        for step in row.tolist():
            longer[step : step + ways.size] += ways / k
        ways = longer
    far = np.abs(k * np.arange(ways.size) - int(steps.sum()))
    distances = abs(k * int(steps[:, at].sum()) - int(steps.sum())), far[ways > 0].max()
    p, least = (min(1.0, float(ways[far >= distance].sum())) for distance in distances)
    return p, least


def relative_change(
    before: ArrayLike, after: ArrayLike, se_before: ArrayLike, se_after: ArrayLike, *, level: float = 0.95
) -> tuple[float, float, float, float]:
    r"""Change of the mean as a share of the mean before, with Fieller's interval and test.

    The change is :math:`\bar y/\bar x - 1`. With :math:`v_x = Σ_i s_{x,i}^2/n^2`, and :math:`v_y` likewise,
    the interval holds every :math:`ρ - 1` with :math:`(\bar y - ρ\bar x)^2 ≤ z^2 (v_y + ρ^2 v_x)`.

    before, after: Scores x and y, shape ``(n,)``; pairs with NaN are left out.
    se_before, se_after: Their standard errors, the errors of all scores being independent.
    Returns change, low, high, p: ``change`` is −1 where the mean falls to 0 and 1 where it doubles. ``p`` is
        two-sided for a change of 0, which lies in ``[low, high]`` exactly where ``p > 1 − level``.
    Undefined: All NaN without a pair and where the mean before is not above 0. ``low`` and ``high`` are NaN
        where that mean is not told from 0, so that no bounded interval exists, and with ``p`` where a
        standard error is NaN, or all are 0.
    Source: Fieller (1954), JRSS B 16, section 4.
    """
    z = normal_quantile(level)
    x, y = known_pairs(before, after)
    n, none = x.size, float("nan")
    if n < 1 or x.mean() <= _NOISE * max(1.0, float(np.abs(x).max())):
        return none, none, none, none
    mean_x, mean_y = float(x.mean()), float(y.mean())
    ratio = mean_y / mean_x
    known = ~np.isnan(np.asarray(before, np.float64) + np.asarray(after, np.float64))
    v_x, v_y = (float((np.asarray(se, np.float64)[known] ** 2).sum()) / n**2 for se in (se_before, se_after))
    if not v_x + v_y > 0:
        return ratio - 1, none, none, none
    p = float(2 * special.ndtr(-abs(mean_y - mean_x) / np.sqrt(v_x + v_y)))
    # a·ρ² − 2b·ρ + c ≤ 0
    a, b, c = mean_x**2 - z**2 * v_x, mean_x * mean_y, mean_y**2 - z**2 * v_y
    if a <= 0:
        return ratio - 1, none, none, p
    reach = float(np.sqrt(max(b * b - a * c, 0.0)))
    return ratio - 1, (b - reach) / a - 1, (b + reach) / a - 1, p


def _constant(difference: Floats, *sides: Floats) -> bool:
    scale = max([1e-300, *(float(np.abs(side).max(initial=0.0)) for side in sides)])
    return bool(np.ptp(difference) <= _NOISE * scale)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Points and weights of an integral from −1 to 1: more change no digit that is shown."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights


def _signed(first: Floats, second: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Doubled ranks of the differences that are none, and whether each goes up."""
    if not first.size:
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    scale = max(1.0, float(np.abs(first).max()), float(np.abs(second).max()))
    # Differences that are equal but for rounding share a rank.
    change = np.round((second - first) / (scale * _NOISE)) * (scale * _NOISE)
    change = change[change != 0]
    return np.round(2 * mid_ranks(np.abs(change))).astype(np.int64), change > 0


def _exact(doubled: NDArray[np.int64], least: int) -> float:
    """Two-sided p of the smaller rank sum, all sums doubled so that mean ranks are whole."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] = (ways[rank:] + ways[: len(ways) - rank]) / 2
        ways[:rank] /= 2
    return float(min(1.0, 2 * ways[: least + 1].sum()))
