"""Colours divided into clusters."""

import numpy as np
from numpy.typing import NDArray

Lab = NDArray[np.float64]
"""Planes or points of CIELAB, channel first; centres have it last."""


def k_means(points: Lab, k: int, *, iterations: int = 12) -> tuple[Lab, NDArray[np.int8]]:
    """k-means without chance: centres start at the point farthest from those chosen, the first at the median.

    points: Shape (3, n), n ≥ 1.
    k: Number of centres wanted; fewer come back where there are fewer different points.

    Returns the centres, shape (≤ k, 3), and for each point the index of its centre.
    """
    n = points.shape[1]
    far = n - max(1, n // 100)
    middle = np.median(points, axis=1)
    columns = np.ascontiguousarray(points - middle[:, None])
    centres = [np.zeros(3)]
    nearest = squared(columns, centres[0])
    while len(centres) < k:
        # The farthest percentile, not the farthest point: one odd pixel is no cluster. Of points as far, the
        # one that a stable sort would put there.
        distance = np.partition(nearest, far)[far]
        if distance < 1.0:
            break
        alike = np.flatnonzero(nearest == distance)
        centres.append(columns[:, alike[far - np.count_nonzero(nearest < distance)]])
        nearest = np.minimum(nearest, squared(columns, centres[-1]))
    found = np.array(centres)
    member = np.zeros(n, dtype=np.int8)
    sums = np.zeros((len(found), 4))
    sums[0] = _sums(columns, member, 1)
    for _ in range(iterations):
        before, member = member, _nearest(columns, found)
        changed = np.flatnonzero(member != before)
        some = columns.take(changed, axis=1)
        sums += _sums(some, member[changed], len(found)) - _sums(some, before[changed], len(found))
        moved = np.where(sums[:, 3:] > 0, sums[:, :3] / np.maximum(sums[:, 3:], 1), found)
        if (np.abs(moved - found) <= 1e-6 + 1e-5 * np.abs(moved + middle)).all():
            break
        found = moved
    return found + middle, member


def _sums(points: Lab, member: NDArray[np.int8], n: int) -> NDArray[np.float64]:
    """Sums of the points of each cluster, and how many they are."""
    ones = np.ones(points.shape[1])
    return np.stack([np.bincount(member, column, minlength=n) for column in (*points, ones)], axis=1)


def _nearest(points: Lab, centres: Lab) -> NDArray[np.int8]:
    """For each point the index of the nearest centre, the first of several."""
    # Half of the squared length of the point, less half of the squared distance.
    near = centres[:, :1] * points[0]
    near += centres[:, 1:2] * points[1]
    near += centres[:, 2:] * points[2]
    near -= np.square(centres).sum(axis=1, keepdims=True) / 2
    member = np.zeros(points.shape[1], dtype=np.int8)
    most = near[0]
    for index, each in enumerate(near[1:], 1):
        np.maximum(member, (each > most).view(np.int8) * np.int8(index), out=member)
        most = np.maximum(most, each)
    return member


def squared(points: Lab, centre: Lab) -> NDArray[np.float64]:
    """Squared distance of points, shape (3, …), from a centre."""
    lightness, a, b = (np.square(plane - value) for plane, value in zip(points, centre, strict=True))
    lightness += a
    lightness += b
    return np.asarray(lightness)
