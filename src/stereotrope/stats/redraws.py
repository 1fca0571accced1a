"""Counts of images drawn again with replacement, as weights of images or as numbers of distinct rows."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import OneHot, tally_of_rows, tally_whole
from stereotrope.stats.draw_costs import redrawing

_Ints = NDArray[np.int64]
_Weights = NDArray[np.uint8]
_CELLS = 1 << 22
"""Numbers that are drawn together: so many are also kept for further groups of the same size, 4 MB each."""
_TOGETHER = 64
"""Resamples whose weights are counted together, at least."""
_BLOCK = 1 << 18
"""Weights that are made together: with their random numbers they stay in the cache of a processor."""
_SHORT = 3.0
"""Standard deviations by which Poisson numbers are short of the images on average."""


def redrawn_counts(hot: OneHot, weights: _Ints, n_resamples: int, key: tuple[int, ...]) -> Counts:
    """Counts by column when images are drawn again, as many as there are, all attributes together.

    hot: Columns of distinct rows.
    weights: How many images each row stands for.
    key: What the random numbers depend on besides the number of images: a seed, and what keeps groups apart.
    Returns: Shape (n_columns, n_resamples).
    """
    n = int(weights.sum())
    if not n:
        return np.zeros((len(hot.columns), n_resamples), np.float32)
    if redrawing(n, int(np.count_nonzero(weights)), len(hot.columns))[0] == "rows":
        return _of_rows(hot.columns, weights, n, n_resamples, key)
    columns = hot.columns[:, np.repeat(np.arange(len(weights)), weights)]
    if n * n_resamples <= _CELLS:
        return tally_whole(columns, _kept_weights(n, n_resamples, key), n)
    counts = np.empty((len(columns), n_resamples), np.float32)
    rng, at_once = np.random.default_rng(key), max(_TOGETHER, _CELLS // n)
    for start in range(0, n_resamples, at_once):
        width = min(at_once, n_resamples - start)
        counts[:, start : start + width] = tally_whole(columns, drawn_weights(n, width, rng), n)
    return counts


def _of_rows(columns: Counts, weights: _Ints, n: int, n_resamples: int, key: tuple[int, ...]) -> Counts:
    """Numbers of each row, multinomial: the most frequent first, which leaves few draws for the others."""
    order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
    drawn = np.random.default_rng(key).multinomial(n, weights[order] / n, size=n_resamples)
    return tally_of_rows(columns[:, order])(np.ascontiguousarray(drawn.T, dtype=np.float32))


@lru_cache(maxsize=24)
def _kept_weights(n: int, n_resamples: int, key: tuple[int, ...]) -> _Weights:
    return drawn_weights(n, n_resamples, np.random.default_rng(key))


def drawn_weights(n: int, n_resamples: int, rng: np.random.Generator) -> _Weights:
    """How often each of ``n`` images is drawn when as many are drawn with replacement.

    Independent Poisson numbers whose sum is t are, given t, those of t draws; the n − t draws that are
    missing are added. Where t is above n, which is rare, all n are drawn one by one.

    Returns: Shape (n, n_resamples); each column sums to ``n``.
    """
    weights = _poisson(max(0.0, 1 - _SHORT / math.sqrt(n)), n * n_resamples, rng).reshape(n, n_resamples)
    missing = n - weights.sum(axis=0, dtype=np.int32)
    weights[:, missing < 0] = 0
    missing[missing < 0] = n
    of = np.repeat(np.arange(n_resamples), missing)
    np.add.at(weights.reshape(-1), rng.integers(0, n, len(of)) * n_resamples + of, np.uint8(1))
    return weights


def _poisson(mean: float, size: int, rng: np.random.Generator) -> _Weights:
    """Poisson numbers by 16 random bits each; what 65,536ths cannot say is drawn by itself."""
    p = [math.exp(-mean)]
    while p[-1] > 1e-18:
        p.append(p[-1] * mean / len(p))
    parts = np.array(p) * (1 << 16)
    whole = np.floor(parts)
    ends = np.cumsum(whole[whole > 0]).astype(np.int64).tolist()
    rest = np.cumsum(parts - whole)
    numbers = np.zeros(size, np.uint8)
    for start in range(0, size, _BLOCK):
        some = numbers[start : start + _BLOCK]
        words = rng.integers(0, 1 << 64, size=-(-some.size // 4), dtype=np.uint64)
        random = words.view(np.uint16)[: some.size]
        for end in ends:
            some += (above := random >= end)
        odd = np.flatnonzero(above)
        some[odd] = np.searchsorted(rest, rng.random(len(odd)) * rest[-1], side="right")
    return numbers
