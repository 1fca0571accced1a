"""How far scores fall that were chosen for being high and drawn again with nothing changed."""

from __future__ import annotations

import numpy as np

from stereotrope.stats import paired_t

MEAN, SD, QUERIES, ITEMS, RUNS = 0.36, 0.15, 100, 10, 300


def test_redrawing_what_was_high_lowers_an_index_by_chance_alone() -> None:
    rng = np.random.default_rng(0)
    size = MEAN * (1 - MEAN) / SD**2 - 1
    falls, called, all_drawn = [], 0, []
    for _ in range(RUNS):
        true = rng.beta(MEAN * size, (1 - MEAN) * size, QUERIES)
        before = rng.binomial(ITEMS, true) / ITEMS
        again = rng.binomial(ITEMS, true) / ITEMS
        after = np.where(before > MEAN, again, before)
        falls.append(after.mean() / before.mean() - 1)
        all_drawn.append(again.mean() / before.mean() - 1)
        called += paired_t(before, after) <= 0.05
    assert -0.13 < np.mean(falls) < -0.095
    assert 0.75 < called / RUNS < 0.89
    assert abs(np.mean(all_drawn)) < 0.01
