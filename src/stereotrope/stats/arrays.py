"""The arrays that statistics take and give."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError

Floats = NDArray[np.float64]
Counts = NDArray[np.float32]


def known_pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """The pairs of which both are known; a UsageError where they do not pair up."""
    first, second = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if first.size != second.size:
        found = f"{first.size} and {second.size} values"
        raise UsageError(f"paired scores: each needs its partner, found {found}; pass as many of both")
    both = ~(np.isnan(first) | np.isnan(second))
    return first[both], second[both]
