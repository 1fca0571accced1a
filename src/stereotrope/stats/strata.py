"""Whether two sides are alike in each of a few strata, by exchanging members inside these alone."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special

_MOST_SUMS = 20_000
"""Different sums of gaps that are told apart."""
_TIE = 1e-6


def strata_test(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> tuple[float, float]:
    r"""Exact two-sided p-value that both sides have one share in each stratum, whatever that share is.

    The statistic is :math:`\sum_s (k_{1s}/n_{1s} - k_{2s}/n_{2s})`. Members change sides inside their stratum
    only, so that each :math:`k_{1s}` is hypergeometric; p is how probable a sum as far from 0 is. Members of
    strata of unlike sizes weigh so to about a part in 20,000 of the greatest sum.

    k1, n1, k2, n2: Successes and trials of both sides by stratum, shape ``(m,)``; whole numbers, at least one
        trial each.
    Returns p, p_least: In (0, 1], and the least p that the same successes could have had.
    Source: Gart (1970), Biometrika 57 (the conditional distribution of several tables).

    >>> [round(p, 4) for p in strata_test([5, 5], [5, 5], [0, 1], [5, 5])]
    [0.0002, 0.0002]
    """
    each = []
    for k, n, j, m in np.stack([np.asarray(x, np.float64) for x in (k1, n1, k2, n2)], axis=1).tolist():
        x = np.arange(max(0.0, k + j - m), min(k + j, n) + 1)
        ways = -sum(special.gammaln(y + 1) for y in (x, n - x, k + j - x, m - k - j + x))
        each.append((int(k - x[0]), 1 / n + 1 / m, special.softmax(ways)))
    scale = _MOST_SUMS / max(_TIE, sum(gap * (own.size - 1) for _, gap, own in each))
    odds, seen, middle = np.ones(1), 0, 0.0
    for at, gap, own in each:
        # A member weighs whole steps, so that sums which are as far from 0 stay so.
        step = max(1, round(gap * scale))
        longer = np.zeros(odds.size + step * (own.size - 1))
        for more, part in enumerate(own.tolist()):
            longer[step * more : step * more + odds.size] += part * odds
        odds, seen, middle = longer, seen + step * at, middle + step * float(own @ np.arange(own.size))
    far = np.abs(np.arange(odds.size) - middle)
    tails = [float(odds[far >= end - _TIE].sum()) for end in (far[seen], max(far[0], far[-1]))]
    p, least = np.clip(tails, np.finfo(np.float64).tiny, 1.0).tolist()
    return p, least
