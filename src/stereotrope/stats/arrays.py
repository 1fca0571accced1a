"""The arrays that statistics take and give."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError

Floats = NDArray[np.float64]
Counts = NDArray[np.float32]


def mid_ranks(table: ArrayLike) -> Floats:
    """Ranks along the last axis, 1 the smallest, ties their mean; shaped as ``table``, which has no NaN."""
    given = np.asarray(table, np.float64)
    if not given.size:
        return given
    code = np.unique(given, return_inverse=True)[1].reshape(-1, given.shape[-1])
    first = np.arange(len(code))[:, None] * given.shape[-1]
    # Rows one above another, so that one sorted array gives the ranks of all.
    apart = code + (code.max() + 1) * np.arange(len(code))[:, None]
    inorder = np.sort(apart, axis=None)
    below, up_to = (np.searchsorted(inorder, apart, side) for side in ("left", "right"))
    ranks: Floats = (below + up_to + 1) / 2 - first
    return ranks.reshape(given.shape)


def known_pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """The pairs of which both are known; a UsageError where they do not pair up."""
    first, second = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if first.size != second.size:
        found = f"{first.size} and {second.size} values"
        raise UsageError(f"paired scores: each needs its partner, found {found}; pass as many of both")
    both = ~(np.isnan(first) | np.isnan(second))
    return first[both], second[both]
