"""Counts of images that are drawn again with replacement, one by one or as numbers of each distinct row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import OneHot, tally
from stereotrope.stats.draw_costs import redrawing

_Ints = NDArray[np.int64]
_DRAWS = 1 << 18
"""Images, or numbers of rows, that are drawn together."""
_TOGETHER = 64
"""Resamples whose weights are counted together, at least."""


def redrawn_counts(hot: OneHot, n_resamples: int, rng: np.random.Generator) -> Counts:
    """Counts by column when images are drawn again, as many as there are, all attributes together.

    hot: Columns of distinct rows, with how many images each stands for.
    Returns: Shape (n_columns, n_resamples).
    """
    n = int(hot.weights.sum())
    if not n:
        return np.zeros((len(hot.columns), n_resamples), np.float32)
    way, _ = redrawing(n, len(hot.weights), len(hot.columns))
    rows = np.flatnonzero(hot.weights)
    weights, columns = hot.weights[rows], hot.columns[:, rows]
    at_once = max(_TOGETHER, _DRAWS // max(1, len(rows)))
    counts = np.empty((len(columns), n_resamples), np.float32)
    for start in range(0, n_resamples, at_once):
        width = min(at_once, n_resamples - start)
        drawn = _of_rows(weights, n, width, rng) if way == "rows" else _of_images(weights, n, width, rng)
        counts[:, start : start + width] = tally(columns, drawn)
    return counts


def _of_rows(weights: _Ints, n: int, n_resamples: int, rng: np.random.Generator) -> Counts:
    """Numbers of each row, multinomial: the most frequent first, which leaves few draws for the others."""
    order = np.argsort(-weights, kind="stable")
    drawn = np.empty((len(weights), n_resamples), np.float32)
    drawn[order] = rng.multinomial(n, weights[order] / n, size=n_resamples).T
    return drawn


def _of_images(weights: _Ints, n: int, n_resamples: int, rng: np.random.Generator) -> Counts:
    row = None if len(weights) == n else np.repeat(np.arange(len(weights)), weights)
    drawn = np.empty((n_resamples, len(weights)), np.float32)
    step = max(1, _DRAWS // n)
    for start in range(0, n_resamples, step):
        some = drawn[start : start + step]
        image = rng.integers(0, n, size=(len(some), n))
        cells = (image if row is None else row[image]) + np.arange(len(some))[:, None] * len(weights)
        some[...] = np.bincount(cells.ravel(), minlength=some.size).reshape(some.shape)
    return drawn.T
