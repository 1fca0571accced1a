"""How far annotators and scores agree."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats, known_pairs, mid_ranks


def cohen_kappa(confusion: ArrayLike) -> Floats:
    """Cohen's κ of two annotators: agreement beyond what their value shares alone would give.

    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_o` the share on the diagonal and
    :math:`p_e = Σ_v p_{v·} p_{·v}`.

    confusion: Counts of shape ``(…, K, K)``: rows one annotator, columns the other.
    Returns: Shape ``(…)``, in [−1, 1]; 0 is chance, 1 full agreement.
    Undefined: NaN without a pair, and where both gave one and the same value throughout (:math:`p_e = 1`).
    Source: Cohen (1960), Educ. Psychol. Meas. 20, eq. 1.
    """
    table = np.asarray(confusion, np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise UsageError(f"a confusion matrix has as many rows as columns, found the shape {table.shape}")
    if np.any(table < 0):
        raise UsageError("a confusion matrix holds counts, found a negative one")
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(table, axis1=-2, axis2=-1) / total
        expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.isclose(expected, 1.0, rtol=0, atol=1e-12), np.nan, kappa)


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of the pairs in which both values are known.

    x, y: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [−1, 1]; NaN with fewer than two pairs or where one side does not vary.
    """
    return _correlate(*known_pairs(x, y))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation, mean ranks for ties; as :func:`pearson` of the ranks of known pairs."""
    return _correlate(*map(mid_ranks, known_pairs(x, y)))


def _correlate(x: Floats, y: Floats) -> float:
    if x.size < 2:
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    spread = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    # A constant side leaves rounding noise of the order of eps × its size, not a true spread.
    if spread <= 1e-13 * max(1.0, float(np.abs(x).max() * np.abs(y).max())):
        return float("nan")
    return float(np.clip(a @ b / spread, -1.0, 1.0))
