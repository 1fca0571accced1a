"""What scores of a distribution read when all groups are equally frequent and n is small."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats


def expected_sum(term: Callable[[Floats], Floats], n: int, k: int) -> float:
    r"""Mean of a sum over groups when ``n`` images fall on ``k`` groups with equal probability.

    :math:`E\left[\sum_{j=1}^k f(x_j/n)\right] = k \sum_{x=0}^n \binom{n}{x} k^{-x} (1 - 1/k)^{n-x} f(x/n)`,
    because each count is binomial.

    term: The function :math:`f` of a share, on arrays.
    n, k: Images and groups.
    Returns: The mean; NaN where ``n`` is 0.
    Raises UsageError: ``k`` is below 1.

    >>> expected_sum(lambda share: abs(share - 0.5), 1, 2)
    1.0
    """
    if k < 1:
        raise UsageError(f"expected_sum: k must be at least 1, found {k}")
    if n < 1:
        return float("nan")
    x = np.arange(n + 1.0)
    return float(k * (_binomial(x, n, 1.0 / k) * term(x / n)).sum())


def expected_tie(n_both: int, n: int) -> float:
    r"""Mean of :math:`|p_a - p_b|` when the ``n_both`` images of two sides fall on either equally often.

    :math:`\sum_x \binom{m}{x} 2^{-m}\,|2x - m| / n` with :math:`m` = ``n_both`` held fixed.

    n_both, n: Images of the two sides, and all images.
    Returns: The mean; NaN where ``n`` is 0.

    >>> expected_tie(1, 2)
    0.5
    """
    if n < 1:
        return float("nan")
    x = np.arange(n_both + 1.0)
    return float((_binomial(x, n_both, 0.5) * np.abs(2 * x - n_both)).sum() / n)


def _binomial(x: Floats, n: int, p: float) -> Floats:
    ways = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0)
    return np.asarray(np.exp(ways + special.xlogy(x, p) + special.xlog1py(n - x, -p)), np.float64)
