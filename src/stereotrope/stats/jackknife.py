"""Intervals from a score with each unit left out once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from stereotrope.stats.intervals import normal_quantile


def jackknife_interval(
    value: float, left_out: ArrayLike, *, level: float = 0.95, relative: float = 1e-9
) -> tuple[float, float]:
    r"""Student's interval with the jackknife's standard error.

    With :math:`v_{(i)}` the score without unit :math:`i` of :math:`m` and :math:`\bar v` their mean,
    :math:`s^2 = \frac{m-1}{m} \sum_i (v_{(i)} - \bar v)^2`; the interval is :math:`v ± t_{m-1} s`. Of a
    plain mean it is the interval that Student gives.

    left_out: The score without each unit in turn, shape ``(m,)``; NaN ones are left out.
    relative: Standard errors up to this part of the score are taken for rounding: nothing varies.
    Returns low, high: NaN with fewer than two units, or where the score is the same whichever is left out.
    Source: Tukey (1958), Annals of Mathematical Statistics 29; Efron and Stein (1981), Annals of Statistics 9
        (the variance is too large rather than too small).

    >>> [round(end, 3) for end in jackknife_interval(2.0, [2.5, 2.0, 1.5])]
    [-0.484, 4.484]
    """
    scores = np.asarray(left_out, np.float64)
    scores = scores[~np.isnan(scores)]
    m = len(scores)
    normal_quantile(level)
    if m < 2:
        return float("nan"), float("nan")
    error = float(np.sqrt((m - 1) / m * np.sum((scores - scores.mean()) ** 2)))
    if not error > relative * max(1.0, abs(value)):
        return float("nan"), float("nan")
    half = float(special.stdtrit(m - 1, 0.5 + level / 2)) * error
    return value - half, value + half
