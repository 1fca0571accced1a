"""Counts by column and replicate."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats.counts import tally


@pytest.mark.parametrize("shape", [(32, 40, 300), (4, 2_500, 70), (32, 2_500, 200), (3, 0, 5), (0, 4, 5)])
def test_counts_are_exact_in_any_slices(shape: tuple[int, int, int]) -> None:
    rows, inner, n = shape
    rng = np.random.default_rng(0)
    columns, weights = rng.integers(0, 2, (rows, inner)), rng.integers(0, 4, (inner, n))
    told = tally(columns.astype(np.float32), weights.astype(np.float32))
    assert (told == columns @ weights).all()
