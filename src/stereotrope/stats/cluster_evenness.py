"""Intervals of how unevenly the members of clusters share some values, by how the clusters differ."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.cluster_share import cluster_share_interval
from stereotrope.stats.crossed import noise_growth
from stereotrope.stats.entropies import expected_sum
from stereotrope.stats.icc import Crossed, effective_counts
from stereotrope.stats.unified import divergence_interval, noise_dimensions, scatter_likeness

_BORROWED = 1.0
"""Independent members' worth of even shares that the shares are smoothed with."""
_FEW = 4.0
"""Members, in effect, from which on the clusters' scatter says how rare values vary."""
_TINY = 1e-9
_HALVED, _POWERS = 50, (-25.0, 25.0)
"""Times that the way to shares is halved, and the logarithms of the powers that it goes between."""


def cluster_unevenness_interval(
    counts: ArrayLike, *, level: float = 0.95, crossed: Sequence[Crossed] = ()
) -> tuple[float, float]:
    r"""Interval of the divergence from even shares over its greatest, by the clusters' scatter.

    :math:`D = 1 + \frac{1}{\log_2 k} \sum_j p_j \log_2 p_j`, one less the entropy over its greatest. As
    :func:`cluster_js_interval` of groups, with even shares for the other group: near even ones it is
    one-sided. Where hardly a member has another than the most frequent value, its lower end is the least D
    that the interval of this value's share (:func:`cluster_share_interval`) leaves possible.

    counts: How often each value is in each cluster, shape ``(k, m)``; two values and two clusters at least,
        each of these with a member.
    crossed: What is known of groups across clusters: in the shares of values, in what D changes with
        (:func:`unevenness_slopes`), and in the share of the most frequent value; none where there are none.
    Returns low, high: In [0, 1]; 0 is even, 1 is one value only.
    """
    each = np.asarray(counts, np.float64)
    (k, m), sizes = each.shape, each.sum(axis=0)
    n, most = sizes.sum(), np.log2(k)
    share = each.sum(axis=1) / n
    weight = k / (2 * np.log(2.0) * most)
    deviation = (each - share[:, None] * sizes) / (n / m * np.sqrt(m * (m - 1.0))) * np.sqrt(weight)
    between, independent = (deviation**2).sum(), weight * (share * (1 - share)).sum() / (n - 1)
    alike = max(1.0, between / independent) if independent > 0 else 1.0
    floor = 1 + expected_sum(_bits, int(n), k) / most
    unit = floor / (k - 1)
    near, further = (noise_growth(alike, n / m, of, level=level) for of in crossed[:2]) if crossed else (1, 1)
    noise = max(alike * floor, unit / 100) * near

    borrowed = _BORROWED * alike
    smooth = (share * n + borrowed / k) / (n + borrowed)
    without = (each.sum(axis=1, keepdims=True) - each + borrowed / k) / (n - sizes + borrowed)
    moved = _unevenness(without) - _unevenness(without).mean()
    slopes = _slopes(smooth)
    alone = ((smooth * slopes**2).sum() - (smooth @ slopes) ** 2) / n
    variance = max((moved**2).sum() * (m - 1) / m, alone * alike, unit**2 / 1000) * further
    value, middle = (float(_unevenness(of[:, None])[0]) for of in (share, smooth))
    ends = divergence_interval(
        np.array([value]),
        np.array([noise]),
        noise_dimensions(np.array([scatter_likeness(deviation)]), np.array([k - 1.0]), m - 1, 1),
        np.array([variance / max(4 * middle * (1 - middle), 1e-6)]),
        m - 1,
        level=level,
    )
    low, high = (float(end[0]) for end in ends)
    # One end alone is at stake here.
    least = _least(each, sizes, level**2, crossed[2] if crossed else None)
    return max(0.0, min(low, least, value)), min(1.0, max(high, value))


def shares_so_uneven(shares: ArrayLike, unevenness: float) -> Floats:
    r"""Shares that are as uneven as asked: powers :math:`p_j^t` of those seen, over their sum.

    What an interval of one score of unevenness is on the scale of another. From even shares (:math:`t = 0`)
    over those seen (1) to the most frequent alone, the first of several, they keep their order.

    shares: Shape ``(k,)``, at least two, summing to 1.
    unevenness: :math:`D` of :func:`cluster_unevenness_interval`, in [0, 1].
    """
    seen = np.maximum(np.asarray(shares, np.float64), _TINY)
    away = np.log(seen / seen.max())
    away[np.arange(len(seen)) != seen.argmax()] -= _TINY
    if unevenness <= 0:
        return np.full(len(seen), 1 / len(seen))
    low, high = _POWERS
    for _ in range(_HALVED):
        middle = (low + high) / 2
        less = _unevenness(special.softmax(np.exp(middle) * away)[:, None])[0] < unevenness
        low, high = (middle, high) if less else (low, middle)
    return np.asarray(special.softmax(np.exp(high) * away))


def _least(counts: Floats, sizes: Floats, level: float, crossed: Crossed | None) -> float:
    """The least divergence that the share of the most frequent value leaves possible, if others are few."""
    often = counts[counts.sum(axis=1).argmax()]
    hits, trials = effective_counts(often, sizes, level=level, crossed=crossed)
    if trials - hits >= _FEW:
        return 1.0
    least, _ = cluster_share_interval(often, sizes, level=level, crossed=crossed)
    share = max(least, 1 / len(counts))
    others = np.full(len(counts) - 1, (1 - share) / (len(counts) - 1))
    return float(_unevenness(np.append(share, others)[:, None])[0])


def unevenness_slopes(counts: ArrayLike) -> Floats:
    """How much the divergence from even shares changes with each share; those of no member as of one more.

    counts: Of each value, shape ``(k,)``.
    """
    shown = np.asarray(counts, np.float64)
    return _slopes((shown + 1 / len(shown)) / (shown.sum() + 1))


def _slopes(shares: Floats) -> Floats:
    return np.asarray(np.log2(shares * len(shares)) / np.log2(len(shares)))


def _unevenness(shares: Floats) -> Floats:
    return np.asarray(1 + _bits(shares).sum(axis=0) / np.log2(len(shares)))


def _bits(shares: Floats) -> Floats:
    return np.asarray(shares * np.log2(np.where(shares > 0, shares, 1.0)))
