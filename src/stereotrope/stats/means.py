"""Means of scores with their intervals, and how far a share strays with the number of pictures."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import jackknife_interval
from stereotrope.stats.paired import paired_t

_EQUAL = 1e-12
"""Distance that is rounding."""
_CLOSE = 1e-13
"""Probability that is as good as none."""
_SKEW = 0.3
"""Skewness by the square root of the number of scores above which Student's interval is not trusted."""
_STEP = 0.1
_STEPS: Floats = np.exp(np.arange(-25.0, 25.0, _STEP))
"""Where an integral over a half-line is summed, evenly in its logarithm."""
_FEW, _MOST = 40, 500
"""Scores up to which every other step will do (1e-8), and all of them; of more, Student's interval stands."""


class MeanInterval(NamedTuple):
    """A mean with its interval, and how that was made."""

    mean: float
    low: float
    high: float
    method: str


def mean_interval(
    values: ArrayLike,
    *,
    level: float = 0.95,
    scale: tuple[float | None, float | None] = (None, None),
    reach: float = 1.0,
) -> MeanInterval:
    r"""Mean of independent scores with Student's t interval, drawn within the scale of the scores.

    :math:`\bar s ± t_{m-1}·sd/\sqrt m`, cut where the scale has one end. Between a least value :math:`a` and
    a greatest :math:`b` it is drawn on the scale of :math:`x = \ln\frac{s-a}{b-s}`, as
    :math:`x(\bar s) ± t_{m-1}·\frac{sd}{\sqrt m}·\frac{b-a}{(\bar s-a)(b-\bar s)}`; and where scores lie
    unevenly for their number (up to 500 with a skewness above :math:`0.3\sqrt m`) it takes in Gaffke's
    interval, which holds at any distribution between the ends: few scores far from the others make t narrow.

    Gaffke's lower end is the :math:`(1-level)/2` quantile of :math:`w_0 a + Σ_i w_i s_i`, the upper one the
    other quantile of :math:`Σ_i w_i s_i + w_0 b`, with weights :math:`w` even on all that add up to 1. Of
    scores at both ends only it is Clopper and Pearson's.

    values: Shape ``(m,)``, without NaN.
    scale: Least and greatest possible score; None where there is none.
    reach: How many times as far it reaches, as of :func:`mean_over_units`.
    Undefined: The mean without a value is NaN; the interval is NaN below two values and where all are equal.
    Source: Student (1908), Biometrika 6; Gaffke (2005), Math. Methods of Statistics 14; Learned-Miller and
        Thomas (2020), arXiv:1905.06208.

    >>> few = mean_interval([0.0, 0.0, 0.0, 0.1, 0.9], scale=(0, 1))
    >>> [round(end, 2) for end in few[1:3]], few.method
    ([0.01, 0.84], 'the wider of t on the logit scale and Gaffke')
    """
    scores = np.asarray(values, np.float64)
    return mean_over_units(scores, np.arange(scores.size), level=level, scale=scale, reach=reach)


