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

    Returns product colour → background colour → conditional share.
    """
    rows, columns = [c for c, _ in product], [c for c, _ in background]
    p, q = (np.array([share for _, share in shares]) for shares in (product, background))
    joint = _forced(rows, columns, p, q)
    if joint is None:
        joint = _fitted(rows, columns, p, q)
    given = joint / joint.sum(axis=1, keepdims=True)
    return {
        row: {column: float(share) for column, share in zip(columns, line, strict=True) if share > 0}
        for row, line in zip(rows, given, strict=True)
    }


def _forced(
    rows: list[str], columns: list[str], p: NDArray[np.float64], q: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The only pairing left where one colour's shares sum to 1 or more."""
    for i, colour in enumerate(rows):
        if colour not in columns:
            continue
        j = columns.index(colour)
        both = p[i] + q[j] - 1.0
        if both < -_TOLERANCE:
            continue
        joint = np.zeros((len(p), len(q)))
        joint[i, :] = q
        joint[:, j] = p
        joint[i, j] = max(both, 0.0)
        return joint
    return None


def _fitted(
    rows: list[str], columns: list[str], p: NDArray[np.float64], q: NDArray[np.float64]
) -> NDArray[np.float64]:
    joint = np.outer(p, q)
    joint[np.array(rows)[:, None] == np.array(columns)[None, :]] = 0.0
    for _ in range(_STEPS):
        joint *= (q / joint.sum(axis=0))[None, :]
        joint *= (p / joint.sum(axis=1))[:, None]
        if np.abs(joint.sum(axis=0) - q).max() < _TOLERANCE:
            break
    return joint
