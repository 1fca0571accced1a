"""Binomial probabilities of whole tables at once."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats


def binomial(x: ArrayLike, n: ArrayLike, p: float) -> Floats:
    r"""Probability :math:`\binom nx p^x (1-p)^{n-x}` of ``x`` of ``n``; 0 of more than there are.

    x, n: Whole numbers of 0 or more, broadcast together.
    """
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    rest = np.maximum(n - x, 0.0)
    ways = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(rest + 1.0)
    return np.where(x <= n, np.exp(ways + special.xlogy(x, p) + special.xlog1py(rest, -p)), 0.0)
