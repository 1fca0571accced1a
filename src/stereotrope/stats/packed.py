"""Weights of several resamples in one number, so that one matrix product counts them all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import ONE_THREAD

_EXACT_BITS = 24
"""Bits of whole numbers that single precision holds."""
_HEIGHT, _CELLS = 64, 1 << 12
"""Numbers of an image that are multiplied together, at least; of few images so many of all."""
_UNROLLED, _WIDTH, _MANY = 4, 8, 24
"""Numbers and columns that a product takes in one step, and columns of which empty ones fill up the last."""


@dataclass(frozen=True)
class PackedWeights:
    """How often images are drawn in resamples.

    numbers: Shape (n_blocks, height, n), each of some resamples, the first digits of all before the second.
    digits: By how many bits each of these is shifted, a column.
    greatest: Digit.
    n_resamples: All; what is beyond them is 0.
    """

    numbers: Counts
    digits: NDArray[np.int32]
    greatest: int
    n_resamples: int

    @classmethod
    def of(cls, weights: NDArray[np.number], most: int) -> PackedWeights:
        """Pack weights of shape (n, n_resamples), in each of which at most so many images are drawn."""
        (n, n_resamples), bits = weights.shape, max(1, most.bit_length())
        digits = np.arange(0, max(1, _EXACT_BITS - bits + 1), bits, dtype=np.int32)
        height = -(-n_resamples // len(digits))
        blocks = max(1, height // max(_HEIGHT, _CELLS // n))
        height = -(-height // (blocks * _UNROLLED)) * _UNROLLED
        numbers, width = np.zeros((n, blocks * height), np.float32), blocks * height
        for at, digit in enumerate(digits.tolist()):
            some = weights[:, at * width : (at + 1) * width]
            numbers[:, : some.shape[1]] += some * np.float32(1 << digit)
        numbers = np.ascontiguousarray(numbers.T).reshape(blocks, height, n)
        return cls(numbers, digits[:, None], (1 << bits) - 1, n_resamples)

    def counts(self, columns: Counts) -> NDArray[np.int32]:
        """Counts by column of zeros and ones, shape (n_columns, n_resamples), a resample after the other."""
        return self.unpacked(self.product(columns))

    def product(self, columns: Counts) -> Counts:
        """What :meth:`unpacked` makes counts of, by column along the last axis.

        It is taken in parts that BLAS does on one thread.
        """
        (n_columns, n), by, height = columns.shape, columns.T, self.numbers.shape[1]
        if n_columns > _MANY and n_columns * n * height > ONE_THREAD:
            by = np.zeros((n, -(-n_columns // _WIDTH) * _WIDTH), np.float32)
            by[:, :n_columns] = columns.T
        depth = max(1, ONE_THREAD // max(1, height * by.shape[1]))
        found = self.numbers[..., :depth] @ by[:depth]
        for start in range(depth, n, depth):
            found += self.numbers[..., start : start + depth] @ by[start : start + depth]
        return found[..., :n_columns]

    def unpacked(self, found: Counts) -> NDArray[np.int32]:
        """Counts by column and resample."""
        blocks, height, n_columns = found.shape
        counts = found.astype(np.int32).ravel() >> self.digits
        counts[:-1] &= self.greatest
        return counts.reshape(len(counts) * blocks * height, n_columns)[: self.n_resamples].T
