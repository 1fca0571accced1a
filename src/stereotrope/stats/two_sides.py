"""Jensen–Shannon divergences of two sides that split known counts, by small look-up tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Floats
from stereotrope.stats.counts import OneHot
from stereotrope.stats.divergence import js_terms

_Counts = NDArray[np.int32]
_TABLE_CELLS = 1 << 12
"""Cells of a table for several values at once: small enough for the cache of a processor."""


def split_js(first: _Counts, sizes: tuple[int, int], hot: OneHot) -> Floats:
    """JS of each attribute in bits, between a side and the rest of the images.

    first: Counts by column of one side, shape (n_columns, n_replicates).
    sizes: Images of that side and of the rest.
    hot: Columns of all images.
    Returns: Shape (n_attributes, n_replicates). NaN where a side has no label.
    """
    result = np.full((len(hot.complete), first.shape[1]), np.nan)
    totals = hot.totals
    for attribute, part in hot.parts:
        counts = first[part]
        known = np.full(1, sizes[0]) if hot.complete[attribute] else counts.sum(axis=0)
        labelled = np.int64(sum(sizes)) if hot.complete[attribute] else totals[part].sum()
        result[attribute] = _of_attribute(counts, known.astype(np.int32), totals[part], labelled)
    return result


def _of_attribute(counts: _Counts, labelled: _Counts, totals: NDArray[np.int64], of: np.int64) -> Floats:
    """Terms of the counts that occur, by their number and that of labels; some values share a table.

    labelled, of: Images of one side with a label, by replicate, and of both.
    """
    low, base = counts.min(axis=1), labelled.min()
    widths, height = counts.max(axis=1) - low + 1, int(labelled.max() - base) + 1
    if height * int(widths.max()) > max(_TABLE_CELLS, counts.shape[1]):
        score = np.zeros(counts.shape[1])
        for x, total in zip(counts, totals, strict=True):
            score += _terms(x, labelled, total, of)
        return np.asarray(np.clip(score, 0.0, 1.0))
    x = low[:, None, None] + np.arange(widths.max())
    every = _terms(x, base + np.arange(height)[:, None], totals[:, None, None], of)
    score, table, index = np.zeros(counts.shape[1]), np.zeros((height, 1)), labelled - base
    for counted, least, width, terms in zip(counts, low, widths.tolist(), every, strict=True):
        if table.size * width > _TABLE_CELLS and table.shape[1] > 1:
            score += table.ravel().take(index, mode="clip")
            table, index = np.zeros((height, 1)), labelled - base
        table = (table[:, :, None] + terms[:, None, :width]).reshape(height, -1)
        index = index * np.int32(width) + (counted - least)
    score += table.ravel().take(index, mode="clip")
    return np.asarray(np.clip(score, 0.0, 1.0))


def _terms(
    x: NDArray[np.integer], m: NDArray[np.integer], total: NDArray[np.int64] | np.int64, labelled: np.int64
) -> Floats:
    """Parts of JS of a value with ``x`` of the ``m`` labels of a side, the other having the rest."""
    shares = []
    for some, of in ((x, m), (total - x, labelled - m)):
        share = np.full(np.broadcast_shapes(np.shape(some), np.shape(of)), np.nan)
        shares.append(np.divide(some, of, out=share, where=of > 0))
    return js_terms(*shares)
