from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import (
    benjamini_hochberg,
    cauchy_combined,
    count_able,
    fewest_told,
    fisher_exact,
    fisher_least,
    holm,
    sign_test,
)


def bh_by_loop(p: list[float]) -> list[float]:
    """Smallest α at which the step-up procedure rejects, found by trying every threshold."""
    m, ordered = len(p), sorted(p)
    return [min(min(q * m / j, 1.0) for j, q in enumerate(ordered, 1) if q >= own) for own in p]


def test_benjamini_hochberg_agrees_with_scipy_and_with_a_loop() -> None:
    p = np.random.default_rng(1).uniform(size=57) ** 2
    assert np.allclose(benjamini_hochberg(p), scipy_stats.false_discovery_control(p))
    assert np.allclose(benjamini_hochberg(p), bh_by_loop(p.tolist()))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
def test_a_missing_p_stays_missing_and_does_not_count(adjust) -> None:
    with_gap = adjust([0.01, np.nan, 0.04])
    assert np.isnan(with_gap[1])
    assert with_gap[[0, 2]].tolist() == adjust([0.01, 0.04]).tolist()
    assert np.isnan(adjust([np.nan, np.nan])).all()
    assert adjust([]).shape == (0,)


@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
def test_adjusting_ignores_order_and_never_lowers_p(adjust) -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(size=(4, 10))
    shuffle = rng.permutation(40)
    assert np.allclose(adjust(p).ravel()[shuffle], adjust(p.ravel()[shuffle]))
    assert np.all(adjust(p) >= p)


@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
def test_what_is_no_p_value_is_refused(adjust) -> None:
    with pytest.raises(UsageError, match=r"must lie in \[0, 1\]"):
        adjust([0.2, 1.2])


def test_benjamini_hochberg_holds_its_rate_with_true_effects_among_nulls() -> None:
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(300):
        z = rng.normal(size=200)
        z[:50] += 3
        found = benjamini_hochberg(2 * scipy_stats.norm.sf(np.abs(z))) <= 0.1
        shares.append(found[50:].sum() / max(found.sum(), 1))
    # m0/m·α = 0.075, with a Monte-Carlo error of about 0.003.
    assert np.mean(shares) == pytest.approx(0.075, abs=0.012)


def test_fisher_exact_agrees_with_a_sum_over_tables() -> None:
    for k, n, j, m in [(8, 10, 2, 10), (0, 5, 5, 5), (3, 7, 4, 9), (10, 10, 10, 10)]:
        null = scipy_stats.hypergeom(n + m, k + j, n)
        x = np.arange(max(0, k + j - m), min(n, k + j) + 1)
        by_sum = null.pmf(x)[null.pmf(x) <= null.pmf(k) * (1 + 1e-7)].sum()
        assert float(fisher_exact(k, n, j, m)) == pytest.approx(by_sum)


def test_fisher_exact_agrees_with_scipy_from_few_trials_to_very_many() -> None:
    rng = np.random.default_rng(3)
    tables = []
    for most in (3, 20, 200, 5_000, 200_000):
        n, m = rng.integers(1, most + 1, (2, 40))
        for share in (None, 0.01, 0.5, 0.97):
            first, second = (
                rng.random((2, 40)) if share is None else np.clip(share + rng.normal(0, 0.01, (2, 40)), 0, 1)
            )
            tables += zip(rng.binomial(n, first), n, rng.binomial(m, second), m, strict=True)
    ours = fisher_exact(*np.array(tables).T)
    theirs = [scipy_stats.fisher_exact([[a, n - a], [b, m - b]])[1] for a, n, b, m in tables]
    np.testing.assert_allclose(ours, np.maximum(theirs, np.finfo(float).tiny), rtol=1e-7, atol=1e-300)
    assert (ours > 0).all()


def test_mid_p_counts_what_is_as_probable_by_half() -> None:
    # Of 3 out of 3 against 0 out of 3: 1/20 to either side.
    assert float(fisher_exact(3, 3, 0, 3)) == pytest.approx(0.1)
    assert float(fisher_exact(3, 3, 0, 3, mid=True)) == pytest.approx(0.05)
    assert float(fisher_least(2, 3, 1, 3, mid=True)) == pytest.approx(0.05)
    sizes = {False: [], True: []}
    for share in np.linspace(0.05, 0.95, 37):
        weights = np.outer(*[scipy_stats.binom.pmf(np.arange(21), 20, share)] * 2)
        k, j = np.meshgrid(np.arange(21), np.arange(21), indexing="ij")
        for mid, found in sizes.items():
            found.append(weights[fisher_exact(k, 20, j, 20, mid=mid) <= 0.05].sum())
    assert max(sizes[False]) < 0.03
    assert 0.03 < np.mean(sizes[True]) < 0.05
    assert max(sizes[True]) < 0.05


def test_fisher_exact_keeps_its_size_at_small_n() -> None:
    for p in (0.1, 0.3, 0.5):
        weights = np.outer(*[scipy_stats.binom.pmf(np.arange(21), 20, p)] * 2)
        k, j = np.meshgrid(np.arange(21), np.arange(21), indexing="ij")
        size = weights[fisher_exact(k, 20, j, 20) <= 0.05].sum()
        assert 0.005 < size <= 0.05


def test_fisher_exact_is_undefined_without_trials_and_refuses_shares() -> None:
    assert np.isnan(fisher_exact([0, 1], [0, 2], [1, 0], [2, 0])).all()
    with pytest.raises(UsageError, match="pass counts, not shares"):
        fisher_exact(3, 2, 0, 1)


