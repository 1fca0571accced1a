"""Counts by column and replicate."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats.counts import mean_pair_floor, mean_pair_js, one_hot, tally, tally_of_rows


@pytest.mark.parametrize("shape", [(32, 40, 300), (4, 2_500, 70), (32, 2_500, 207), (3, 0, 5), (0, 4, 5)])
def test_counts_are_exact_in_any_slices(shape: tuple[int, int, int]) -> None:
    rows, inner, n = shape
    rng = np.random.default_rng(0)
    columns, weights = rng.integers(0, 2, (rows, inner)), rng.integers(0, 4, (inner, n))
    told = tally(columns.astype(np.float32), weights.astype(np.float32))
    assert (told == columns @ weights).all()


@pytest.mark.parametrize("n", [0, 3, 5_000])
def test_columns_are_those_of_the_values_that_occur(n: int) -> None:
    codes = np.random.default_rng(n).integers(-1, 4, (n, 3)) * 2
    codes[codes < 0] = -1
    codes[:, 1] = -1
    hot = one_hot(codes)
    expected = [(a, v) for a in (0, 2) for v in sorted({*codes[:, a].tolist()} - {-1})]
    assert hot.attribute.tolist() == [attribute for attribute, _ in expected]
    for column, (attribute, value) in zip(hot.columns, expected, strict=True):
        assert (column == (codes[:, attribute] == value)).all()
    assert [attribute for attribute, _ in hot.parts] == sorted({a for a, _ in expected})
    assert hot.complete.tolist() == [bool((codes[:, a] >= 0).all()) for a in range(3)]


def test_scores_do_not_depend_on_what_is_scored_together() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 4, (30, 5))
    codes[:, ::2] = np.abs(codes[:, ::2])
    hot, sizes = one_hot(codes), [20, 20]
    counts = [tally(hot.columns, rng.multinomial(20, np.full(30, 1 / 30), 6_000).T * 1.0) for _ in sizes]
    for score in (mean_pair_js, mean_pair_floor):
        together = score(counts, sizes, hot)
        apart = [score([c[:, n : n + 1] for c in counts], sizes, hot)[:, 0] for n in range(0, 6_000, 600)]
        np.testing.assert_allclose(together[:, ::600].T, apart, rtol=0, atol=1e-12)


@pytest.mark.parametrize("values", [3, 400])
def test_counts_of_many_values_are_those_of_the_whole_product(values: int) -> None:
    rng = np.random.default_rng(values)
    columns = np.eye(values, dtype=np.float32)[:, rng.permutation(values)]
    weights = rng.integers(0, 50, (values, 7)).astype(np.float32)
    assert (tally_of_rows(columns)(weights) == columns @ weights).all()
