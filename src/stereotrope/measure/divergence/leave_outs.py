"""Scores of one condition without each of its prompts in turn: how far they stray over prompts like these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.divergence.coded import Codes, Ints
from stereotrope.stats import cluster_share_interval, effective_counts, scatter_likeness
from stereotrope.stats.arrays import Floats

_FEW = 4.0
"""Other labels than the most frequent, in effect, from which on prompts' scatter says how they vary."""


@dataclass(frozen=True)
class LeaveOuts:
    """Labels of one attribute by prompt.

    each: How often each value that occurs, rising, is in each prompt, shape (n_values, n_prompts).
    """

    each: Ints

    @classmethod
    def of(cls, codes: Codes, units: Ints) -> "LeaveOuts":
        """Count labels by prompt; one below 0 is none. Units: the prompt of each, from 0."""
        labelled = codes >= 0
        present, value = np.unique(codes[labelled], return_inverse=True)
        each = np.zeros((len(present), int(units.max(initial=0)) + 1), np.int64)
        np.add.at(each, (value, units[labelled]), 1)
        return cls(each)

    @property
    def without(self) -> Ints:
        """How often each value is there without each prompt, of the same shape."""
        return np.asarray(self.each.sum(axis=1, keepdims=True) - self.each)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which prompts have a label, shape (n_prompts,)."""
        return np.asarray(self.each.any(axis=0))

    @property
    def likeness(self) -> float:
        """One over the dimensions in which prompts differ; 1 where they do not."""
        sizes = self.each.sum(axis=0)
        share = self.each.sum(axis=1, keepdims=True) / sizes.sum()
        return scatter_likeness((self.each - share * sizes) / np.sqrt(share)) or 1.0

    def others(self, level: float) -> float | None:
        """Greatest share of labels but the most frequent; None where these are enough to scatter."""
        sizes = self.each.sum(axis=0)
        often = self.each[self.each.sum(axis=1).argmax()]
        hits, trials = effective_counts(often, sizes, level=level)
        if trials - hits >= _FEW:
            return None
        # One end alone is at stake here.
        return 1.0 - cluster_share_interval(often, sizes, level=level**2)[0]


def jackknife_bias(scores: Floats, labelled: NDArray[np.bool_]) -> Floats:
    """By how much each score is too high, of the whole first and then without each prompt; shape (k,)."""
    left = scores[:, 1:][:, labelled]
    return np.asarray((left.shape[1] - 1) * (left.mean(axis=1) - scores[:, 0]))


def jackknife_sd(scores: Floats, labelled: NDArray[np.bool_]) -> Floats:
    """Standard error of each score; NaN where one is not there without some prompt."""
    left = scores[:, 1:][:, labelled]
    m = left.shape[1]
    return np.asarray(np.sqrt((m - 1) * left.var(axis=1)))
