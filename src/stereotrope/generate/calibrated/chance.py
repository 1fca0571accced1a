"""Numbers that depend on what they are for, on text and seed, and on nothing else; values drawn by them."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Shares = tuple[tuple[str, float], ...]

_STEPS = 5_000
_TOLERANCE = 1e-12


def seed_of_purpose(purpose: str, text: str, seed: int | None) -> int:
    """A whole number of 128 bits."""
    return int.from_bytes(hashlib.sha256(f"{purpose}\0{seed}\0{text}".encode()).digest()[:16], "big")


def chance(purpose: str, text: str, seed: int | None) -> float:
    """A number in [0, 1), uniform over texts and seeds."""
    return (seed_of_purpose(purpose, text, seed) >> 75) / 2.0**53


def pick(shares: Mapping[str, float], at: float) -> str:
    """The value whose part of [0, 1) holds ``at``, the parts laid end to end in their order."""
    total = 0.0
    for value, part in shares.items():
        total += part
        if at < total:
            return value
    return value


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
    p, q = (np.array([share for _, share in shares]) for shares in (product, background))
    joint = _joint(p, q, np.array([[row == column for column, _ in background] for row, _ in product]))
    given = joint / joint.sum(axis=1, keepdims=True)
    return {
        row: {column: float(share) for (column, _), share in zip(background, line, strict=True) if share > 0}
        for (row, _), line in zip(product, given, strict=True)
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
