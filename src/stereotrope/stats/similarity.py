"""How alike vectors are on average, without comparing every two."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import jackknife_interval
from stereotrope.stats.unified import scatter_likeness

_MOST_FLAT = 200
"""Units up to which it counts that the slope of the score is not known: of more it hardly does."""


def mean_cosine(
    sums: ArrayLike, n: ArrayLike, *, level: float = 0.95, reach: float = 1.0, bend: float = 0.0
) -> tuple[float, float, float]:
    r"""Mean cosine of every two of :math:`n` unit vectors, from the sums of vectors of each unit.

    :math:`\frac{\lVert Σ_i x_i \rVert^2 - n}{n(n-1)}`, in time that grows with the vectors and not with their
    pairs. The interval is Student's by the jackknife over units (:func:`jackknife_interval`).
    The score is nearly the square of the mean vector's length, which is least where kinds of vectors are
    balanced: there it is flat, and the error that is seen too small. With :math:`S` the variance of that
    vector the square of the slope is greater in other samples by :math:`4\,\mathrm{tr}\,S^2` on average, and
    so much is added to the squared error of the upper end, of up to 200 units.

    sums, n: Shapes ``(units, d)`` and ``(units,)``: the sum of the vectors of each unit, and their number.
    reach, bend: As of :func:`jackknife_interval`.
    Returns mean, low, high: In [−1, 1].
    Undefined: The mean below two vectors is NaN; the interval below two units, where leaving out any leaves
        fewer than two vectors, and where it changes nothing.
    Source: Tukey (1958), Annals of Mathematical Statistics 29.

    >>> round(mean_cosine([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, 1])[0], 3)
    0.333
    """
    of_units, sizes = np.asarray(sums, np.float64), np.asarray(n, np.float64)
    whole, total = of_units.sum(axis=0), float(sizes.sum())
    value = _mean(float(whole @ whole), total)
    if np.isnan(value):
        return value, np.nan, np.nan
    squares = whole @ whole - 2 * of_units @ whole + np.einsum("ij,ij->i", of_units, of_units)
    without = np.array([_mean(square, total - size) for square, size in zip(squares, sizes, strict=True)])
    beside = reach * _flat(of_units - np.outer(sizes, whole / total), total)
    low, _ = jackknife_interval(value, without, level=level, reach=reach, bend=bend)
    _, high = jackknife_interval(value, without, level=level, reach=reach, bend=float(np.hypot(bend, beside)))
    return value, float(np.maximum(low, -1.0)), float(np.minimum(high, 1.0))


def _flat(deviations: Floats, n: float) -> float:
    r"""Root of :math:`4\,\mathrm{tr}\,S^2`, without what few units add to that of their own variance."""
    m = len(deviations)
    if not 2 < m <= _MOST_FLAT:
        return 0.0
    trace = float((deviations**2).sum()) * m / (m - 1) / n**2
    likeness = max(scatter_likeness(deviations.T) - 1 / (m - 1), 0.0)
    return 2 * trace * float(np.sqrt(likeness * (m - 1) ** 2 / ((m - 2) * (m + 1))))


def _mean(square: float, n: float) -> float:
    return float(np.clip((square - n) / (n * (n - 1)), -1.0, 1.0)) if n > 1 else np.nan


def unit_sums(x: Floats, units: ArrayLike, sums: Floats) -> None:
    """Add vectors, the rows of ``x``, to the sums of their units."""
    code = np.asarray(units, np.int64)
    order = np.argsort(code, kind="stable")
    first = np.flatnonzero(np.diff(code[order], prepend=-1))
    sums[code[order][first]] += np.add.reduceat(x[order], first, axis=0)
