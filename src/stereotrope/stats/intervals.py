"""Confidence intervals for shares, differences of shares and correlations."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats

_ROUNDING = 1e-12
_FARTHEST, _HALVINGS = 38.0, 60
"""Standard errors beyond which no p is told apart from 0, and times that this is halved."""


def wilson(k: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    r"""Wilson's score interval of a share.

    With :math:`\hat p = k/n` and :math:`z` the normal quantile of ``1 − (1 − level)/2``, the limits are
    :math:`(\hat p + z^2/2n ± z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}) / (1 + z^2/n)`.

    k, n: Counts of successes and of trials, any shapes that broadcast; effective numbers are allowed.
    Returns low, high: Arrays in [0, 1]. Exactly 0 at ``k = 0`` and 1 at ``k = n``; never of zero width.
    Undefined: NaN where ``n = 0``.
    Raises UsageError: ``k`` is not between 0 and ``n``, or ``level`` not between 0 and 1.
    Source: Wilson (1927), JASA 22; Brown, Cai and DasGupta (2001), Statistical Science 16.

    >>> low, high = wilson(20, 20)
    >>> round(float(low), 2), float(high)
    (0.84, 1.0)
    """
    successes, total = _counts(k, n)
    z, usable = normal_quantile(level), total > 0
    trials = np.where(usable, total, 1.0)
    p = np.where(usable, successes, 0.0) / trials
    centre = p + z * z / (2 * trials)
    reach = z * np.sqrt(np.maximum(p * (1 - p), 0.0) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = np.where(p <= 0, 0.0, np.maximum((centre - reach) / scale, 0.0))
    high = np.where(p >= 1, 1.0, np.minimum((centre + reach) / scale, 1.0))
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def clopper_pearson(k: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    r"""Clopper and Pearson's exact interval of a share, which covers in at least ``level`` of all samples.

    low is the ``(1 − level)/2`` quantile of the beta distribution :math:`B(k, n-k+1)`, high the
    ``(1 + level)/2`` quantile of :math:`B(k+1, n-k)`.

    k, n: Counts of successes and of trials, any shapes that broadcast; effective numbers are allowed.
    Returns low, high: Arrays in [0, 1]. Exactly 0 at ``k = 0`` and 1 at ``k = n``.
    Undefined: NaN where ``n = 0``.
    Raises UsageError: As :func:`wilson`.
    Source: Clopper and Pearson (1934), Biometrika 26.

    >>> low, high = clopper_pearson(0, 20)
    >>> float(low), round(float(high), 3)
    (0.0, 0.168)
    """
    successes, total = _counts(k, n)
    tail = special.ndtr(-normal_quantile(level))
    with np.errstate(invalid="ignore"):
        low = np.where(successes <= 0, 0.0, special.betaincinv(successes, total - successes + 1, tail))
        high = np.where(
            successes >= total, 1.0, special.betaincinv(successes + 1, total - successes, 1 - tail)
        )
    return np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan)


def newcombe(
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    *,
    level: float = 0.95,
    correlation: ArrayLike = 0.0,
    limits: Callable[..., tuple[Floats, Floats]] = wilson,
) -> tuple[Floats, Floats]:
    r"""Newcombe's hybrid score interval of a difference of two shares (his method 10).

    With :math:`d = p_1 - p_2`, the limits :math:`(l_i, u_i)` of both shares (Wilson's) and the correlation
    :math:`r`, low :math:`= d - \sqrt{(p_1-l_1)^2 + (u_2-p_2)^2 - 2r(p_1-l_1)(u_2-p_2)}` and
    high :math:`= d + \sqrt{(u_1-p_1)^2 + (p_2-l_2)^2 - 2r(u_1-p_1)(p_2-l_2)}`.

    k1, n1, k2, n2: Successes and trials of both sides; shapes broadcast, effective numbers allowed.
    correlation: Of the two shares, in [−1, 1]: 0 where they are independent.
    limits: Interval of each share; :func:`clopper_pearson` errs on the safe side where few trials are.
    Returns low, high: Arrays in [−1, 1].
    Undefined: NaN where either side has no trial.
    Source: Newcombe (1998), Statistics in Medicine 17, method 10; with a correlation Zou and Donner (2008),
        Statistics in Medicine 27.
    """
    first, first_n = _counts(k1, n1)
    second, second_n = _counts(k2, n2)
    low1, high1 = limits(first, first_n, level=level)
    low2, high2 = limits(second, second_n, level=level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p1, p2 = first / first_n, second / second_n
    difference, r = p1 - p2, np.asarray(correlation, np.float64)

    def reach(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(a * a + b * b - 2 * r * a * b, 0.0)))

    low, high = difference - reach(p1 - low1, high2 - p2), difference + reach(high1 - p1, p2 - low2)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def newcombe_p(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Floats:
    r"""Two-sided p of a difference of two shares: the :math:`1 - level` whose Newcombe interval ends at 0.

    It is at most 0.05 just where :func:`newcombe` at 0.95 leaves 0 out.

    k1, n1, k2, n2: As there. Effective numbers are taken as they are, whatever level they are meant for.
    Returns: In (0, 1], 1 where the shares are equal; NaN where a side has no trial.
    """
    (first, first_n), (second, second_n) = _counts(k1, n1), _counts(k2, n2)
    first, first_n, second, second_n = np.broadcast_arrays(first, first_n, second, second_n)
    with np.errstate(invalid="ignore", divide="ignore"):
        swap = first / first_n < second / second_n
    # The side with the larger share, and what its complement is on the other: both reach down to meet.
    upper = np.where(swap, second, first), np.where(swap, second_n, first_n)
    rest_n = np.where(swap, first_n, second_n)
    lower = rest_n - np.where(swap, first, second), rest_n
    low, high = np.zeros(swap.shape), np.full(swap.shape, _FARTHEST)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = upper[0] / upper[1] + lower[0] / lower[1] - 1
        for _ in range(_HALVINGS):
            z = (low + high) / 2
            reach = np.hypot(*(k / n - _wilson_low(k, n, z) for k, n in (upper, lower)))
            low, high = np.where(reach < apart, z, low), np.where(reach < apart, high, z)
    known = (upper[1] > 0) & (lower[1] > 0)
    p = np.where(apart > 0, np.maximum(2 * special.ndtr(-low), np.finfo(np.float64).tiny), 1.0)
    return np.asarray(np.where(known, p, np.nan))


def _wilson_low(k: Floats, n: Floats, z: Floats) -> Floats:
    """Wilson's lower limit where it reaches so many standard errors."""
    spread = np.sqrt(np.maximum(k * (n - k) / n, 0.0) + z * z / 4)
    return np.asarray((k + z * z / 2 - z * spread) / (n + z * z))


def fisher_z(r: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    r"""Interval of Pearson's correlation through Fisher's z.

    :math:`\tanh(\operatorname{artanh} r ± z/\sqrt{n-3})`.

    r, n: Correlations in [−1, 1] and the numbers of pairs behind them.
    Returns low, high: Arrays in (−1, 1).
    Undefined: NaN where ``n < 4``, and at ``|r| = 1`` but for rounding, where the
        transform is infinite.
    Source: Fisher (1921), Metron 1.
    """
    correlation, pairs = np.broadcast_arrays(np.asarray(r, np.float64), np.asarray(n, np.float64))
    if np.any(np.abs(correlation) > 1 + _ROUNDING):
        raise UsageError("fisher_z: r must lie in [-1, 1]; pass correlations")
    z = normal_quantile(level)
    usable = (pairs > 3) & (np.abs(correlation) < 1 - _ROUNDING)
    centre = np.arctanh(np.where(usable, correlation, 0.0))
    step = np.where(usable, z / np.sqrt(np.where(usable, pairs - 3, 1.0)), np.nan)
    return np.asarray(np.tanh(centre - step)), np.asarray(np.tanh(centre + step))


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided normal interval of this level reaches to either side."""
    given: Any = level
    if not isinstance(given, Real) or not 0 < float(given) < 1:
        raise UsageError(f"level must lie between 0 and 1, found {level!r}; 0.95 is usual")
    return float(special.ndtri(0.5 + level / 2))


def end_at_level(
    value: ArrayLike, end: ArrayLike, *, level: float, other: float, least: float = 0.0
) -> Floats:
    r"""End of an interval at another level than the one that it was given at.

    It is Wilson's of as many trials as give this end: :math:`n = z^2 e (1 - e) / (e - p)^2` for a share
    :math:`p` with the end :math:`e`. Near 0 and 1 it so moves on as ends of counts do, elsewhere about as the
    normal quantile.

    value, end: A score and one end of its interval; shapes broadcast. What lies beyond the scale is taken for
        its end.
    level, other: Of the end, and of the end that is asked for.
    least: Where the scale of the score begins, which ends at 1: 0 of shares, −1 of differences.
    Returns: Array on the scale. An end that is the score, or an end of the scale, stays.
    Undefined: NaN where an end is.
    Raises UsageError: A level is not between 0 and 1.

    >>> low, _ = wilson(12, 12, level=0.95)
    >>> bool(np.isclose(end_at_level(1.0, low, level=0.95, other=0.999), wilson(12, 12, level=0.999)[0]))
    True
    """
    p, e = (np.clip((np.asarray(x, np.float64) - least) / (1 - least), 0.0, 1.0) for x in (value, end))
    z = normal_quantile(other)
    with np.errstate(invalid="ignore", divide="ignore"):
        trials = (normal_quantile(level) / (e - p)) ** 2 * e * (1 - e)
        reach = np.sqrt(p * (1 - p) * trials + z * z / 4)
        moved = (p * trials + z * (z / 2 + np.sign(e - p) * reach)) / (trials + z * z)
    return np.asarray(least + (1 - least) * np.where(e == p, e, np.clip(moved, 0.0, 1.0)))


def _counts(k: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    successes, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if np.any(successes < 0) or np.any(successes > trials * (1 + 1e-12)):
        raise UsageError("counts: each k must lie between 0 and its n; pass counts, not shares")
    return successes, trials


def jackknife_interval(
    value: float,
    left_out: ArrayLike,
    *,
    level: float = 0.95,
    relative: float = 1e-9,
    reach: float = 1.0,
    bend: float = 0.0,
) -> tuple[float, float]:
    r"""Student's interval with the jackknife's standard error.

    With :math:`v_{(i)}` the score without unit :math:`i` of :math:`m` and :math:`\bar v` their mean,
    :math:`s^2 = \frac{m-1}{m} \sum_i (v_{(i)} - \bar v)^2`; the interval is :math:`v ± t_{m-1} s`. Of a
    plain mean it is the interval that Student gives.

    left_out: The score without each unit in turn, shape ``(m,)``; NaN ones are left out.
    relative: Standard errors up to this part of the score are taken for rounding: nothing varies.
    reach, bend: How many times as far it reaches for what crosses the units (:meth:`Across.reach`), and the
        standard error that is added in quadrature (:meth:`Across.bend`).
    Returns low, high: NaN with fewer than two units, or where the score is the same whichever is left out.
    Source: Tukey (1958), Ann. Math. Statist. 29; Efron and Stein (1981), Ann. Statist. 9 (the variance is too
        large rather than too small).
    """
    scores = np.asarray(left_out, np.float64)
    scores = scores[~np.isnan(scores)]
    m = len(scores)
    normal_quantile(level)
    if m < 2:
        return float("nan"), float("nan")
    error = float(np.sqrt((m - 1) / m * np.sum((scores - scores.mean()) ** 2)))
    if not error > relative * max(1.0, abs(value)):
        return float("nan"), float("nan")
    half = float(special.stdtrit(m - 1, 0.5 + level / 2)) * float(np.hypot(reach * error, bend))
    return value - half, value + half
