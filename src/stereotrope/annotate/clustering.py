"""Colours divided into clusters."""

import numpy as np
from numpy.typing import NDArray

Lab = NDArray[np.float64]
"""Planes or points of CIELAB, channel first; centres have it last."""


def k_means(points: Lab, k: int, *, iterations: int = 12) -> tuple[Lab, NDArray[np.intp]]:
    """k-means without chance: centres start at the point farthest from those chosen, the first at the median.

    points: Shape (3, n), n ≥ 1.
    k: Number of centres wanted; fewer come back where there are fewer different points.

    Returns the centres, shape (≤ k, 3), and for each point the index of its centre.
    """
    n = points.shape[1]
    far = n - max(1, n // 100)
    middle = median(points)
    # The row of ones takes what is added to a product with a centre, and counts the points of each.
    columns = np.concatenate([points - middle[:, None], np.ones((1, n))])
    centres = [np.zeros(3)]
    nearest = squared(columns[:3], centres[0])
    while len(centres) < k:
        # The farthest percentile, not the farthest point: one odd pixel is no cluster. Of points as far, the
        # one that a stable sort would put there.
        distance = np.partition(nearest, far)[far]
        if distance < 1.0:
            break
        alike = np.flatnonzero(nearest == distance)
        centres.append(columns[:3, alike[far - np.count_nonzero(nearest < distance)]])
        nearest = np.minimum(nearest, squared(columns[:3], centres[-1]))
    found = np.array(centres)
    for _ in range(iterations):
        # Half of the squared length of the point, less half of the squared distance.
        near = np.column_stack([found, np.square(found).sum(axis=1) / -2]) @ columns
        # A point exactly between two centres moves both.
        sums = (near == near.max(axis=0)).astype(np.float64) @ columns.T
        moved = np.where(sums[:, 3:] > 0, sums[:, :3] / np.maximum(sums[:, 3:], 1), found)
        if (np.abs(moved - found) <= 1e-6 + 1e-5 * np.abs(moved + middle)).all():
            break
        found = moved
    return found + middle, near.argmax(axis=0)


def median(points: Lab) -> NDArray[np.float64]:
    """Median of each channel, of those above and below it the mean."""
    n = points.shape[1]
    pair = [(n - 1) // 2, n // 2]
    return np.asarray(np.partition(points, pair, axis=1)[:, pair].mean(axis=1))


def quantile(values: NDArray[np.floating], q: float) -> float:
    """Quantile, between two values in proportion; on few values much quicker than NumPy's."""
    at = q * (len(values) - 1)
    pair = [int(at), min(int(at) + 1, len(values) - 1)]
    low, high = np.partition(values, pair)[pair].tolist()
    return float(low + (high - low) * (at - pair[0]))


def squared(points: Lab, centre: Lab) -> NDArray[np.float64]:
    """Squared distance of points, shape (3, …), from a centre."""
    apart = points - centre[:, None]
    apart *= apart
    return np.asarray(apart.sum(axis=0))
