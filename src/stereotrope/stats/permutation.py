"""Permutation tests of Jensen–Shannon divergences: whole images change groups, all attributes together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats
from stereotrope.stats.counts import OneHot, mean_pair_js
from stereotrope.stats.shuffles import shuffled_counts
from stereotrope.stats.two_sides import split_js

_TIE = 1e-12


def shuffled_js(codes: ArrayLike, groups: ArrayLike, *, n_shuffles: int, seed: int = 0) -> Floats:
    """Divergence of each attribute when the group labels of whole images are shuffled.

    The shuffles depend on the seed and the group sizes only: tests of the same sizes share them, which leaves
    each p-value valid and couples their Monte-Carlo errors. Labels that at least 1,000 images of every group
    are expected to have are counted as normal numbers where that costs less: moments of a count are those of
    a shuffle, but for a skewness of up to 0.03.

    codes: Value codes, shape (n_images, n_attributes): 0, 1, … within an attribute, −1 where the image has no
        usable label of it. The order of the images decides which shuffle meets which image, so pass them in
        an order that does not depend on the groups.
    groups: Group of each image, shape (n_images,), coded 0 … G − 1. Every group has an image.
    Returns: Shape (n_shuffles, n_attributes), bits: the mean JS of the unordered pairs of groups. NaN where a
        shuffle leaves fewer than two groups with a label.
    Raises UsageError: Fewer than two groups hold an image.
    """
    matrix = np.asarray(codes)
    group = np.asarray(groups, dtype=np.int64)
    sizes = tuple(sorted(np.bincount(group).tolist()))
    if len(sizes) < 2 or sizes[0] < 1:
        raise UsageError(f"shuffled_js: at least two groups with an image are needed, found sizes {sizes}")
    complete = np.asarray((matrix >= 0).all(axis=0))
    matrix, lone = _without_lone(matrix, complete & (sizes[0] == sizes[-1]))
    hot, drawn = shuffled_counts(matrix, sizes, n_shuffles=n_shuffles, seed=seed)
    hot = replace(hot, complete=complete)
    result = np.empty((n_shuffles, matrix.shape[1]))
    at = 0
    for counts in drawn:
        js = split_js(counts[0], sizes, hot) if len(sizes) == 2 else _of_several(counts, sizes, hot)
        result[at : at + js.shape[1]] = js.T
        at += js.shape[1]
    result[:, lone == 1.0] = 0.0
    return np.asarray(np.minimum(result + lone, 1.0))


def _without_lone(codes: NDArray[np.integer], where: NDArray[np.bool_]) -> tuple[NDArray[np.integer], Floats]:
    """The codes without the values of a single image, and what these add to each attribute's divergence.

    In groups of ``n`` images each, such a value adds 1/2n to the JS of its group with each other one,
    whatever group it is in: over the pairs of all G groups 1/Gn on average, its part of the images.

    where: By attribute, whether every image has a label and groups are of one size.
    """
    left, lone = codes.copy(), np.zeros(codes.shape[1])
    for attribute in np.flatnonzero(where):
        alone = np.bincount(codes[:, attribute])[codes[:, attribute]] == 1
        left[alone, attribute] = -1
        lone[attribute] = alone.mean()
    return left, lone


def _of_several(counts: Sequence[NDArray[np.int32]], sizes: Sequence[int], hot: OneHot) -> Floats:
    last = hot.totals[:, None] - sum(counts[1:], start=counts[0])
    return mean_pair_js([one.astype(np.float32) for one in (*counts, last)], sizes, hot)


def permutation_p(observed: ArrayLike, null: ArrayLike) -> Floats:
    """One-sided p-value of a score against its shuffles.

    ``p = (1 + #{null ≥ observed}) / (1 + B)``; a shuffle within 1e-12 of the observed score counts as
    equal to it.

    observed: Scores, shape (…).
    null: Scores of the shuffles, shape (B, …). NaN shuffles, in which the score is undefined, count neither
        above nor below the line, so B is the number of the others.
    Returns: p in (0, 1]. NaN where the score is NaN or no shuffle gives one.
    """
    score = np.asarray(observed, dtype=np.float64)
    shuffles = np.asarray(null, dtype=np.float64)
    given = (~np.isnan(shuffles)).sum(axis=0)
    above = (shuffles >= score - _TIE).sum(axis=0)
    undefined = np.isnan(score) | (given == 0)
    return np.asarray(np.where(undefined, np.nan, (1 + above) / (1 + given)), dtype=np.float64)
