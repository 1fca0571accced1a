"""The entropy estimate that small samples need."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats


def chao_shen_entropy(counts: ArrayLike, *, base: float = 2.0) -> Floats:
    """Entropy with Chao and Shen's correction for values that the sample has not shown.

    :math:`-Σ_v \\tilde p_v \\log \\tilde p_v / (1 - (1 - \\tilde p_v)^n)` with
    :math:`\\tilde p_v = C x_v/n` and the coverage :math:`C = 1 - f_1/n`, :math:`f_1` being the number
    of values seen once (``n − 1`` in its place where every value was seen once, so that ``C > 0``).

    counts: Shape ``(…, K)``: how often each value was seen.
    base: Base of the logarithm: 2 gives bits.
    Returns: Shape ``(…)``, 0 or more: not bounded by ``log K``, because values may be unseen.
    Undefined: NaN where the counts sum to 0.
    Raises UsageError: A count is negative.
    Source: Chao and Shen (2003). Nonparametric estimation of Shannon's index of diversity when there are
        unseen species in sample. Environmental and Ecological Statistics 10, eq. 8.

    >>> round(float(chao_shen_entropy([4, 2, 1, 1])), 4)
    2.2771
    """
    table = np.asarray(counts, np.float64)
    if np.any(table < 0):
        raise UsageError("chao_shen_entropy: counts must not be negative")
    n = table.sum(axis=-1, keepdims=True)
    singles = (table == 1).sum(axis=-1, keepdims=True)
    singles = np.where(singles == n, n - 1, singles)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = (1 - singles / n) * table / n
        seen = table > 0
        safe = np.where(seen, p, 0.5)
        term = np.where(seen, safe * np.log(safe) / (1 - (1 - safe) ** n), 0.0)
    entropy = -term.sum(axis=-1) / np.log(base)
    # A single value has p = 1 and log 1 = 0; the sign of that zero is of no interest.
    return np.where(n[..., 0] > 0, entropy + 0.0, np.nan)
