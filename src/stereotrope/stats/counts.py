"""Coded labels as one-hot columns, so that counting is a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.divergence import expected_js, floor_table, js_terms

__all__ = ["OneHot", "mean_pair_floor", "mean_pair_js", "one_hot", "pairwise_js"]

Floats = NDArray[np.float64]
Counts = NDArray[np.float32]

_PAIR_TABLE_CELLS = 1 << 20


@dataclass(frozen=True)
class OneHot:
    """Labels of images as columns: one for each value of each attribute that occurs.

    Attributes
    ----------
    columns
        Shape (n_columns, n_images), 1 where the image has the value.
    starts
        First column of each attribute that has a label.
    attribute
        Attribute index of each column.
    used
        Indices of the attributes that have a label.
    complete
        By attribute: every image has a label.
    """

    columns: Counts
    starts: NDArray[np.int64]
    attribute: NDArray[np.int64]
    used: NDArray[np.int64]
    complete: NDArray[np.bool_]


def one_hot(codes: NDArray[np.integer]) -> OneHot:
    """One-hot columns of ``codes``, shape (n_images, n_attributes), −1 where an image has no label."""
    blocks: list[Counts] = []
    starts: list[int] = []
    used: list[int] = []
    at = 0
    for index in range(codes.shape[1]):
        column = codes[:, index]
        values = np.unique(column)
        values = values[values >= 0]
        if not len(values):
            continue
        starts.append(at)
        used.append(index)
        at += len(values)
        blocks.append((values[:, None] == column[None, :]).astype(np.float32))
    lengths = [len(block) for block in blocks]
    return OneHot(
        columns=np.concatenate(blocks) if blocks else np.zeros((0, len(codes)), np.float32),
        starts=np.asarray(starts, np.int64),
        attribute=np.repeat(np.asarray(used, np.int64), lengths),
        used=np.asarray(used, np.int64),
        complete=np.asarray(codes.min(axis=0, initial=0) >= 0),
    )


@lru_cache(maxsize=256)
def _pair_table(n_p: int, n_q: int) -> Floats:
    p = np.arange(n_p + 1)[:, None] / n_p
    q = np.arange(n_q + 1)[None, :] / n_q
    return js_terms(p, q).ravel()


def _by_attribute(hot: OneHot, columns: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    attribute = hot.attribute[columns]
    return np.unique(attribute, return_index=True)


def _select(counts: Sequence[Counts], columns: NDArray[np.bool_]) -> list[Counts]:
    return list(counts) if columns.all() else [c[columns] for c in counts]


def _pairs(n_groups: int) -> list[tuple[int, int]]:
    return [(g, h) for g in range(n_groups) for h in range(g + 1, n_groups)]


def mean_pair_js(counts: Sequence[Counts], sizes: Sequence[int], hot: OneHot) -> Floats:
    """JS of each attribute in bits, averaged over the pairs of groups for which it is defined.

    Parameters
    ----------
    counts
        For each group the counts by column and replicate, shape (n_columns, n_replicates).
    sizes
        Images in each group, the same in every replicate.
    hot
        The columns.

    Returns
    -------
    numpy.ndarray
        Shape (n_attributes, n_replicates). NaN where fewer than two groups have a label.
    """
    result = np.full((len(hot.complete), counts[0].shape[1]), np.nan)
    complete = hot.complete[hot.attribute]
    small = max(sizes) ** 2 < _PAIR_TABLE_CELLS
    quick = complete if small else np.zeros_like(complete)
    if quick.any():
        names, starts = _by_attribute(hot, quick)
        parts = _select(counts, quick)
        total = np.zeros((len(names), counts[0].shape[1]))
        pairs = _pairs(len(parts))
        for g, h in pairs:
            index = (parts[g] * np.float32(sizes[h] + 1) + parts[h]).astype(np.intp)
            terms = _pair_table(sizes[g], sizes[h]).take(index, mode="clip")
            total += np.clip(np.add.reduceat(terms, starts, axis=0), 0.0, 1.0)
        result[names] = total / len(pairs)
    if not quick.all():
        names, starts = _by_attribute(hot, ~quick)
        result[names] = _general_js(_select(counts, ~quick), starts)
    return result


def _general_js(parts: Sequence[Counts], starts: NDArray[np.int64]) -> Floats:
    lengths = np.diff(np.append(starts, len(parts[0])))
    shares: list[Floats] = []
    for counts in parts:
        exact = counts.astype(np.float64)
        labelled = np.repeat(np.add.reduceat(exact, starts, axis=0), lengths, axis=0)
        shares.append(np.divide(exact, labelled, out=np.full_like(exact, np.nan), where=labelled > 0))
    total = np.zeros((len(starts), parts[0].shape[1]))
    defined = np.zeros_like(total)
    for g, h in _pairs(len(parts)):
        js = np.clip(np.add.reduceat(js_terms(shares[g], shares[h]), starts, axis=0), 0.0, 1.0)
        known = ~np.isnan(js)
        defined += known
        total += np.where(known, js, 0.0)
    return np.divide(total, defined, out=np.full_like(total, np.nan), where=defined > 0)


def mean_pair_floor(counts: Sequence[Counts], sizes: Sequence[int], hot: OneHot) -> Floats:
    """Closed-form floor of each attribute, averaged over the same pairs as :func:`mean_pair_js`.

    Each pair's floor is that of its own pooled counts. Arguments and result as there.
    """
    result = np.full((len(hot.complete), counts[0].shape[1]), np.nan)
    complete = hot.complete[hot.attribute]
    if complete.any():
        names, starts = _by_attribute(hot, complete)
        parts = _select(counts, complete)
        total = np.zeros((len(names), counts[0].shape[1]))
        pairs = _pairs(len(parts))
        for g, h in pairs:
            index = (parts[g] + parts[h]).astype(np.intp)
            terms = floor_table(sizes[g], sizes[h]).take(index, mode="clip")
            total += np.add.reduceat(terms, starts, axis=0)
        result[names] = total / len(pairs)
    if not complete.all():
        names, starts = _by_attribute(hot, ~complete)
        result[names] = _general_floor(_select(counts, ~complete), starts)
    return result


def _general_floor(parts: Sequence[Counts], starts: NDArray[np.int64]) -> Floats:
    ends = np.append(starts[1:], len(parts[0]))
    result = np.full((len(starts), parts[0].shape[1]), np.nan)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        groups = [part[start:end].T.astype(np.int64) for part in parts]
        sizes = [group.sum(axis=1) for group in groups]
        floors = np.stack(
            [expected_js(groups[g] + groups[h], sizes[g], sizes[h]) for g, h in _pairs(len(parts))]
        )
        known = ~np.isnan(floors)
        defined = known.sum(axis=0)
        total = np.where(known, floors, 0.0).sum(axis=0)
        result[row] = np.divide(total, defined, out=np.full(len(total), np.nan), where=defined > 0)
    return result


def pairwise_js(codes: NDArray[np.integer], groups: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """JS of each attribute, averaged over the pairs of groups, and its closed-form floor.

    Parameters
    ----------
    codes, groups
        As in :func:`stereotrope.stats.shuffled_js`.

    Returns
    -------
    tuple of numpy.ndarray
        Divergence and floor in bits, each of shape (n_attributes,). Only pairs enter in which both
        groups have a label; NaN where there is none.
    """
    hot = one_hot(codes)
    sizes = np.bincount(groups).tolist()
    counts = [hot.columns[:, groups == g].sum(axis=1, keepdims=True) for g in range(len(sizes))]
    return mean_pair_js(counts, sizes, hot)[:, 0], mean_pair_floor(counts, sizes, hot)[:, 0]
