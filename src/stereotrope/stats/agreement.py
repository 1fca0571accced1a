"""How far two annotators agree on pictures that both have labelled."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats


def accuracy(confusion: ArrayLike) -> Floats:
    """Share of the pairs on the diagonal of a confusion matrix.

    confusion: Counts of shape ``(…, K, K)``.
    Returns: Shape ``(…)``, in [0, 1]; NaN without a pair.
    """
    table = _square(confusion)
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.trace(table, axis1=-2, axis2=-1) / total)


def cohen_kappa(confusion: ArrayLike) -> Floats:
    """Cohen's κ of two annotators: agreement beyond what their value shares alone would give.

    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_o` the share on the diagonal and
    :math:`p_e = Σ_v p_{v·} p_{·v}`.

    confusion: Counts of shape ``(…, K, K)``: rows one annotator, columns the other.
    Returns: Shape ``(…)``, in [−1, 1]; 0 is chance, 1 full agreement.
    Undefined: NaN without a pair, and where both gave one and the same value throughout (:math:`p_e = 1`).
    Source: Cohen (1960), Educ. Psychol. Meas. 20, eq. 1.
    """
    table = _square(confusion)
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(table, axis1=-2, axis2=-1) / total
        expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.isclose(expected, 1.0, rtol=0, atol=1e-12), np.nan, kappa)


def _square(confusion: ArrayLike) -> Floats:
    table = np.asarray(confusion, np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise UsageError(f"a confusion matrix has as many rows as columns, found the shape {table.shape}")
    if np.any(table < 0):
        raise UsageError("a confusion matrix holds counts, found a negative one")
    return table
