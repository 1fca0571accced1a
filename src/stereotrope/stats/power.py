"""What a comparison of two shares would have found."""

from functools import lru_cache

import numpy as np

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.binomial import binomial
from stereotrope.stats.multiplicity import fisher_exact

_COUNTED_OUT = 400
"""Images of both sides up to which power is counted out over all tables."""


def shift_power(shift: float, n: int, m: int, *, alpha: float) -> float:
    r"""Probability that Fisher's exact test tells two shares apart that lie evenly about one half.

    The shares are :math:`(1 ± d)/2`, where shares vary most: others that differ as much are found at least
    about as often. Up to 400 images all tables are counted out; above, normal:
    :math:`Φ((d - z σ_0 )/σ_1)` with :math:`σ_0^2 = (1/n + 1/m)/4`, :math:`σ_1^2 = (1-d^2)(1/n + 1/m)/4`.

    shift: Difference :math:`d` of the shares, in [0, 1].
    n, m: Images of both sides.
    alpha: Level at which the test rejects, after all correction for many.
    Returns: In [0, 1]; 0 where a side has no image.
    Source: Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, section 4.3.
    """
    if not 0 <= shift <= 1:
        raise UsageError(f"shift_power: shift must lie in [0, 1], found {shift}; pass a difference of shares")
    if min(n, m) < 1:
        return 0.0
    if n + m > _COUNTED_OUT:
        spread = np.sqrt((1 / n + 1 / m) / 4)
        left = np.sqrt(max(1 - shift**2, 1e-12))
        return float(special.ndtr((shift / spread + special.ndtri(alpha / 2)) / left))
    sides = ((n, (1 + shift) / 2), (m, (1 - shift) / 2))
    first, second = (binomial(np.arange(size + 1), size, share) for size, share in sides)
    return float(first @ (_p_of_all(n, m) <= alpha) @ second)


def smallest_shift(n: int, m: int, *, alpha: float, power: float = 0.8) -> float:
    """Least difference of two shares that is found with a probability of ``power``, to one hundredth.

    n, m, alpha: As for :func:`shift_power`.
    Returns: In (0, 1]; NaN where even a share that goes from 0 to 1 would not be found so often.
    """
    low, high = 0, 100
    if shift_power(1.0, n, m, alpha=alpha) < power:
        return float("nan")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shift_power(middle / 100, n, m, alpha=alpha) >= power else (middle, high)
    return high / 100


@lru_cache(maxsize=32)
def _p_of_all(n: int, m: int) -> Floats:
    k, j = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    return fisher_exact(k, n, j, m)
