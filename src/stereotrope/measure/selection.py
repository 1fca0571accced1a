"""Intervals of what was chosen among many, widened so that they cover though it was chosen."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import end_at_level, normal_quantile

Size = tuple[float, float | None, float | None]
"""A score with the ends of its interval."""


def chosen_level(level: float, n_chosen: int, n: int) -> float:
    """Level of the intervals of those that are told: 1 − (1 − ``level``)·told/all.

    Of all intervals told, 1 − ``level`` are then expected to miss, however they were chosen (Benjamini and
    Yekutieli 2005, JASA 100).
    """
    return 1 - (1 - level) * min(1.0, max(1, n_chosen) / max(1, n))


def at_level(size: Size, level: float, other: float, *, least: float = 0.0) -> Size:
    """A score with its interval at another level; for ``least`` see :func:`stereotrope.stats.end_at_level`.

    An end that is None stays so. A difference beyond ±1 is none of shares: how far its ends are goes as the
    normal quantile.
    """
    value, *ends = size
    if least < 0 and any(abs(end) > 1 for end in size if end is not None):
        by = float(normal_quantile(other) / normal_quantile(level))
        low, high = (None if end is None else value + by * (end - value) for end in ends)
        return value, low, high
    low, high = (
        None if end is None else float(end_at_level(value, end, level=level, other=other, least=least))
        for end in ends
    )
    return value, low, high


def standing_out(
    value: ArrayLike,
    end: ArrayLike,
    edge: ArrayLike,
    *,
    level: float,
    below: bool = False,
    least: float = 0.0,
) -> tuple[NDArray[np.bool_], float]:
    """Which scores lie above an edge with the whole of intervals that are widened for their being told.

    value, end, edge: Scores, the lower end of each one's interval (NaN: none), and what it must exceed;
        shapes broadcast to ``(n,)``.
    below: Whether they must lie below it: ``end`` is then the upper end.
    least: Where the scale of the scores begins (:func:`stereotrope.stats.end_at_level`).

    Returns: Those that do, as many as can together, and the level of their intervals.
    """
    p, near, limit = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (value, end, edge)))
    side, known = -1.0 if below else 1.0, int((~np.isnan(near)).sum())
    out = (near - limit) * side > 0
    while True:
        n = int(out.sum())
        other = chosen_level(level, n, known)
        out &= (end_at_level(p, near, level=level, other=other, least=least) - limit) * side > 0
        if out.sum() == n:
            return out, other