def mean_over_units(
    values: ArrayLike,
    units: ArrayLike,
    *,
    level: float = 0.95,
    scale: tuple[float | None, float | None] = (None, None),
    reach: float = 1.0,
    linear: bool = False,
) -> MeanInterval:
    r"""Mean over pictures that come in units, with Student's interval by the jackknife over units.

    The mean counts each picture alike; each unit is left out once (:func:`jackknife_interval`), and the
    interval is made as that of :func:`mean_interval`, which it is where every unit is one picture.

    values, units: Shape ``(n,)``, without NaN; unit of each as a number from 0 on.
    reach: How many times as far it reaches for what crosses the units (:meth:`Across.reach`).
    linear: Whether the values are those of a score to first order, which may lie beyond the scale: Gaffke's
        interval is not taken in.
    Undefined: The mean without a value is NaN; the interval is NaN below two units and where leaving out any
        changes nothing.
    """
    scores, which = np.asarray(values, np.float64), np.asarray(units, np.int64)
    if not scores.size:
        return MeanInterval(np.nan, np.nan, np.nan, "")
    sums = np.asarray(np.bincount(which, scores), np.float64)
    sizes = np.asarray(np.bincount(which), np.float64)
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    mean, left = float(scores.mean()), scores.size - sizes
    without = np.divide(sums.sum() - sums, left, out=np.full(left.size, np.nan), where=left > 0)
    low, high = jackknife_interval(mean, without, level=level, reach=reach)
    low, high = _within(mean, (high - low) / 2, scale)
    least, greatest = scale
    if least is None or greatest is None:
        return MeanInterval(mean, low, high, "t" + ", cut at the ends of the scale" * (scale != (None, None)))
    if linear or np.isnan(low) or not _uneven(sums, sizes):
        return MeanInterval(mean, low, high, "t on the logit scale")
    tail = (1 - level) / 2
    below, above = _gaffke_end(sums, sizes, least, tail), -_gaffke_end(-sums, sizes, -greatest, tail)
    low = min(low, max(below - (reach - 1) * (mean - below), least))
    high = max(high, min(above + (reach - 1) * (above - mean), greatest))
    return MeanInterval(mean, low, high, "the wider of t on the logit scale and Gaffke")


def mean_p(values: ArrayLike, null: float, *, scale: tuple[float, float]) -> float:
    r"""Two-sided p of the test that belongs to :func:`mean_interval`: Student's, or the larger one.

    values: Shape ``(m,)``, without NaN.
    Returns: In [0, 1]; NaN below two values and where all are equal.
    """
    scores = np.asarray(values, np.float64)
    p = paired_t(np.full(scores.size, null), scores)
    if np.isnan(p) or not _uneven(scores, np.ones(scores.size)):
        return p
    tails = []
    for sign, end in zip((1.0, -1.0), scale, strict=True):
        whole, parts = _with_an_end(sign * scores, np.ones(scores.size), sign * end)
        tails.append(_below(whole - parts * sign * null))
    return max(p, min(1.0, 2 * min(tails)))


def _uneven(sums: Floats, sizes: Floats) -> bool:
    """Whether units are too skew for their number that Student's interval held."""
    away = sums - sizes * (sums.sum() / sizes.sum())
    spread = float(np.mean(away**2))
    if not 3 <= sums.size <= _MOST or spread <= 0:
        return False
    return bool(abs(np.mean(away**3)) > _SKEW * np.sqrt(sums.size) * spread**1.5)


def _gaffke_end(sums: Floats, sizes: Floats, least: float, tail: float) -> float:
    """Lower end of Gaffke's interval."""
    whole, parts = _with_an_end(sums, sizes, least)

    def over(at: float) -> float:
        return _below(whole - parts * at) - tail

    # The secant, whose old end counts half where it stays (Illinois).
    low, high = least, float(sums.sum() / sizes.sum())
    under, above = over(low), over(high)
    while above > 0 and high - low > _EQUAL:
        at = high - above * (high - low) / (above - under)
        now = over(at)
        if abs(now) < _CLOSE:
            return at
        if now < 0:
            low, under, above = at, now, above / 2
        else:
            high, above, under = at, now, under / 2
    return high


def _with_an_end(sums: Floats, sizes: Floats, end: float) -> tuple[Floats, Floats]:
    """The units and one more, all of whose scores are an end of the scale."""
    size = float(sizes.mean())
    return np.append(sums, size * end), np.append(sizes, size)


def _below(gaps: Floats) -> float:
    r"""How probable :math:`Σ_i E_i g_i ≤ 0` is, :math:`E_i` exponential (Imhof 1961, two degrees each)."""
    far = float(np.abs(gaps).max())
    if not far:
        return 1.0
    every = 2 if gaps.size <= _FEW else 1
    waves = np.prod(1 / (1 + 1j * np.multiply.outer(_STEPS[::every], gaps / far)), axis=1)
    return float(0.5 + every * _STEP / np.pi * waves.imag.sum())


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
