"""Comparisons of made-up labels, and how often one of them is told among many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stereotrope.stats import count_able
from stereotrope.stats.arrays import Floats

_CELLS = 2_000_000
"""Comparisons of all lists that are drawn together; up to 200 lists, and at least 20."""


@dataclass(frozen=True)
class Simulated:
    """Comparisons of made-up labels in which one value's share grows.

    p, least: p-value of each comparison, and the least that its counts could have given; shape ``(T,)``.
    alike: Part of these comparisons that end as alike.
    """

    p: Floats
    least: Floats
    alike: float

    def found(self, usual: Simulated, n_comparisons: int, spread: float, alpha: float) -> float:
        """Probability that one of these is told, if beside it this part of all comparisons differs as much.

        Benjamini and Hochberg's procedure tells those up to the greatest p for which p times the number of
        tests that could have given one as small is at most α times the number of those as small. Whole lists
        of others are drawn: as many from these as differ by chance, the rest from ``usual``, comparisons
        where nothing differs; how many could have given a p is what it is in all of them on average.
        """
        rng = np.random.default_rng(n_comparisons)
        shape = max(20, min(200, _CELLS // n_comparisons)), n_comparisons - 1
        differs = rng.random(shape) < spread
        drawn = np.where(
            differs,
            rng.integers(len(self.p), size=shape),
            len(self.p) + rng.integers(len(usual.p), size=shape),
        )
        p = np.concatenate([self.p, usual.p])
        parts = ((self.least, spread), (usual.least, 1 - spread))
        able = sum(part * count_able(least, p) / least.size for least, part in parts)
        weighed = p * np.maximum(1.0, n_comparisons * np.asarray(able))
        others = np.sort(weighed[drawn], axis=1)
        ranks = np.arange(2, n_comparisons + 1)
        most = np.max(np.where(others <= alpha * ranks, ranks, 1), axis=1, initial=1)
        own = np.sort(weighed[: len(self.p)])
        return float(np.searchsorted(own, alpha * most, side="right").mean()) / len(self.p)
