"""How sure a rank correlation is."""

import math
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.agreement import spearman
from stereotrope.stats.arrays import Floats, known_pairs, mid_ranks
from stereotrope.stats.intervals import normal_quantile

_FEWEST = 5
"""Pairs below which no interval is given."""
_COUNTED_OUT = 8
"""Pairs up to which the test counts out all orders."""
_EQUAL = 1e-12


def spearman_interval(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
    r"""Spearman's ρ, mean ranks for ties, with an interval that holds for any dependence.

    On Fisher's scale, :math:`\tanh(\operatorname{artanh} ρ ± h)`, :math:`h` the larger of
    :math:`z\sqrt{(1+ρ^2/2)/(m-3)}`, which is right for normal scores, and
    :math:`t_{m-2}\,sd(ψ)/((1-ρ^2)\sqrt m)` with :math:`ψ_i` the influence of each pair. Of mean ranks in
    [0, 1] less 1/2, :math:`F_i` and :math:`G_i`, with variances :math:`v_F, v_G`, but for a constant
    :math:`ψ_i = c_i/\sqrt{v_F v_G} + \frac{ρ}{8}(τ_i^2/v_F + τ_i'^2/v_G)`, where
    :math:`c_i = F_iG_i + \frac1m Σ_{j: x_j ≥ x_i} G_j + \frac1m Σ_{j: y_j ≥ y_i} F_j` (ties count half) and
    :math:`τ_i, τ_i'` are the parts of the pairs whose x, and whose y, is tied with it.

    x, y: Shape ``(m,)``; pairs with NaN are left out.
    Returns ρ, low, high.
    Undefined: ρ is NaN where either does not vary; the interval below 5 pairs, and at \|ρ\| = 1.
    Source: Bonett and Wright (2000), Psychometrika 65; Efron (1982), The Jackknife, chapter 6 (the
        infinitesimal jackknife).

    >>> [round(end, 3) for end in spearman_interval([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5])]
    [0.829, -0.127, 0.986]
    """
    z = normal_quantile(level)
    first, second = known_pairs(x, y)
    m, rho = first.size, spearman(first, second)
    if m < _FEWEST or not abs(rho) < 1 - _EQUAL:
        return rho, np.nan, np.nan
    f, g = ((mid_ranks(side) - 0.5) / m - 0.5 for side in (first, second))
    v_f, v_g = float((f * f).mean()), float((g * g).mean())
    influence = (f * g + _beyond(first, g) + _beyond(second, f)) / np.sqrt(v_f * v_g)
    influence += rho / 8 * (_tied(first) ** 2 / v_f + _tied(second) ** 2 / v_g)
    of_normal = z * float(np.sqrt((1 + rho * rho / 2) / (m - 3)))
    error = float(influence.std(ddof=1)) / np.sqrt(m) / (1 - rho * rho)
    at, reach = np.arctanh(rho), max(of_normal, float(special.stdtrit(m - 2, 0.5 + level / 2)) * error)
    return rho, float(np.tanh(at - reach)), float(np.tanh(at + reach))


def spearman_p(x: ArrayLike, y: ArrayLike) -> float:
    r"""Two-sided p-value that the order of the one says nothing on that of the other.

    Up to 8 pairs the part of all :math:`m!` orders in which :math:`|ρ|` is as large, ties as they are.
    Beyond, Student's t on :math:`m - 2` degrees of freedom of :math:`ρ\sqrt{(m-2)/(1-ρ^2)}`, never below
    :math:`2/m!`.

    x, y: Shape ``(m,)``; pairs with NaN are left out.
    Returns: In (0, 1]; NaN below three pairs, and where either does not vary.
    Source: Spearman (1904), Am. J. Psychology 15; Kendall and Gibbons (1990), Rank Correlation Methods.
    """
    first, second = known_pairs(x, y)
    m, rho = first.size, spearman(first, second)
    if m < 3 or np.isnan(rho):
        return float("nan")
    if m <= _COUNTED_OUT:
        f, g = (ranks - ranks.mean() for ranks in map(mid_ranks, (first, second)))
        every = np.abs(g[_orders(m)] @ f)
        return float((every >= abs(f @ g) - 1e-9).mean())
    t = abs(rho) * np.sqrt((m - 2) / max(1 - rho * rho, _EQUAL))
    least = math.exp(max(math.log(2) - math.lgamma(m + 1), -700.0))
    return min(1.0, max(float(2 * special.stdtr(m - 2, -t)), least))


@lru_cache(maxsize=_COUNTED_OUT)
def _orders(m: int) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    return np.array(list(permutations(range(m))))


def _beyond(x: Floats, of: Floats) -> Floats:
    """Of each, the mean over all pairs of ``of`` where ``x`` is greater, those with an equal one by half."""
    _, code = np.unique(x, return_inverse=True)
    sums = np.bincount(code, of)
    above = sums[::-1].cumsum()[::-1] - sums
    return np.asarray((above + sums / 2)[code] / x.size)


def _tied(x: Floats) -> Floats:
    """Of each, the part of all pairs whose ``x`` is equal."""
    _, code, n = np.unique(x, return_inverse=True, return_counts=True)
    return np.asarray((n / x.size)[code])
