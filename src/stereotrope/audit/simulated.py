"""Comparisons of made-up labels, and how often one of them is told among many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stereotrope.stats import reachable
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

        Benjamini and Hochberg's procedure rejects a p-value beside ``m - 1`` others up to ``αk/m`` with the
        greatest ``k`` for which ``k - 1`` others lie within. Whole lists of others are drawn: as many from
        these as differ by chance, the rest from ``usual``, comparisons where nothing differs.
        """
        rng = np.random.default_rng(n_comparisons)
        shape = max(20, min(200, _CELLS // n_comparisons)), n_comparisons - 1
        differs = rng.random(shape) < spread
        drawn = np.where(
            differs,
            rng.integers(len(self.p), size=shape),
            len(self.p) + rng.integers(len(usual.p), size=shape),
        )
        p, least = np.concatenate([self.p, usual.p]), np.concatenate([self.least, usual.least])
        # What could not have mattered is no part of the family; that is decided by all counts of an audit.
        audit = np.append(least[drawn[0]], np.median(self.least))
        m = max(1, int(reachable(audit, alpha=alpha).sum()))
        within = least < alpha / m
        others = np.sort(np.where(within, p, 1.0)[drawn], axis=1)[:, : m - 1]
        ranks = np.arange(2, others.shape[1] + 2)
        most = np.max(np.where(others <= alpha * ranks / m, ranks, 1), axis=1, initial=1)
        own = np.sort(self.p[within[: len(self.p)]])
        return float(np.searchsorted(own, alpha * most / m, side="right").mean()) / len(self.p)
