"""Means of scores with their intervals, and how far a share strays with the number of pictures."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import jackknife_interval

_EQUAL = 1e-12
"""Distance that is rounding."""


def mean_interval(
    values: ArrayLike, *, level: float = 0.95, scale: tuple[float | None, float | None] = (None, None)
) -> tuple[float, float, float]:
    r"""Mean of independent scores with Student's t interval, drawn within the scale of the scores.

    :math:`\bar s ± t_{m-1}·sd/\sqrt m`, cut where the scale has one end. Between a least value :math:`a` and
    a greatest :math:`b` it is drawn on the scale of :math:`x = \ln\frac{s-a}{b-s}`, as
    :math:`x(\bar s) ± t_{m-1}·\frac{sd}{\sqrt m}·\frac{b-a}{(\bar s-a)(b-\bar s)}`.

    values: Shape ``(m,)``, without NaN.
    scale: Least and greatest possible score; None where there is none.
    Returns mean, low, high.
    Undefined: The mean without a value is NaN; the interval is NaN below two values and where all are equal.
    """
    scores = np.asarray(values, np.float64)
    mean = float(scores.mean()) if scores.size else np.nan
    if scores.size < 2 or float(np.ptp(scores)) <= _EQUAL:
        return mean, np.nan, np.nan
    quantile = special.stdtrit(scores.size - 1, 0.5 + level / 2)
    return mean, *_within(mean, float(quantile * scores.std(ddof=1) / np.sqrt(scores.size)), scale)


def _within(mean: float, reach: float, scale: tuple[float | None, float | None]) -> tuple[float, float]:
    """An interval that reaches so far on the scale of the scores, or of their logit."""
    least, greatest = scale
    if least is not None and greatest is not None:
        below, above = max(mean - least, _EQUAL), max(greatest - mean, _EQUAL)
        at, far = np.log(below / above), reach * (1 / below + 1 / above)
        low, high = least + (greatest - least) * special.expit([at - far, at + far])
        return float(low), float(high)
    low, high = mean - reach, mean + reach
    return low if least is None else max(low, least), high if greatest is None else min(high, greatest)


def mean_over_units(
    values: ArrayLike,
    units: ArrayLike,
    *,
    level: float = 0.95,
    scale: tuple[float | None, float | None] = (None, None),
) -> tuple[float, float, float]:
    r"""Mean over pictures that come in units, with Student's interval by the jackknife over units.

    The mean counts each picture alike; each unit is left out once (:func:`jackknife_interval`), and the
    interval is drawn within the scale as that of :func:`mean_interval`, which it is where every unit is one
    picture.

    values, units: Shape ``(n,)``, without NaN; unit of each as a number from 0 on.
    Returns mean, low, high.
    Undefined: The mean without a value is NaN; the interval is NaN below two units and where leaving out any
        changes nothing.
    """
    scores, which = np.asarray(values, np.float64), np.asarray(units, np.int64)
    if not scores.size:
        return np.nan, np.nan, np.nan
    sums, sizes = np.bincount(which, scores), np.bincount(which)
    mean, left = float(scores.mean()), scores.size - sizes
    without = np.divide(sums.sum() - sums, left, out=np.full(left.size, np.nan), where=left > 0)
    low, high = jackknife_interval(mean, without, level=level)
    return mean, *_within(mean, (high - low) / 2, scale)


def share_deviation(p: ArrayLike, n: ArrayLike) -> Floats:
    r"""Mean absolute deviation of a share among ``n`` pictures drawn with replacement, in closed form.

    With :math:`X \sim B(n, p)` and :math:`m = \lfloor np \rfloor + 1`,
    :math:`E|X/n - p| = \frac{2m}{n}(1-p)\binom{n}{m}p^m(1-p)^{n-m}`.

    p, n: Shares in [0, 1] and whole numbers of pictures from 1 on; shapes broadcast.
    Returns: In [0, 0.5]; 0 where ``p`` is 0 or 1, about :math:`\sqrt{2p(1-p)/(πn)}` for large ``n``.
    Raises UsageError: A share outside [0, 1], or a number that is no whole one from 1 on.
    Source: De Moivre (1730), Miscellanea Analytica; Diaconis and Zabell (1991), Statistical Science 6.

    >>> round(float(share_deviation(0.5, 20)), 4)
    0.0881
    """
    share, number = np.broadcast_arrays(np.asarray(p, np.float64), np.asarray(n, np.float64))
    if not ((share >= 0) & (share <= 1)).all() or not ((number >= 1) & (number == np.floor(number))).all():
        raise UsageError("share_deviation: shares must lie in [0, 1] and numbers be whole, from 1 on")
    inside = (share > 0) & (share < 1)
    q = np.where(inside, share, 0.5)
    # A product that is whole but for rounding is taken as whole: both sides of it give the same number.
    m = np.minimum(np.floor(number * q) + 1, number)
    log_term = (
        special.gammaln(number + 1) - special.gammaln(m + 1) - special.gammaln(number - m + 1)
        + special.xlogy(m, q) + special.xlog1py(number - m + 1, -q)
    )  # fmt: skip
    return np.where(inside, 2 * m / number * np.exp(log_term), 0.0)


def shuffled_difference(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> tuple[Floats, Floats]:
    r"""Mean and variance of :math:`|p_1 - p_2|` where the pictures of two sides are shuffled between them.

    Of :math:`K = k_1 + k_2` successes :math:`X` fall on the first side, hypergeometric:
    :math:`E = Σ_x P(X = x)\,|x/n_1 - (K - x)/n_2|`: what sides with equal shares read on average.

    k1, n1, k2, n2: Successes and trials of both sides, whole numbers, shape ``(m,)``.
    Returns mean, variance: Shape ``(m,)``; NaN where a side has no trial.
    """
    counts = np.stack([np.asarray(x, np.float64) for x in (k1, n1, k2, n2)])
    mean, variance = (np.full(counts.shape[1], np.nan) for _ in range(2))
    tried = np.flatnonzero((counts[1] > 0) & (counts[3] > 0))
    if not tried.size:
        return mean, variance
    k, n, j, m = counts[:, tried]
    both = k + j
    low = np.maximum(0, both - m)
    lengths = (np.minimum(both, n) - low + 1).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    x = np.arange(lengths.sum()) - np.repeat(starts - low, lengths)
    n_x, m_x, both_x = (np.repeat(side, lengths) for side in (n, m, both))
    log_ways = -sum(special.gammaln(y + 1) for y in (x, n_x - x, both_x - x, m_x - both_x + x))
    odds = np.exp(log_ways - np.repeat(np.maximum.reduceat(log_ways, starts), lengths))
    apart = np.abs(x / n_x - (both_x - x) / m_x)
    total, first, second = (np.add.reduceat(odds * y, starts) for y in (1.0, apart, apart**2))
    mean[tried], variance[tried] = first / total, np.maximum(second / total - (first / total) ** 2, 0.0)
    return mean, variance
