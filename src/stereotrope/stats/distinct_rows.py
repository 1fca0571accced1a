"""Images as distinct rows of codes: what is the same of two images is counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_MOST_KEYS = 1 << 62


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
            width = int(column.max(initial=-1)) + 2
            if size * width * n_groups >= _MOST_KEYS:
                # Too many rows are possible for one number: those that occur are numbered.
                found, keys = np.unique(keys, return_inverse=True)
                lists.append((found, size))
                size = len(found)
            keys = keys * width + (column.astype(np.int64) + 1)
            lists.append((None, width))
            size *= width
        found, counts = _counted(keys * n_groups + groups)
        rows, at = np.unique(found // n_groups, return_inverse=True)
        table = np.zeros((n_groups, len(rows)), np.int64)
        table[found % n_groups, at] = counts
        return cls(_columns(rows, lists), table)

    @property
    def totals(self) -> _Ints:
        """How many images have each row."""
        return np.asarray(self.counts.sum(axis=0))

    def __len__(self) -> int:
        return len(self.codes)


def _counted(keys: _Ints) -> tuple[_Ints, _Ints]:
    """Numbers that occur, rising, and how often: by sorting, which is faster than hashing here."""
    inorder = np.sort(keys)
    starts = np.flatnonzero(np.append(True, inorder[1:] != inorder[:-1]))[: len(inorder)]
    return inorder[starts], np.diff(np.append(starts, len(inorder)))


def _columns(keys: _Ints, lists: list[tuple[_Ints | None, int]]) -> _Ints:
    columns = []
    for found, width in reversed(lists):
        if found is None:
            keys, code = np.divmod(keys, width)
            columns.append(code - 1)
        else:
            keys = found[keys]
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(keys), 0), np.int64)
