"""Means within their scale, and how far shares stray."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from stereotrope.errors import UsageError
from stereotrope.stats import mean_interval, share_deviation, shuffled_difference


@given(some.floats(0, 1), some.integers(1, 60))
def test_the_deviation_is_that_of_the_binomial_distribution_counted_out(p: float, n: int) -> None:
    counted = sum(abs(k / n - p) * comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1))
    assert float(share_deviation(p, n)) == pytest.approx(counted, abs=1e-12)


def test_the_deviation_of_many_pictures_is_the_normal_one() -> None:
    assert float(share_deviation(0.3, 10**6)) == pytest.approx(np.sqrt(2 * 0.21 / (np.pi * 1e6)), rel=1e-5)


def test_what_is_no_share_or_number_is_refused() -> None:
    for p, n in ((1.1, 20), (0.5, 0), (0.5, 2.5), (np.nan, 20)):
        with pytest.raises(UsageError, match="share_deviation: shares must lie in"):
            share_deviation(p, n)


def test_means_stay_within_their_scale() -> None:
    mean, low, high = mean_interval([0.0, 0.01, 0.2], scale=(0.0, 1.0))
    assert mean == pytest.approx(0.07)
    assert 0 < low < mean < high < 1
    assert mean_interval([0.0, 0.1], scale=(0.0, None))[1] == 0.0
    assert np.isnan(mean_interval([], scale=(0.0, 1.0))).all()
    assert np.isnan(mean_interval([0.3])[1:]).all()
    assert np.isnan(mean_interval([0.3, 0.3])[1:]).all()


@given(some.lists(some.tuples(*[some.integers(0, 12)] * 4), min_size=1, max_size=4))
def test_shuffled_differences_are_those_of_the_hypergeometric_distribution(tables) -> None:
    table = np.array([(k, k + more, j, j + further) for k, more, j, further in tables])
    found = np.stack(shuffled_difference(*table.T)).T
    for (k, n, j, m), (mean, variance) in zip(table.tolist(), found.tolist(), strict=True):
        if not n or not m:
            assert np.isnan([mean, variance]).all()
            continue
        ways = {x: comb(n, x) * comb(m, k + j - x) for x in range(max(0, k + j - m), min(n, k + j) + 1)}
        apart = {x: abs(x / n - (k + j - x) / m) for x in ways}
        expected = sum(ways[x] * apart[x] for x in ways) / sum(ways.values())
        square = sum(ways[x] * apart[x] ** 2 for x in ways) / sum(ways.values())
        assert mean == pytest.approx(expected, abs=1e-12)
        assert variance == pytest.approx(square - expected**2, abs=1e-12)
