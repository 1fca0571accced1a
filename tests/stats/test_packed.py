"""Counts of several resamples in one number are those of each."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats.packed import PackedWeights


@pytest.mark.parametrize("most", [0, 1, 20, 31, 32, 255, 256, 4_095, 4_096, 1 << 23])
@pytest.mark.parametrize("n_resamples", [0, 1, 3, 2_000])
def test_counts_of_resamples_that_share_a_number_do_not_mix(most: int, n_resamples: int) -> None:
    rng = np.random.default_rng(most)
    columns = (rng.random((7, 30)) < 0.7).astype(np.float32)
    columns[0] = 1.0  # as many as can be
    weights = rng.multinomial(most, np.full(30, 1 / 30), n_resamples).T
    counts = PackedWeights.of(weights, most).counts(columns)
    np.testing.assert_array_equal(counts, columns.astype(int) @ weights)


@pytest.mark.parametrize(("n_columns", "n"), [(0, 5), (1, 1), (300, 300), (48, 2_000)])
def test_counts_are_exact_in_any_parts(n_columns: int, n: int) -> None:
    rng = np.random.default_rng(n)
    columns = (rng.random((n_columns, n)) < 0.5).astype(np.float32)
    weights = rng.multinomial(n, np.full(n, 1 / n), 150).T
    counts = PackedWeights.of(weights, n).counts(columns)
    np.testing.assert_array_equal(counts, columns.astype(int) @ weights)
