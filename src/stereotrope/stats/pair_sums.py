"""Sums over all pairs of groups, by how many groups have each count: few counts occur, however many pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts, Floats

PairTerm = Callable[[NDArray[np.number], NDArray[np.number], int, int], Floats]
"""What counts of two groups of these sizes give; the same when the groups are exchanged."""
_CELLS = 1 << 12
"""Counts of a group that are taken together: with the numbers of groups they stay in the cache."""
_PRODUCTS = 2
"""Squared numbers of counts that cost as much as a pair."""


def pair_sums(counts: Sequence[Counts], sizes: Sequence[int], term: PairTerm) -> Floats:
    r"""Sum of a term over the unordered pairs of groups, by column and replicate.

    Where :math:`N_s` groups are in state :math:`s`, a size and a count, that is
    :math:`\frac12 \left(\sum_{s,t} N_s N_t f(s,t) - \sum_s N_s f(s,s)\right)`. Columns in which more counts
    occur than that is worth go through the pairs.

    counts: For each group the counts by column and replicate, shape (n_columns, n_replicates).
    sizes: Images in each group.
    """
    pairs = list(combinations(range(len(counts)), 2))
    if len(pairs) == 1:
        return term(counts[0], counts[1], sizes[0], sizes[1])
    tops = np.max([one.max(axis=1, initial=0) for one in counts], axis=0).astype(np.int64)
    states = (tops + 1) * len(set(sizes))
    by_state = (states**2 <= _PRODUCTS * len(pairs)) & (tops < 1 << 8)
    sums = np.zeros(counts[0].shape)
    if not by_state.all():
        rows = np.flatnonzero(~by_state)
        kept = [one[rows] for one in counts] if by_state.any() else counts
        sums[rows] = sum(term(kept[g], kept[h], sizes[g], sizes[h]) for g, h in pairs)
    step = max(1, _CELLS // counts[0].shape[1])
    for top in np.unique(tops[by_state]).tolist():
        rows = np.flatnonzero(by_state & (tops == top))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            sums[some] = _by_state(np.stack([one[some] for one in counts]), sizes, top, term)
    return sums


def _by_state(counts: Counts, sizes: Sequence[int], top: int, term: PairTerm) -> Floats:
    each, images = np.arange(top + 1), np.array(sizes)
    kinds = np.unique(images).tolist()
    small = counts.astype(np.uint8)
    numbers = np.empty((len(kinds), top + 1, *counts.shape[1:]))
    for of_size, kind in zip(numbers, kinds, strict=True):
        own = small[images == kind] if len(kinds) > 1 else small
        of_size[0] = len(own)
        for count in each[1:].tolist():
            of_size[count] = np.add.reduce((own == count).view(np.uint8), axis=0, dtype=np.uint16)
            of_size[0] -= of_size[count]
    table = np.block([[term(each[:, None], each[None], m, n) for n in kinds] for m in kinds])
    flat = numbers.reshape(len(table), -1)
    found = (flat * (table @ flat)).sum(axis=0) - table.diagonal() @ flat
    return np.asarray(found.reshape(counts.shape[1:]) / 2)
