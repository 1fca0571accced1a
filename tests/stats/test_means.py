"""Means within their scale, and how far shares stray."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import binom, ttest_1samp

from stereotrope.errors import UsageError
from stereotrope.stats import (
    clopper_pearson,
    mean_interval,
    mean_over_units,
    mean_p,
    share_deviation,
    shuffled_difference,
)


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
    mean, low, high, _ = mean_interval([0.0, 0.01, 0.2], scale=(0.0, 1.0))
    assert mean == pytest.approx(0.07)
    assert 0 < low < mean < high < 1
    assert mean_interval([0.0, 0.1], scale=(0.0, None))[1] == 0.0
    assert np.isnan(mean_interval([], scale=(0.0, 1.0))[:3]).all()
    assert np.isnan(mean_interval([0.3])[1:3]).all()
    assert np.isnan(mean_interval([0.3, 0.3])[1:3]).all()


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


@pytest.mark.parametrize(("k", "m"), [(1, 12), (1, 40), (2, 60), (3, 300)])
def test_scores_at_both_ends_have_clopper_and_pearsons_interval_where_t_is_narrower(k: int, m: int) -> None:
    _, low, high, how = mean_interval([1.0] * k + [0.0] * (m - k), scale=(0.0, 1.0))
    exact = [float(end) for end in clopper_pearson(k, m)]
    assert how.endswith("Gaffke")
    assert (low, high) == (
        pytest.approx(min(low, exact[0]), abs=1e-7),
        pytest.approx(max(high, exact[1]), abs=1e-7),
    )
    _, low, high, _ = mean_interval([-1.0] * k + [3.0] * (m - k), scale=(-1.0, 3.0), level=0.9)
    least, most = clopper_pearson(m - k, m, level=0.9)
    assert low <= 4 * least - 1 + 1e-6
    assert high >= 4 * most - 1 - 1e-6


def test_the_interval_of_uneven_scores_is_that_of_even_weights() -> None:
    scores = np.array([0.0, 0.02, 0.02, 0.03, 0.05, 0.05, 0.4, 0.6])
    weights = np.random.default_rng(1).dirichlet(np.ones(9), 200_000)
    expected = [
        np.quantile(weights @ np.append(scores, end), tail) for end, tail in ((0.0, 0.025), (1.0, 0.975))
    ]
    _, low, high, _ = mean_interval(scores, scale=(0.0, 1.0))
    assert low <= expected[0] + 1e-3
    assert high == pytest.approx(expected[1], abs=3e-3)
    assert mean_over_units(np.repeat(scores, 3), np.repeat(range(8), 3), scale=(0.0, 1.0))[
        1:3
    ] == pytest.approx((low, high))


def test_p_of_uneven_scores_is_that_of_the_interval() -> None:
    even, few = np.array([0.1, 0.3, 0.2, 0.4, 0.3]), np.array([1.0] * 3 + [0.0] * 297)
    assert mean_p(even, 0.1, scale=(-1.0, 1.0)) == pytest.approx(ttest_1samp(even, 0.1).pvalue)
    # Twice the smaller tail of Clopper and Pearson's test, where Student's p is 1e-11 and where it is larger.
    assert mean_p(few, 0.05, scale=(0.0, 1.0)) == pytest.approx(2 * binom.cdf(3, 300, 0.05), rel=2e-3)
    assert mean_p(few, 0.002, scale=(0.0, 1.0)) == pytest.approx(ttest_1samp(few, 0.002).pvalue)
    assert np.isnan(mean_p([0.3, 0.3], 0.0, scale=(-1.0, 1.0)))


@pytest.mark.parametrize("m", [4, *(pytest.param(m, marks=pytest.mark.slow) for m in (8, 25))])
@pytest.mark.parametrize(
    ("draw", "true"),
    [
        (lambda rng, size: rng.beta(5, 5, size), 0.5),
        (lambda rng, size: rng.beta(0.3, 3, size), 1 / 11),
        (lambda rng, size: rng.beta(0.067, 0.6, size), 0.067 / 0.667),
        (lambda rng, size: 1 - (2 * rng.beta(5, 5, size) - 1) ** 2, 10 / 11),
    ],
    ids=["even", "near 0", "mostly 0", "near 1"],
)
def test_means_of_skewed_scores_are_held(m: int, draw, true: float) -> None:
    """Student's interval alone holds the mean of mostly 0 in 0.71 (4), 0.80 (8) and 0.92 (25)."""
    found = [mean_interval(x, scale=(0.0, 1.0)) for x in draw(np.random.default_rng(7), (400, m))]
    held = np.mean([one.low <= true <= one.high for one in found])
    assert 0.925 <= held <= 0.995
