"""Intervals of divergences between groups of clusters, by how the clusters of a group differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Floats
from stereotrope.stats.cluster_js import Clustered
from stereotrope.stats.crossed import noise_growth
from stereotrope.stats.divergence import js_terms
from stereotrope.stats.icc import Crossed
from stereotrope.stats.unified import divergence_interval, noise_dimensions, scatter_likeness

_LN2 = float(np.log(2.0))
_BORROWED = 1.0
"""Independent images' worth of the mean that the shares of a group are smoothed with."""
_TINY = 1e-9


@dataclass(frozen=True)
class _Spread:
    """How clusters differ, by attribute.

    between, alike: What the clusters' scatter adds to a divergence on average, and how many times what
        independent images would add that is, at least 1.
    unit: What one dimension adds where images are independent, over the pairs of groups.
    deviations: Of the clusters, of each attribute by column and cluster; of matched ones, of the pairs.
    moved: By how much each cluster, or pair, moves the divergence, shape (n_attributes, n_clusters).
    smooth: Divergence of the smoothed shares that it is moved from.
    images_alone: Variance of the divergence if images were independent.
    """

    between: Floats
    alike: Floats
    unit: Floats
    deviations: Sequence[Floats]
    moved: Floats
    smooth: Floats
    images_alone: Floats


