"""Images as distinct rows of codes: what is the same of two images is counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_MOST_KEYS = 1 << 62
_FEW = 1 << 12
"""Images of which the first of each row is looked up; of more the codes are worked out from its number."""


@dataclass(frozen=True)
class DistinctRows:
    """Rows of codes that occur, rising.

    codes: Shape (n_rows, n_attributes).
    counts: How many images of each group have each row, shape (n_groups, n_rows).
    """

    codes: _Ints
    counts: _Ints

    @classmethod
    def of(cls, codes: NDArray[np.integer], groups: _Ints, n_groups: int) -> DistinctRows:
        """Count the rows of images; a code is −1 where an image has no label."""
        keys = np.zeros(len(codes), np.int64)
        lists: list[tuple[_Ints | None, int]] = []
        size = 1
        for column in codes.T:
            width = int(column.max()) + 2 if len(codes) else 1
            if size * width * n_groups >= _MOST_KEYS:
                # Too many rows are possible for one number: those that occur are numbered.
                found, keys = np.unique(keys, return_inverse=True)
                lists.append((found, size))
                size = len(found)
            keys *= width
            keys += column
            keys += 1
            lists.append((None, width))
            size *= width
        if n_groups > 1:
            keys = keys * n_groups + groups
        order = keys.argsort() if len(codes) <= _FEW else None
        inorder = np.sort(keys) if order is None else keys[order]
        starts = _changes(inorder).nonzero()[0]
        counts = np.append(starts[1:], len(inorder))[: len(starts)] - starts
        if n_groups == 1:
            table, found = counts[None], inorder[starts]
        else:
            found, at = inorder[starts] // n_groups, _changes(inorder[starts] // n_groups)
            table = np.zeros((n_groups, np.count_nonzero(at)), np.int64)
            table[inorder[starts] - found * n_groups, at.cumsum() - 1] = counts
            starts, found = starts[at], found[at]
        return cls(_columns(found, lists) if order is None else codes[order[starts]].astype(np.int64), table)

    @property
    def totals(self) -> _Ints:
        """How many images have each row."""
        return np.asarray(self.counts.sum(axis=0))

    def __len__(self) -> int:
        return len(self.codes)


def _changes(rising: _Ints) -> NDArray[np.bool_]:
    """Which numbers are not the one before."""
    changes = np.ones(len(rising), bool)
    np.not_equal(rising[1:], rising[:-1], out=changes[1:])
    return changes


def _columns(keys: _Ints, lists: list[tuple[_Ints | None, int]]) -> _Ints:
    columns = []
    for found, width in reversed(lists):
        if found is None:
            rest = keys // width
            columns.append(keys - (rest * width + 1))
            keys = rest
        else:
            keys = found[keys]
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(keys), 0), np.int64)
