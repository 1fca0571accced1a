"""Whether a share lies above a known one, where the known one may itself be uncertain."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile, wilson

_POINTS = 400
"""Values of an uncertain share that a p-value is averaged over, equally probable."""


def above_interval(
    k: ArrayLike,
    n: ArrayLike,
    reference: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    r"""Interval of a share less a reference that has an interval of its own.

    With :math:`d = \hat p - π` and :math:`(l, u)` Wilson's limits, low
    :math:`= d - \sqrt{(\hat p - l)^2 + (π_u - π)^2}`, high :math:`= d + \sqrt{(u - \hat p)^2 + (π - π_l)^2}`.

    k, n: Counts of successes and of trials; effective numbers are allowed.
    reference, low, high: :math:`π` and its interval of the same level; equal to it where it is known.
    Returns low, high: Arrays in [−1, 1].
    Undefined: NaN where ``n = 0``.
    Source: Zou and Donner (2008), Statistics in Medicine 27.

    >>> known = above_interval(30, 100, 0.25, 0.25, 0.25)
    >>> unsure = above_interval(30, 100, 0.25, 0.15, 0.35)
    >>> [[round(float(end), 3) for end in ends] for ends in (known, unsure)]
    [[-0.031, 0.146], [-0.079, 0.189]]
    """
    count, total = np.asarray(k, np.float64), np.asarray(n, np.float64)
    centre, least, most = (np.asarray(x, np.float64) for x in (reference, low, high))
    first, last = wilson(count, total, level=level)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = count / total
    difference = share - centre
    below = difference - np.hypot(share - first, most - centre)
    above = difference + np.hypot(last - share, centre - least)
    return np.maximum(below, -1.0), np.minimum(above, 1.0)


def above_p(
    k: float, n: float, reference: float, low: float, high: float, *, margin: float = 0.0, level: float = 0.95
) -> float:
    r"""One-sided p-value of :math:`H_0: p - π ≤ ζ`.

    :math:`P(K ≥ k)` with :math:`K` binomial of :math:`n` and :math:`π + ζ`, which is
    :math:`I_{π+ζ}(k, n-k+1)`: exact at any n where :math:`π` is known. Where it is not, the mean of that over
    a normal distribution of :math:`π` with another width to either side, cut to [0, 1]: its level then holds
    on average over what the reference might have been.

    k, n: Counts of successes and of trials; effective numbers are allowed.
    reference, low, high: :math:`π` and its interval of this ``level``; equal to it where it is known.
    margin: :math:`ζ`, at least 0.
    Undefined: NaN where ``n = 0``.
    Raises UsageError: The margin lies outside [0, 1).
    Source: Clopper and Pearson (1934), Biometrika 26; Box (1980), JRSS A 143 (the mean over a prior).

    >>> round(above_p(1, 20, 0.002, 0.002, 0.002), 4), above_p(0, 20, 0.5, 0.5, 0.5)
    (0.0392, 1.0)
    """
    if not 0 <= margin < 1:
        raise UsageError(f"margin must be at least 0 and below 1, found {margin:g}; 0.05 is five points")
    if not n > 0:
        return float("nan")
    if not low <= reference <= high:
        raise UsageError(f"a reference of {reference:g} lies outside its interval {low:g} to {high:g}")
    if k <= 0:
        return 1.0
    points = np.array([reference])
    if low < high:
        steps = special.ndtri((np.arange(_POINTS) + 0.5) / _POINTS) / normal_quantile(level)
        points = reference + np.where(steps > 0, high - reference, reference - low) * steps
    null = np.clip(points, 0.0, 1.0) + margin
    tail = np.where(null >= 1, 1.0, special.betainc(k, n - k + 1, np.minimum(null, 1.0)))
    return float(tail.mean())


def expected_above(n: ArrayLike, share: ArrayLike) -> Floats:
    r"""Mean of :math:`\max(0, K/n - p)` with :math:`K` binomial of :math:`n` and :math:`p`.

    :math:`\frac{ν}{n} \binom{n}{ν} p^ν (1-p)^{n-ν+1}` with :math:`ν = ⌊np⌋ + 1`: what a score without a sign
    reads where nothing is above. Numbers of trials that are not whole are rounded down.

    n, share: Trials and :math:`p` in [0, 1]; shapes broadcast.
    Returns: Array in [0, 1 − p].
    Undefined: NaN where ``n < 1``.
    Source: De Moivre (1730), Miscellanea Analytica; Diaconis and Zabell (1991), Statistical Science 6, eq.
        1.1 (the mean absolute deviation, of which this is half).

    >>> round(float(expected_above(20, 0.5)), 4)
    0.044
    """
    trials, p = np.broadcast_arrays(np.floor(np.asarray(n, np.float64) + 1e-9), np.asarray(share, np.float64))
    usable = trials >= 1
    m, inside = np.where(usable, trials, 1.0), (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    nu = np.minimum(np.floor(m * q + 1e-9) + 1, m)
    chosen = special.gammaln(m + 1) - special.gammaln(nu + 1) - special.gammaln(m - nu + 1)
    found = np.exp(np.log(nu) - np.log(m) + chosen + nu * np.log(q) + (m - nu + 1) * np.log1p(-q))
    return np.where(usable, np.where(inside, found, 0.0), np.nan)


def posterior_log_odds(probabilities: ArrayLike) -> float:
    r"""Log odds that *every* picture shows an attribute, against that none does.

    :math:`\sum_i \log \frac{p_i}{1-p_i}`: Bayes' rule over independent pictures that share one value.

    probabilities: Of each picture, in [0, 1].
    Returns: −∞ or ∞ where a picture is certain.
    Undefined: NaN without pictures, and where one is certain to show it and one certain not to.

    >>> round(posterior_log_odds([0.9, 0.9, 0.2]), 3)
    3.008
    """
    p = np.asarray(probabilities, np.float64)
    if not p.size or ((p >= 1).any() and (p <= 0).any()):
        return float("nan")
    with np.errstate(divide="ignore"):
        return float(np.sum(special.logit(p)))