def cluster_js_interval(
    clustered: Clustered,
    js: Floats,
    floor: Floats,
    grown: Floats | float = 1.0,
    further: Floats | float = 1.0,
    *,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    r"""Interval of the true divergence of each attribute and of their mean, by the clusters' scatter.

    On the scale :math:`φ = \arcsin\sqrt{JS}` a divergence is about the length of a vector of :math:`ν`
    dimensions seen with a standard error :math:`s` (:func:`divergence_interval`). Near 0 :math:`ν s^2` is the
    floor of independent images times how many times as much clusters scatter as those would, and :math:`ν`
    what the clusters' scatter says; of the mean too, whose attributes so are as dependent as clusters show
    them. Further away :math:`s` is the jackknife's, by how much each cluster left out moves :math:`φ`.

    clustered: Images counted by cluster.
    js, floor: Divergence and closed-form floor of each attribute (:func:`pairwise_js`), in bits, none NaN.
    grown, further: How many times as large the noise of each attribute is as clusters show, near 0 and
        further away (:func:`crossed_growth`).
    Returns low, high: Of the mean, then of each attribute, in [0, 1].
    Source: Efron and Stein (1981), Annals of Statistics 9 (the jackknife is rather too careful than not).
    """
    found = _spread(clustered)
    others = len(clustered.sizes) - 1
    unit = np.maximum(found.unit, _TINY)
    most = np.maximum(others * floor / unit, 1.0)
    noise = np.maximum(found.alike * floor, unit / 100) * grown
    variance = np.maximum((found.moved**2).sum(axis=1), found.images_alone * found.alike)
    variance = np.maximum(variance, unit**2 / 1000) * further
    scale = np.sqrt(variance / np.maximum((found.moved**2).sum(axis=1), _TINY**2))
    moved = found.moved * scale[:, None]
    # The mean of attributes first: its deviations are theirs side by side, each a part of n.
    value = np.append(js.mean(), js)
    scale_to = np.sqrt(noise / np.maximum(found.between, _TINY))
    likeness = _likeness([of * by for of, by in zip(found.deviations, scale_to, strict=True)])
    dimensions = noise_dimensions(likeness, np.append(most.sum(), most), clustered.freedom, others)
    noise = np.append(noise.mean(), noise)
    variance = np.append((moved.mean(axis=0) ** 2).sum(), variance)
    smooth = np.append(found.smooth.mean(), found.smooth)
    error = variance / np.maximum(4 * smooth * (1 - smooth), 1e-6)
    return divergence_interval(value, noise, dimensions, error, clustered.freedom, level=level)


class ClusterScatter(NamedTuple):
    """How clusters differ, by attribute.

    alike: How many times as much they scatter as independent images would, at least 1.
    size: Images of a cluster, on average.
    noise: What their scatter adds to a divergence on average.
    dimensions: Of how many dimensions that noise is, of the mean and of each attribute.
    """

    alike: Floats
    size: Floats
    noise: Floats
    dimensions: Floats


def cluster_scatter(clustered: Clustered) -> ClusterScatter:
    """How the clusters of each group differ."""
    found = _spread(clustered)
    images = np.add.reduceat(np.asarray(clustered.counts, np.float64), clustered.hot.starts, axis=0)
    others = len(clustered.sizes) - 1
    most = np.array([max(len(of) - 1, 1) * others for of in found.deviations], np.float64)
    dimensions = noise_dimensions(
        _likeness(found.deviations), np.append(most.sum(), most), clustered.freedom, others
    )
    return ClusterScatter(
        found.alike, images.sum(axis=1) / (images > 0).sum(axis=1), found.between, dimensions
    )


def _likeness(deviations: Sequence[Floats]) -> Floats:
    """How few dimensions the deviations of all attributes have, then those of each."""
    return np.array([scatter_likeness(of) for of in (np.concatenate(deviations), *deviations)])


def crossed_growth(
    scatter: ClusterScatter, crossed: Sequence[Crossed | None], *, level: float | None = 0.95
) -> Floats:
    r"""How many times as large the noise of divergences is where groups across clusters are alike too.

    The variance of a share over clusters is :math:`1 + aρ` times that over independent images, which the
    clusters' scatter shows, and :math:`1 + aρ + a'(1-ρ)r` with the groups (:func:`widened_number`).

    crossed: By attribute what is known of these groups; None where there are none.
    level: Of the interval that it is meant for: how uncertain :math:`r` is widens it. None: on average.
    Returns: Shape ``(n_attributes,)``, at least 1; 1 where all images of each group agree, and nothing is to
        be seen of noise.
    """
    grown = np.ones(len(crossed))
    some = [at for at, one in enumerate(crossed) if one is not None and scatter.noise[at] > _TINY]
    if some:
        both = zip(*(one for one in map(crossed.__getitem__, some) if one is not None), strict=True)
        grown[some] = noise_growth(
            scatter.alike[some], scatter.size[some], Crossed(*map(np.stack, both)), level=level
        )
    return grown


def _spread(clustered: Clustered) -> _Spread:
    counts, starts = np.asarray(clustered.counts, np.float64), clustered.hot.starts
    attribute, groups = clustered.hot.attribute, range(len(clustered.sizes))
    labelled = np.add.reduceat(counts, starts, axis=0)
    images = np.stack([labelled[:, clustered.group == g].sum(axis=1) for g in groups])
    clusters = np.stack([(labelled[:, clustered.group == g] > 0).sum(axis=1) for g in groups])
    totals = np.stack([counts[:, clustered.group == g].sum(axis=1) for g in groups])
    shares = totals / np.maximum(images, 1)[:, attribute]
    mean = (shares * (images > 0)[:, attribute]).sum(axis=0) / (images > 0).sum(axis=0)[attribute]
    weight = np.where(mean > 0, 1 / (8 * _LN2 * np.where(mean > 0, mean, 1.0)), 0.0)

    own = clustered.group
    size = images[own].T / np.maximum(clusters[own].T, 1)
    deviation = (counts - shares[own].T * labelled[attribute]) / np.maximum(size, _TINY)[attribute]
    m = clusters[own].T[attribute]
    deviation = deviation / np.sqrt(np.maximum(m * (m - 1.0), 1.0))
    white = deviation * np.sqrt(2 * weight / len(groups))[:, None]
    if clustered.matched:  # what both sides of a pair have in common moves them together, and not apart
        white = white[:, 1::2] - white[:, ::2]
    parts = np.split(white, starts[1:])
    each = shares * (1 - shares) / np.maximum(images - 1, 1)[:, attribute] * 2 * weight / len(groups)
    between, independent = (np.add.reduceat(x, starts) for x in ((white**2).sum(axis=1), each.sum(axis=0)))

    alike = np.maximum(1.0, np.divide(between, independent, out=np.ones(len(parts)), where=independent > 0))
    n, borrowed = images[:, attribute], (_BORROWED * alike)[attribute]
    smooth = (shares * n + borrowed * mean) / (n + borrowed)
    slopes = _slopes(smooth, n > 0)
    moved = _moved(clustered, labelled, smooth, borrowed, borrowed * mean)
    if clustered.matched:
        moved = moved[:, ::2] + moved[:, 1::2]
    first, second = (np.add.reduceat(smooth * slopes**k, starts, axis=1) for k in (1, 2))
    alone = ((second - first**2) / np.maximum(images, 1)).sum(axis=0)
    return _Spread(between, alike, _unit(images), parts, moved, _js(smooth, n > 0, starts), alone)


def _moved(clustered: Clustered, labelled: Floats, smooth: Floats, borrowed: Floats, pool: Floats) -> Floats:
    """By how much each cluster moves the divergence: what it is without the cluster, less the mean of these.

    borrowed, pool: Images that the shares are smoothed with, and how many of them show each value.
    """
    counts, starts, attribute = (
        np.asarray(clustered.counts, np.float64),
        clustered.hot.starts,
        clustered.hot.attribute,
    )
    n_groups = len(clustered.sizes)
    images = np.stack([labelled[:, clustered.group == g].sum(axis=1) for g in range(n_groups)])
    pairs = sum(((images[g] > 0) & (images[h] > 0)) * 1.0 for g, h in combinations(range(n_groups), 2))
    found = np.zeros(labelled.shape)
    for g in range(n_groups):
        own = clustered.group == g
        left = images[g][:, None] - labelled[:, own]
        shown = counts[:, own].sum(axis=1, keepdims=True) - counts[:, own] + pool[:, None]
        shares = shown / np.maximum(left[attribute] + borrowed[:, None], _TINY)
        apart = np.zeros(labelled[:, own].shape)
        for h in set(range(n_groups)) - {g}:
            terms = js_terms(shares, smooth[h][:, None]) - js_terms(smooth[g], smooth[h])[:, None]
            both = (left > 0) & (images[h] > 0)[:, None]
            apart += np.where(both, np.add.reduceat(terms, starts, axis=0), 0.0)
        there = labelled[:, own] > 0
        m = np.maximum(there.sum(axis=1, keepdims=True), 1)
        apart = (apart - apart.sum(axis=1, keepdims=True) / m) / np.maximum(pairs, 1)[:, None]
        found[:, own] = np.where(there, apart * np.sqrt((m - 1) / m), 0.0)
    return found


def _js(shares: Floats, known: NDArray[np.bool_], starts: NDArray[np.int64]) -> Floats:
    """Of each attribute, the mean over the pairs of groups."""
    pairs = [
        (js_terms(shares[g], shares[h]), known[g] & known[h]) for g, h in combinations(range(len(shares)), 2)
    ]
    total = np.add.reduceat(sum(np.where(both, terms, 0.0) for terms, both in pairs), starts)
    return np.asarray(total / np.maximum(sum(both for _, both in pairs)[starts], 1))


def _unit(images: Floats) -> Floats:
    pairs = [(m, n, (m > 0) & (n > 0)) for m, n in combinations(images, 2)]
    each = sum(np.where(both, 1 / np.maximum(m, 1) + 1 / np.maximum(n, 1), 0.0) for m, n, both in pairs)
    return np.asarray(each / np.maximum(sum(both for *_, both in pairs), 1) / (8 * _LN2))


def _slopes(smooth: Floats, known: NDArray[np.bool_]) -> Floats:
    """By how much a divergence grows with each share of each group, averaged over the pairs that it is of."""
    found, pairs = np.zeros_like(smooth), np.zeros(smooth.shape[1])
    for g, h in combinations(range(len(smooth)), 2):
        both = known[g] & known[h]
        pairs += both
        middle = (smooth[g] + smooth[h]) / 2
        for one in (g, h):
            seen = both & (smooth[one] > 0)
            ratio = np.divide(smooth[one], middle, out=np.ones_like(middle), where=seen)
            found[one] += np.where(seen, np.log2(ratio) / 2, 0.0)
    return found / np.maximum(pairs, 1)