def test_the_sign_test_sums_the_smaller_tail_twice() -> None:
    for n in (1, 2, 7, 12):
        for k in range(n + 1):
            tail = sum(math.comb(n, i) for i in range(min(k, n - k) + 1)) / 2**n
            assert sign_test(k, n) == pytest.approx(min(1.0, 2 * tail))


def test_the_sign_test_takes_another_probability_than_one_half() -> None:
    for k in range(9):
        known = scipy_stats.binom(8, 0.7)
        tails = [known.cdf(k), known.sf(k - 1)]
        assert sign_test(k, 8, 0.7) == pytest.approx(min(1.0, 2 * min(tails)), abs=1e-12)


def test_the_sign_test_of_nothing_is_undefined_and_of_impossible_counts_refused() -> None:
    assert math.isnan(sign_test(0, 0))
    with pytest.raises(UsageError, match=r"k must lie between 0 and n, found 3 of 2"):
        sign_test(3, 2)


def test_only_tests_that_could_have_given_as_small_a_p_count() -> None:
    # By hand: one could have given 0.002, three 0.01 and 0.03 each, all five 0.2.
    p, least = [0.002, 0.01, 0.03, 0.2, 1.0], [0.001, 0.005, 0.01, 0.1, 0.15]
    assert count_able(least, p).tolist() == [1, 3, 3, 5, 5]
    assert benjamini_hochberg(p, least) == pytest.approx([0.002, 0.015, 0.03, 0.25, 1.0])
    assert benjamini_hochberg(p, [np.nan] * 5).tolist() == benjamini_hochberg(p).tolist()
    assert benjamini_hochberg([0.01, np.nan, 0.5], [0.001, 0.001, 0.2]).tolist()[::2] == [0.01, 0.5]
    assert benjamini_hochberg([], []).shape == (0,)


def test_how_many_must_differ_for_one_to_be_told() -> None:
    assert fewest_told([0.001, 0.2]) == 1
    # Of a hundred that can be 0.001 at best one alone has q = 0.1, two have 0.05.
    assert fewest_told([0.001] * 100) == 2
    assert fewest_told([0.06, 0.5]) == fewest_told([]) == 0
    p = np.r_[[0.001] * 2, [0.5] * 98]
    for fewest, told in ((2, 2), (1, 0)):
        p[1] = 0.001 if fewest == 2 else 0.5
        assert (benjamini_hochberg(p, [0.001] * 100) <= 0.05).sum() == told


def test_discrete_tests_keep_the_false_discovery_rate() -> None:
    """Signs of 4 to 12 throws of 40 coins, 4,000 lists; one coin in ten shows heads nine times in ten."""
    rng = np.random.default_rng(0)
    throws = rng.integers(4, 13, size=(4_000, 40))
    odd = rng.random(throws.shape) < 0.1
    known = np.array([[sign_test(min(k, n), n) for k in range(13)] for n in range(13)])
    p = known[throws, rng.binomial(throws, np.where(odd, 0.9, 0.5))]
    told = np.array([benjamini_hochberg(*of) <= 0.05 for of in zip(p, 2.0 ** (1 - throws), strict=True)])
    plain = np.array([benjamini_hochberg(of) <= 0.05 for of in p])
    false = np.mean((told & ~odd).sum(axis=1) / np.maximum(1, told.sum(axis=1)))
    assert false <= 0.05
    assert (told & odd).sum() > 1.5 * (plain & odd).sum()


def test_a_combination_is_the_common_p_and_m_times_the_least_of_unlike_ones() -> None:
    assert cauchy_combined([0.03, 0.03]) == pytest.approx(0.03)
    assert cauchy_combined([1e-12, 0.5, 0.5, 0.5]) == pytest.approx(4e-12, rel=1e-6)
    assert cauchy_combined([[1e-12, np.nan], [np.nan, np.nan]])[0] == pytest.approx(1e-12)
    assert np.isnan(cauchy_combined([np.nan, np.nan]))
    assert cauchy_combined([1e-300, 1.0]) == pytest.approx(2e-300)
    assert cauchy_combined([0.97, 0.97]) == pytest.approx(0.97)


def test_a_test_that_shows_nothing_does_not_undo_what_another_shows() -> None:
    # p of a discrete test is often 1; a sum of tangents would be minus infinity.
    assert cauchy_combined([1e-5, 1.0]) == pytest.approx(2e-5, rel=1e-3)
    assert cauchy_combined([0.01, 0.999]) == pytest.approx(cauchy_combined([0.01, 0.9]))
    assert cauchy_combined([1.0]) == pytest.approx(1.0)
    p = np.random.default_rng(3).uniform(size=(200_000, 1))
    for alpha in (0.05, 0.001):  # what speaks against another keeps the level, too
        seen = np.mean(cauchy_combined(np.hstack([p, 1 - p])) <= alpha)
        assert 0.7 * alpha < seen < alpha + 3 * np.sqrt(alpha / 200_000)


def test_a_combination_keeps_its_level_whatever_the_correlation() -> None:
    rng = np.random.default_rng(5)
    for r in (0.0, 0.5, 0.9, 0.99):
        shared, own = rng.normal(size=(200_000, 1)), rng.normal(size=(200_000, 3))
        p = 2 * scipy_stats.norm.sf(np.abs(np.sqrt(r) * shared + np.sqrt(1 - r) * own))
        for alpha in (0.05, 0.001):
            assert np.mean(cauchy_combined(p) <= alpha) < 1.1 * alpha + 3 * np.sqrt(alpha / 200_000)
