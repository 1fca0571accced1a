"""Vectors at unit length, and as text for a ledger: exact, four bytes a number."""

import base64

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float32]


def unit_vector(numbers: ArrayLike) -> Vector | None:
    """Return a vector at unit length, None where a number is not finite or all are 0.

    >>> unit_vector([3, 4]).tolist() == [np.float32(0.6), np.float32(0.8)]
    True
    >>> unit_vector([0, 0]) is None, unit_vector([1, float("nan")]) is None
    (True, True)
    """
    x = np.asarray(numbers, np.float64)
    most = float(np.abs(x).max()) if x.size else 0.0
    if not np.isfinite(most) or most == 0.0:
        return None
    x = x / most  # so that no square overflows or vanishes
    return np.asarray(x / np.linalg.norm(x), np.float32)


def pack(vector: Vector) -> str:
    """Return a vector as base64 of its numbers in single precision, little endian."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii")


def unpack(text: str) -> Vector:
    """Return what :func:`pack` was given.

    >>> unpack(pack(np.array([0.1, -2.0], np.float32))).tolist() == [np.float32(0.1), -2.0]
    True
    """
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
