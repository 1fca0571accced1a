"""Images all of whose labels are frequent: of many that are drawn, counts are about normal.

Images with any label that is rare are drawn as they are; how many of the others are drawn beside them is a
single number, and given it the counts of their labels have means and covariances that are known. With at
least 1,000 expected of each in a group, third and fourth moments of a count differ from those of a normal
number by 0.03 and 0.001 at most, which thousands of resamples do not show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Floats
from stereotrope.stats.counts import OneHot, tally

_Ints = NDArray[np.int64]
LEAST = 1_000
"""Images of a group that are expected to have a label that is frequent."""
_ROWS = 1 << 15
"""Rows that are counted together."""


@dataclass(frozen=True)
class Frequent:
    """The images of which every label, and every missing one, is frequent.

    hot: Columns of distinct rows, with how many images each stands for.
    columns: Those that are frequent.
    rows: Those of which all labels are, at least one.
    """

    hot: OneHot
    columns: _Ints
    rows: NDArray[np.bool_]

    @classmethod
    def of(cls, hot: OneHot, part: float = 1.0) -> Frequent | None:
        """None where no image is.

        part: Part of all images that the smallest group has.
        """
        weights, least = hot.weights, LEAST / part
        if weights.sum() < least:
            return None
        frequent = hot.totals >= least
        rare = hot.columns[~frequent].any(axis=0)
        for attribute, place in hot.parts:
            if not hot.complete[attribute]:
                missing = ~hot.columns[place].any(axis=0)
                if 0 < weights[missing].sum() < least:
                    rare |= missing
        rows = ~rare & (weights > 0)
        return cls(hot, np.flatnonzero(frequent), rows) if rows.any() else None

    @cached_property
    def n(self) -> int:
        """How many images they are."""
        return int(self.hot.weights[self.rows].sum())

    @cached_property
    def rest(self) -> OneHot:
        """The columns of all other images."""
        others = ~self.rows & (self.hot.weights > 0)
        return replace(self.hot, columns=self.hot.columns[:, others], weights=self.hot.weights[others])

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Means of the frequent columns, and a matrix that times its transpose is their covariance."""
        kept, width = np.flatnonzero(self.rows), len(self.columns)
        sums, products = np.zeros(width), np.zeros((width, width))
        for start in range(0, len(kept), _ROWS):
            some = kept[start : start + _ROWS]
            columns = self.hot.columns[np.ix_(self.columns, some)]
            weighted = columns * self.hot.weights[some].astype(np.float32)
            sums += weighted.sum(axis=1, dtype=np.float64)
            products += tally(weighted, columns.T)
        mean = sums / self.n
        values, vectors = np.linalg.eigh(products / self.n - np.outer(mean, mean))
        return mean, vectors * np.sqrt(np.maximum(values, 0.0))

    def counts(self, drawn: _Ints, rng: np.random.Generator, *, again: bool) -> NDArray[np.int32]:
        """Counts by group, column and replicate.

        drawn: How many of these images each group takes, shape (n_groups, n_replicates); where no image may
            be drawn again, all groups.
        again: Whether an image may be drawn again; else groups have none in common.
        Returns: Shape (n_groups, n_columns, n_replicates); the values of an attribute without missing labels
            add up to ``drawn``.
        """
        mean, root = self._moments
        shape = len(drawn), len(root), drawn.shape[1]
        apart = np.sqrt(drawn)[:, None] * (root @ rng.standard_normal(shape))
        if not again:
            # What one group takes the others lack.
            apart -= drawn[:, None] / self.n * apart.sum(axis=0)
            apart *= np.sqrt(self.n / max(1, self.n - 1))
        found = np.zeros((len(drawn), len(self.hot.columns), drawn.shape[1]), np.int32)
        found[:, self.columns] = np.rint(apart + drawn[:, None] * mean[:, None])
        for attribute, place in self.hot.parts:
            if self.hot.complete[attribute]:
                last = self.columns[np.searchsorted(self.columns, place.stop) - 1]
                found[:, last] += (drawn - found[:, place].sum(axis=1)).astype(np.int32)
        return found
