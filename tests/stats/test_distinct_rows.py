"""Images counted by distinct row of codes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stereotrope.stats import distinct_rows
from stereotrope.stats.distinct_rows import DistinctRows


@pytest.mark.parametrize("most", [1 << 62, 200])
def test_rows_and_their_counts_by_group_are_those_of_counting(monkeypatch, most):
    monkeypatch.setattr(distinct_rows, "_MOST_KEYS", most)
    rng = np.random.default_rng(0)
    codes, groups = rng.integers(-1, 4, (500, 3)), rng.integers(0, 3, 500)
    rows = DistinctRows.of(codes, groups, 3)
    counted = Counter((g, *row) for g, row in zip(groups.tolist(), codes.tolist(), strict=True))
    told = {
        (g, *row): n
        for g, counts in enumerate(rows.counts.tolist())
        for row, n in zip(rows.codes.tolist(), counts, strict=True)
        if n
    }
    assert told == counted
    assert len(np.unique(rows.codes, axis=0)) == len(rows)
    assert rows.totals.sum() == 500


def test_rows_do_not_depend_on_the_order_of_images():
    rng = np.random.default_rng(1)
    codes, groups, order = rng.integers(0, 3, (60, 2)), rng.integers(0, 2, 60), rng.permutation(60)
    one, other = DistinctRows.of(codes, groups, 2), DistinctRows.of(codes[order], groups[order], 2)
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_images_without_attributes_or_no_images_have_rows_too():
    assert DistinctRows.of(np.zeros((4, 0), int), np.zeros(4, int), 1).counts.tolist() == [[4]]
    assert len(DistinctRows.of(np.zeros((0, 2), int), np.zeros(0, int), 2)) == 0
