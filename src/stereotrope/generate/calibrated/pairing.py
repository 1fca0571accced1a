"""Draws two colours with given shares that are different whenever the shares allow it."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Shares = tuple[tuple[str, float], ...]

_STEPS = 5_000
_TOLERANCE = 1e-12


@lru_cache(maxsize=1024)
def partners(product: Shares, background: Shares) -> dict[str, dict[str, float]]:
    """Distribution of the background colour given the product colour.

    The pair has exactly the shares p of the product and q of the background. Among the pairs of shares
    p and q whose colours coincide as rarely as possible, it is the nearest to independence: p_i q_j scaled
    by a factor for each i and each j (iterative proportional fitting). Equal colours have probability
    p_i + q_i − 1 for the one colour where that is positive, and 0 otherwise.

    product, background: Pairs of colour and share.
    Returns: Product colour → background colour → conditional share.
    """
    rows, columns = (np.array([colour for colour, _ in shares]) for shares in (product, background))
    p, q = (np.array([share for _, share in shares]) for shares in (product, background))
    joint = _joint(p, q, rows[:, None] == columns[None, :])
    given = joint / joint.sum(axis=1, keepdims=True)
    return {
        str(row): {
            str(column): float(share) for column, share in zip(columns, line, strict=True) if share > 0
        }
        for row, line in zip(rows, given, strict=True)
    }


def _joint(p: NDArray[np.float64], q: NDArray[np.float64], same: NDArray[np.bool_]) -> NDArray[np.float64]:
    both = p[:, None] + q[None, :] - 1.0
    for i, j in np.argwhere(same & (both >= -_TOLERANCE)):  # the only pairing left
        joint = np.zeros(same.shape)
        joint[i, :], joint[:, j], joint[i, j] = q, p, max(both[i, j], 0.0)
        return joint
    joint = np.where(same, 0.0, np.outer(p, q))
    for _ in range(_STEPS):
        joint *= (q / joint.sum(axis=0))[None, :]
        joint *= (p / joint.sum(axis=1))[:, None]
        if np.abs(joint.sum(axis=0) - q).max() < _TOLERANCE:
            break
    return joint
