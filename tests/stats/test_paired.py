"""Tests before and after, and the change of a mean."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import (
    exchange_test,
    paired_ratio,
    paired_t,
    rank_biserial,
    relative_change,
    signed_rank,
    standardised_change,
)


def test_paired_t_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12), rng.normal(0.4, 1, size=12)
    assert paired_t(x, y) == pytest.approx(scipy_stats.ttest_rel(x, y).pvalue)
    assert paired_t(x, y) == pytest.approx(paired_t(y, x))


def test_signed_rank_agrees_with_scipy_where_nothing_is_tied() -> None:
    rng = np.random.default_rng(2)
    for n in (2, 5, 6, 17, 40):
        x, y = rng.normal(size=n), rng.normal(0.3, 1, size=n)
        expected = scipy_stats.wilcoxon(x, y, method="exact").pvalue
        assert signed_rank(x, y) == pytest.approx(expected)


@pytest.mark.parametrize("change", [[1, 1, -1, 2, 3], [0.1, 0.1, 0.1], [1, 2, 2, -2, 0, 0, 5], [-1, -1]])
def test_signed_rank_counts_out_the_signs_with_ties_and_zeros(change: list[float]) -> None:
    kept = np.array([c for c in change if c])
    ranks = scipy_stats.rankdata(np.abs(kept))
    centre = ranks.sum() / 2
    seen = abs(ranks[kept > 0].sum() - centre)
    sums = [abs(np.dot(ranks, signs) - centre) for signs in product([0, 1], repeat=len(kept))]
    assert signed_rank(np.zeros(len(change)), change) == pytest.approx(np.mean(np.array(sums) >= seen - 1e-9))


def test_signed_rank_of_many_pairs_is_near_the_normal_one() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=250), rng.normal(0.1, 1, size=250)
    expected = scipy_stats.wilcoxon(x, y, method="asymptotic", correction=True).pvalue
    assert signed_rank(x, y) == pytest.approx(expected, abs=2e-3)


def test_differences_equal_but_for_rounding_are_tied() -> None:
    before = np.array([0.1, 0.2, 0.3, 0.7])
    assert signed_rank(before, before + 0.1) == pytest.approx(0.125)
    assert np.isnan(paired_t(before, before + 0.1))


@pytest.mark.parametrize("test", [paired_t, signed_rank])
def test_pairs_with_a_missing_side_are_left_out(test) -> None:
    x, y = [1, 2, 3, np.nan, 9], [2, 4, 3.5, 7, np.nan]
    assert test(x, y) == test(x[:3], y[:3])
    assert np.isnan(test([1], [2]))
    assert np.isnan(test([], []))


def test_nothing_changes() -> None:
    assert signed_rank([1, 2], [1, 2]) == 1.0
    assert np.isnan(paired_t([1, 2], [1, 2]))


def test_a_relative_change_worked_by_hand() -> None:
    # Means 2 and 3; v_x = (0.04 + 0.09 + 0.16)/9, v_y = 3 · 0.09/9.
    found = relative_change([1, 2, 3], [2.5, 2.5, 4], [0.2, 0.3, 0.4], [0.3] * 3, level=0.5)
    v_x, v_y, z = 0.29 / 9, 0.03, scipy_stats.norm.ppf(0.75)
    roots = np.roots([4 - z**2 * v_x, -2 * 6, 9 - z**2 * v_y])
    p = 2 * scipy_stats.norm.sf(1 / np.sqrt(v_x + v_y))
    assert found == pytest.approx((0.5, min(roots) - 1, max(roots) - 1, p))


def test_the_interval_excludes_0_exactly_where_the_test_rejects() -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(200):
        x = rng.normal(0.4, 0.1, size=6)
        y = x * 0.85 + rng.normal(0, 0.06, size=6)
        _, low, high, p = relative_change(x, y, [0.05] * 6, [0.06] * 6)
        seen.add(p <= 0.05)
        assert (p <= 0.05) == (not low <= 0 <= high)
    assert seen == {True, False}


def test_a_mean_that_is_not_told_from_0_has_no_bounded_interval() -> None:
    change, low, high, _ = relative_change([0.1, -0.05, 0.02], [0.2, 0.1, 0.1], [0.1] * 3, [0.1] * 3)
    assert change > 0
    assert np.isnan([low, high]).all()


def test_a_change_is_undefined_without_a_pair_or_a_positive_mean() -> None:
    assert np.isnan(relative_change([np.nan], [0.2], [0.1], [0.1])).all()
    assert np.isnan(relative_change([0, 0], [0.2, 0.1], [0.1] * 2, [0.1] * 2)).all()
    assert np.isnan(relative_change([-0.1, 0.05], [0.2, 0.1], [0.1] * 2, [0.1] * 2)).all()
    for without in ([np.nan, 0.1], [0, 0]):
        change, *rest = relative_change([0.4, 0.2], [0.2, 0.1], without, [0, 0])
        assert change == pytest.approx(-0.5)
        assert np.isnan(rest).all()


def test_values_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(UsageError, match="each needs its partner, found 2 and 1 values"):
        relative_change([1, 2], [1], [0.1] * 2, [0.1])
    with pytest.raises(UsageError, match="level must lie between 0 and 1"):
        relative_change([1, 2], [1, 3], [0.1] * 2, [0.1] * 2, level=95)


@pytest.mark.parametrize("n", [1, 3, 16])
def test_fiellers_interval_covers_the_change(n: int) -> None:
    rng = np.random.default_rng(5)
    true = rng.uniform(0.2, 0.4, size=n)
    runs, held, bounded = 1500, 0, 0
    for _ in range(runs):
        x = true + rng.normal(0, 0.06, size=n)
        y = 0.7 * true + rng.normal(0, 0.05, size=n)
        _, low, high, _ = relative_change(x, y, [0.06] * n, [0.05] * n)
        bounded += not np.isnan(low)
        held += bool(low <= -0.3 <= high)
    assert held / bounded >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / bounded)
    assert bounded > 0.5 * runs


@pytest.mark.parametrize(
    ("n", "shift"), [(2, 0.5), (3, -0.2), (6, -0.6), (100, -0.5), (100, 0.01), (40, 9.0)]
)
def test_the_interval_of_d_z_is_that_of_scipys_noncentral_t(n: int, shift: float) -> None:
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n)
    y = x + shift + rng.normal(0, 0.15, size=n)
    size, low, high = standardised_change(x, y)
    change = y - x
    assert size == pytest.approx(change.mean() / change.std(ddof=1))
    t = size * np.sqrt(n)
    assert t == pytest.approx(scipy_stats.ttest_rel(y, x).statistic)
    if abs(t) < 40:  # beyond, scipy's distribution function is not exact
        assert scipy_stats.nct.cdf(t, n - 1, low * np.sqrt(n)) == pytest.approx(0.975, abs=1e-5)
        assert scipy_stats.nct.cdf(t, n - 1, high * np.sqrt(n)) == pytest.approx(0.025, abs=1e-5)
    assert low < size < high


def test_rank_biserial_correlation_is_what_scipys_rank_sums_give() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, size=40) / 4, rng.integers(0, 4, size=40) / 4
    changed = (y - x)[y != x]
    ranks = scipy_stats.rankdata(np.abs(changed))
    up, down = ranks[changed > 0].sum(), ranks[changed < 0].sum()
    assert rank_biserial(x, y) == pytest.approx((up - down) / (up + down))
    assert min(up, down) == pytest.approx(scipy_stats.wilcoxon(x, y, zero_method="wilcox").statistic)
    assert rank_biserial(x, y) == -rank_biserial(y, x)
    assert (rank_biserial([1, 2], [0, 1]), rank_biserial([1, 2], [1, 3])) == (-1.0, 1.0)


def test_the_paired_ratio_is_told_from_a_value_as_the_paired_t_test_tells_it() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.2, 0.6, size=34)
    y = 0.45 * x + rng.normal(0, 0.08, size=34)
    change, low, high = paired_ratio(x, y)
    assert change == pytest.approx(y.mean() / x.mean() - 1)
    # The ends are where y − ρx is just told from 0.
    for end in (low, high):
        assert scipy_stats.ttest_1samp(y - (1 + end) * x, 0).pvalue == pytest.approx(0.05, abs=1e-9)
    assert low < change < high


def test_sizes_without_pairs_variation_or_an_original_are_undefined() -> None:
    for x, y in (([], []), ([0.4], [0.2]), ([np.nan, 0.3], [0.1, 0.2]), ([0.4, 0.5], [0.2, 0.3])):
        assert np.isnan(standardised_change(x, y)).all()
    assert np.isnan(rank_biserial([0.2, 0.3], [0.2, 0.3]))
    assert np.isnan(rank_biserial([], []))
    assert np.isnan(paired_ratio([0.0, 0.0], [0.0, 0.0])).all()
    assert np.isnan(paired_ratio([], [])).all()
    change, *ends = paired_ratio([0.4, 0.2], [0.2, 0.1])  # all in one proportion
    assert change == pytest.approx(-0.5)
    assert np.isnan(ends).all()
    change, *ends = paired_ratio([0.4, -0.3, 0.1], [0.2, 0.1, 0.3])  # the original may be 0
    assert change > 0
    assert np.isnan(ends).all()


@pytest.mark.parametrize(("m", "k"), [(1, 2), (4, 2), (5, 3), (3, 5)])
def test_settings_are_exchanged_in_all_ways(m: int, k: int) -> None:
    table = np.random.default_rng(m).integers(0, 9, (m, k)) / 8
    away = table - table.mean(axis=1, keepdims=True)
    sums = np.abs([sum(way) for way in product(*away.tolist())])
    for at in range(k):
        p, least = exchange_test(table, at)
        # Deviations are rounded to thousandths of their reach: ties may fall to either side.
        seen = abs(away[:, at].sum())
        assert np.mean(sums > seen + 0.01) - 1e-9 <= p <= np.mean(sums >= seen - 0.01) + 1e-9
        assert least == pytest.approx(np.mean(sums >= sums.max() - 1e-9), abs=0.01)


def test_the_exchange_holds_its_level_however_skew_scenarios_are_and_goes_as_far_as_it_can() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(600):
        shares = rng.beta(0.1, 0.9, 9)[:, None]
        found.append(exchange_test(rng.binomial(20, np.repeat(shares, 3, axis=1)) / 20, 0)[0])
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 600)
    always = exchange_test([[0.6, 0.5]] * 40, 0)
    assert always == (pytest.approx(2.0**-39), pytest.approx(2.0**-39))
    assert exchange_test([[0.5, 0.5], [0.1, 0.1]], 1) == (1.0, 1.0)
