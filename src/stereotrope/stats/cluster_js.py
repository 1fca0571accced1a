"""Jensen–Shannon divergences where clusters of images are the units: their shuffles and their bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.counts import (
    OneHot,
    mean_pair_js_of_weights,
    one_hot,
    tally,
    tally_draws,
    tally_of_rows,
)
from stereotrope.stats.distinct_rows import DistinctRows

_PSEUDO_CLUSTERS = 0.5
"""Clusters' worth of the pool that each group is smoothed with; chosen by simulation (tests/measure)."""
_FEWEST_MATCHED = 12
"""Clusters of both groups from which on those of a pair are exchanged. With eleven p stays above 0.0009,
and where many comparisons ask for less, exchanging whole ones tells more unless clusters differ greatly."""
_CHUNK = 1000
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Clustered:
    """Labels of images counted by cluster, each cluster in one group.

    hot: One-hot columns of the images' distinct rows.
    counts: How often each column is in each cluster, shape (n_columns, n_clusters).
    group: Group of each cluster, coded 0 … G − 1, in the order of the clusters' numbers.
    number: Of each cluster; what two groups have of one number are two clusters.
    """

    hot: OneHot
    counts: Counts
    group: _Ints
    number: _Ints

    @classmethod
    def of(cls, codes: ArrayLike, groups: ArrayLike, clusters: ArrayLike) -> Clustered:
        """Count the labels of clusters."""
        matrix, group = np.asarray(codes), np.asarray(groups, np.int64)
        n_groups = int(group.max(initial=0)) + 1
        of_cluster = np.asarray(clusters, np.int64) * n_groups + group
        numbers, of = np.unique(of_cluster, return_inverse=True)
        rows = DistinctRows.of(matrix, np.zeros(len(matrix), np.int64), 1)
        hot, counts = one_hot(rows.codes, rows.totals), []
        for attribute, part in hot.parts:
            column = matrix[:, attribute]
            value = np.searchsorted(np.unique(column[column >= 0]), column)
            cell = (value * len(numbers) + of)[column >= 0]
            n_cells = (part.stop - part.start) * len(numbers)
            counts.append(np.bincount(cell, minlength=n_cells).reshape(-1, len(numbers)))
        every = np.concatenate([np.zeros((0, len(numbers)), np.int64), *counts]).astype(np.float32)
        found = cls(hot, every, numbers % n_groups, numbers // n_groups)
        if len(found.sizes) < 2 or min(found.sizes) < 1:
            raise UsageError(f"Clustered: at least two groups with a cluster are needed, found {found.sizes}")
        return found

    @property
    def sizes(self) -> tuple[int, ...]:
        """Clusters in each group."""
        return tuple(np.bincount(self.group).tolist())

    @cached_property
    def matched(self) -> bool:
        """Whether two groups have the same clusters, twelve or more, of known numbers, each label in all.

        Those of one number then stand side by side, and what they have in common is no difference.
        """
        if len(self.sizes) != 2 or self.number[0] < 0 or len(self.number) < 2 * _FEWEST_MATCHED:
            return False
        same = len(set(self.sizes)) == 1 and np.array_equal(self.number[::2], self.number[1::2])
        return bool(same and (np.add.reduceat(self.counts, self.hot.starts, axis=0) > 0).all())

    @property
    def freedom(self) -> int:
        """Clusters less one, summed over the groups; of matched ones, pairs less one."""
        return self.sizes[0] - 1 if self.matched else len(self.group) - len(self.sizes)

    @property
    def ways(self) -> int:
        """In how many ways clusters can change groups; of matched ones, those of a pair."""
        return 2 ** self.sizes[0] if self.matched else ways(self.sizes)

    def even(self) -> Clustered | None:
        """The same with as many labels in each cluster of an attribute; None where groups are alike in sizes.

        Where clusters of one group are larger, a shuffle changes how many labels a group has, and counts of
        a rare value know the groups by their sizes; shares of clusters do not.
        """
        counts, unlike = self.counts.copy(), False
        for _, part in self.hot.parts:
            trials = self.counts[part].sum(axis=0)
            usual, *others = (trials[self.group == g] for g in range(len(self.sizes)))
            if not self.matched:
                usual, *others = map(np.sort, (usual, *others))
            unlike |= any(not np.array_equal(usual, one) for one in others)
            counts[part] *= trials.mean() / np.maximum(1.0, trials)
        return replace(self, counts=counts) if unlike else None

    @property
    def js(self) -> Floats:
        """Divergence of each attribute, in bits."""
        seen = [self.counts[:, self.group == g].sum(axis=1, keepdims=True) for g in range(len(self.sizes))]
        return mean_pair_js_of_weights(seen, self.hot)[:, 0]

    def shuffled(self, *, n_shuffles: int, seed: int = 0) -> tuple[Floats, bool]:
        """Divergence of each attribute when whole clusters change groups, matched ones with one another.

        n_shuffles: Where there are no more ways than these to do so, each of them comes once, but for the one
            seen.
        Returns js, every: Shape (B, n_attributes), bits, NaN where fewer than two groups have a label; and
            whether it is every way.
        """
        every = self.ways <= n_shuffles
        if every:
            splits = _every_flip(self.sizes[0]) if self.matched else _every_split(self.sizes)
            splits = splits[(splits != self.group).any(axis=1)]
            placed: Iterator[_Ints] = (
                splits[start : start + _CHUNK] for start in range(0, len(splits), _CHUNK)
            )
        else:
            placed = self._permuted(n_shuffles, np.random.default_rng([seed, 5, *self.sizes]))
        scores, tallied = [np.empty((0, len(self.hot.complete)))], tally_of_rows(self.counts)
        total = self.counts.sum(axis=1, keepdims=True)
        for part in placed:
            found = [tallied(np.asarray(g == part.T, np.float32)) for g in range(len(self.sizes) - 1)]
            found.append(total - sum(found))
            scores.append(mean_pair_js_of_weights(found, self.hot).T)
        return np.concatenate(scores), every

    def _permuted(self, n_shuffles: int, rng: np.random.Generator) -> Iterator[_Ints]:
        for start in range(0, n_shuffles, _CHUNK):
            some = min(_CHUNK, n_shuffles - start)
            if self.matched:
                yield self.group ^ np.repeat(rng.integers(0, 2, (some, self.sizes[0])), 2, axis=1)
            else:
                yield rng.permuted(np.tile(self.group, (some, 1)), axis=1)

    def resampled(self, *, n_resamples: int, seed: int = 0) -> Floats:
        """Divergence of each attribute when clusters are drawn again within their group, in bits.

        The bootstrap is smoothed: what a drawn cluster of m shows of an attribute is that of one of all
        groups' with probability 0.5/(m + 0.5), each attribute on its own. Without it, clusters that agree
        would never vary; borrowed whole, they would move all attributes at once, and their mean too far.

        Returns: Shape (n_resamples, n_attributes).
        """
        drawn, ends = [], np.append(self.hot.starts[1:], len(self.counts))
        for g, m in enumerate(self.sizes):
            rng = np.random.default_rng([seed, 6, g, *self.sizes])
            draw = np.random.default_rng([seed, 13, m]) if self.matched else rng  # pairs are drawn together
            own = np.flatnonzero(self.group == g)[draw.integers(0, m, (n_resamples, m))]
            counts = tally(self.counts, tally_draws(own, len(self.group)))
            for start, end in zip(self.hot.starts, ends, strict=True):
                part = slice(start, end)
                row, at = np.nonzero(rng.random(own.shape) < _PSEUDO_CLUSTERS / (m + _PSEUDO_CLUSTERS))
                other = rng.integers(0, len(self.group), len(row))
                swapped = self.counts[part, other] - self.counts[part, own[row, at]]
                np.add.at(counts[part].T, row, swapped.T)
            drawn.append(counts)
        return mean_pair_js_of_weights(drawn, self.hot).T


def ways(sizes: tuple[int, ...]) -> int:
    """In how many ways clusters can be put into groups of these sizes."""
    found, left = 1, sum(sizes)
    for size in sizes:
        found *= comb(left, size)
        left -= size
    return found


@lru_cache(maxsize=16)
def _every_flip(n_pairs: int) -> _Ints:
    """Groups of matched clusters, one row a way to exchange those of each pair."""
    exchanged = (np.arange(2**n_pairs)[:, None] >> np.arange(n_pairs)) & 1
    return np.stack([exchanged, 1 - exchanged], axis=2).reshape(len(exchanged), -1)


@lru_cache(maxsize=32)
def _every_split(sizes: tuple[int, ...]) -> _Ints:
    """Groups of the clusters, one row a way."""

    def placed(left: tuple[int, ...], group: int) -> Iterator[dict[int, int]]:
        if group == len(sizes) - 1:
            yield dict.fromkeys(left, group)
            return
        for own in combinations(left, sizes[group]):
            rest = tuple(one for one in left if one not in own)
            for others in placed(rest, group + 1):
                yield dict.fromkeys(own, group) | others

    n = sum(sizes)
    every = [[split[one] for one in range(n)] for split in placed(tuple(range(n)), 0)]
    return np.array(every, np.int64)
