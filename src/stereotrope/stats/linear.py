"""Intervals of weighted sums of numbers that have intervals of their own."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats.arrays import Floats

_CLOSE = 1e-12


def linear_interval(
    values: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    weights: ArrayLike,
    *,
    floors: ArrayLike = -np.inf,
    tops: ArrayLike = np.inf,
) -> tuple[Floats, Floats]:
    r"""Interval of :math:`Σ_i w_i v_i` by square-and-add of the intervals :math:`(l_i, u_i)` of its terms.

    low :math:`= Σ w_i v_i - \sqrt{Σ_{w_i > 0} w_i^2 (v_i - l_i)^2 + Σ_{w_i < 0} w_i^2 (u_i - v_i)^2}`, high
    likewise: of two shares with Wilson's limits and weights 1 and −1 Newcombe's. An end that lies where its
    scale does says less than how far errors reach there: what is left to it is added in full.

    values, lows, highs, weights: Shape ``(…, m)``; numbers are independent, and each within its interval.
    floors, tops: Where the scale of each ends, such as the noise floor of a divergence.
    Returns low, high: Shape ``(…)``; NaN where an interval is.
    Source: Zou and Donner (2008), Statistics in Medicine 27; Newcombe (1998), Statistics in Medicine 17.

    >>> [round(float(end), 4) for end in linear_interval([0.5, 0.2], [0.4, 0.1], [0.6, 0.4], [0.5, 0.5])]
    [0.2793, 0.4618]
    """
    v, low, high, w = np.broadcast_arrays(
        *(np.asarray(x, np.float64) for x in (values, lows, highs, weights))
    )
    up, size = w > 0, np.abs(w)
    of_low, of_high = size * (v - low), size * (high - v)
    cut_low, cut_high = low <= np.asarray(floors) + _CLOSE, high >= np.asarray(tops) - _CLOSE
    below = _reach(np.where(up, of_low, of_high), np.where(up, cut_low, cut_high))
    above = _reach(np.where(up, of_high, of_low), np.where(up, cut_high, cut_low))
    middle = (w * v).sum(axis=-1)
    return np.asarray(middle - below), np.asarray(middle + above)


def _reach(away: Floats, cut: NDArray[np.bool_]) -> Floats:
    """Root of the sum of squares, and what is cut in full."""
    squares, whole = np.where(cut, 0.0, away) ** 2, np.where(cut, away, 0.0)
    return np.asarray(np.sqrt(squares.sum(axis=-1)) + whole.sum(axis=-1))
