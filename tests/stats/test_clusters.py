from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import special
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import (
    cluster_bootstrap_mean,
    cluster_flip_test,
    cluster_permutation_test,
    effective_counts,
    fisher_exact,
    fisher_least,
    fisher_z,
    newcombe,
    shared_correlation,
)


def by_enumeration(k1: np.ndarray, n1: np.ndarray, k2: np.ndarray, n2: np.ndarray) -> tuple[float, float]:
    k, n = np.concatenate([k1, k2]), np.concatenate([n1, n2])
    scores = [n.sum() * k - n * k.sum()]
    if sorted(n1) != sorted(n2) and (n1.size == n2.size or np.ptp(n)):
        # Whole numbers where no size is above five.
        scores.append(60 * k // n * k.size - (60 * k // n).sum())
    p, least = [], []
    for score in scores:
        sums = np.array([score[list(c)].sum() for c in combinations(range(k.size), k1.size)])
        sums = abs(k.size * sums - k1.size * score.sum())
        p.append(np.mean(sums >= sums[0]))
        least.append(np.mean(sums >= sums.max()))
    return float(max(p)), float(max(least))


def test_whole_clusters_are_exchanged_as_if_all_ways_were_tried() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        n1, n2 = (rng.integers(1, 5, size=rng.integers(2, 7)) for _ in "ab")
        k1, k2 = rng.binomial(n1, 0.3), rng.binomial(n2, 0.6)
        found = cluster_permutation_test(k1, n1, k2, n2)
        assert found == pytest.approx(by_enumeration(k1, n1, k2, n2))


def test_exchange_of_clusters_by_hand() -> None:
    # Of the 70 ways to choose 4 of 8, one has all that hit and one none.
    p, least = cluster_permutation_test([5] * 4, [5] * 4, [0] * 4, [5] * 4)
    assert p == least == pytest.approx(2 / 70)
    assert cluster_permutation_test([2] * 4, [5] * 4, [2] * 5, [5] * 5) == (1.0, 1.0)


def test_exchange_of_clusters_of_one_is_fishers_test() -> None:
    ones = np.ones(12, int)
    k1, k2 = np.arange(12) < 10, np.arange(12) < 3
    p, least = cluster_permutation_test(k1, ones, k2, ones)
    assert p == pytest.approx(float(fisher_exact(10, 12, 3, 12)))
    assert least == pytest.approx(float(fisher_least(10, 12, 3, 12)))


def test_exchange_of_clusters_reaches_far_and_with_many() -> None:
    n = np.full(40, 20)
    assert cluster_permutation_test(n, n, n * 0, n)[0] == pytest.approx(2 / special.comb(80, 40))
    rng = np.random.default_rng(2)
    k1, k2 = rng.binomial(20, rng.beta(2, 2, size=(2, 600)))
    p, least = cluster_permutation_test(k1, np.full(600, 20), k2, np.full(600, 20))
    drawn = abs(k1.mean() - k2.mean()) / np.sqrt((k1.var(ddof=1) + k2.var(ddof=1)) / 600)
    assert p == pytest.approx(2 * scipy_stats.norm.sf(drawn), abs=0.02)
    assert 0 < least < 1e-50


def test_exchange_of_clusters_needs_two_sides() -> None:
    assert np.isnan(cluster_permutation_test([], [], [1], [2])).all()


@pytest.mark.parametrize(("m", "n", "icc"), [(5, 20, 0.3), (10, 20, 0.1), (20, 5, 0.3)])
def test_exchange_of_clusters_keeps_its_level(m: int, n: int, icc: float) -> None:
    rng, of = np.random.default_rng(12), (1 - icc) / icc
    k = rng.binomial(n, rng.beta(0.4 * of, 0.6 * of, size=(1_000, 2, m)))
    sizes = np.full(m, n)
    p = np.array([cluster_permutation_test(a, sizes, b, sizes)[0] for a, b in k])
    assert 0.01 < np.mean(p <= 0.05) < 0.065


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.1, 0.3])
@pytest.mark.parametrize(("m", "n"), [(4, 5), (5, 20), (10, 5), (20, 20), (40, 5)])
def test_exchange_of_clusters_keeps_its_level_everywhere(m: int, n: int, icc: float) -> None:
    rng, of, sizes = np.random.default_rng(14), (1 - icc) / icc, np.full(m, n)
    for share in (0.05, 0.2, 0.5):
        k = rng.binomial(n, rng.beta(share * of, (1 - share) * of, size=(2_000, 2, m)))
        p = np.array([cluster_permutation_test(a, sizes, b, sizes)[0] for a, b in k])
        # Within three standard errors.
        assert np.mean(p <= 0.05) <= 0.065, share
        assert np.mean(p <= 0.01) <= 0.017, share


def test_sides_of_pairs_are_exchanged_as_if_all_ways_were_tried() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        n1, n2 = rng.integers(1, 6, size=(2, rng.integers(1, 8)))
        k1, k2 = rng.binomial(n1, 0.3), rng.binomial(n2, 0.6)
        total, hits = n1.sum() + n2.sum(), k1.sum() + k2.sum()
        p, least = [], []
        for gaps in (total * (k1 - k2) - hits * (n1 - n2), 60 * k1 // n1 - 60 * k2 // n2):
            sums = np.abs(np.array(list(product([1, -1], repeat=gaps.size))) @ gaps)
            p.append(np.mean(sums >= abs(gaps.sum())))
            least.append(np.mean(sums >= sums.max()))
        unlike = 2 if (n1 != n2).any() else 1
        by_hand = max(p[:unlike]), max(least[:unlike])
        assert cluster_flip_test(k1, n1, k2, n2) == pytest.approx(by_hand)


@pytest.mark.parametrize("test", [cluster_permutation_test, cluster_flip_test])
def test_sizes_of_clusters_tell_no_sides_apart(test) -> None:
    """Of 1 of 40 beside 0 of 80 p was 2 / 12,870: every way to exchange them has more even sizes."""
    for k1, k2 in (([1] + [0] * 7, [0] * 8), ([4] + [5] * 7, [10] * 8), ([0] * 8, [1] + [0] * 7)):
        assert test(k1, [5] * 8, k2, [10] * 8)[0] == 1.0
    many = [0] * 200
    assert test([1, *many], [5] * 201, [0, *many], [10] * 201)[0] > 0.3
    # Where sides do differ they are told apart as before.
    p, _ = test([5] * 8, [5] * 8, [0] * 8, [10] * 8)
    assert p == pytest.approx(2 / 12_870 if test is cluster_permutation_test else 2 / 256)


def test_exchange_of_single_pairs_is_mcnemars_test() -> None:
    first, second, ones = np.arange(30) < 17, np.arange(30) % 5 == 0, np.ones(30, int)
    only = int((first & ~second).sum()), int((first ^ second).sum())
    p, least = cluster_flip_test(first, ones, second, ones)
    assert p == pytest.approx(scipy_stats.binomtest(*only).pvalue)
    assert least == pytest.approx(2.0 ** (1 - only[1]))
    assert np.isnan(cluster_flip_test([], [], [], [])).all()
    assert cluster_flip_test([1, 2], [4, 4], [1, 2], [4, 4]) == (1.0, 1.0)


def test_the_correlation_of_pairs_is_believed_less_a_standard_error() -> None:
    k1, k2, n = [1, 4, 6, 9, 3, 8, 2], [2, 4, 7, 9, 1, 9, 3], [10] * 7
    seen = float(np.corrcoef(k1, k2)[0, 1])
    assert shared_correlation(k1, n, k2, n) == pytest.approx(
        float(fisher_z(seen, 7, level=0.682689)[0]), abs=1e-5
    )
    assert shared_correlation(k1, n, k2[::-1], n) == 0.0
    assert shared_correlation(k1, n, [5] * 7, n) == 0.0
    assert 0.9 < shared_correlation(k1, n, k1, n) < 0.99


@pytest.mark.parametrize(("m", "n", "alike"), [(6, 20, 0.9), (10, 5, 0.5), (200, 5, 0.5)])
def test_matched_sides_keep_their_level_and_cover(m: int, n: int, alike: float) -> None:
    rng, sizes = np.random.default_rng(13), np.full(m, n)
    common = rng.normal(size=(400, 1, m))
    shares = special.ndtr(np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.normal(size=(400, 2, m)))
    p, covered, wide = [], [], []
    for k1, k2 in rng.binomial(n, shares):
        p.append(cluster_flip_test(k1, sizes, k2, sizes)[0])
        counts = [*effective_counts(k1, sizes), *effective_counts(k2, sizes)]
        (low, high), (without, end) = (
            newcombe(*counts, correlation=r) for r in (shared_correlation(k1, sizes, k2, sizes), 0.0)
        )
        covered.append(low <= 0 <= high)
        wide.append((high - low) / (end - without))
    assert np.mean(np.array(p) <= 0.05) < 0.07
    assert np.mean(covered) > 0.92
    assert np.mean(wide) < 0.95


def test_cluster_bootstrap_agrees_with_drawing_rows() -> None:
    rng = np.random.default_rng(4)
    values, member = rng.normal(size=60), np.repeat(np.arange(15), 4)
    mean, low, high = cluster_bootstrap_mean(values, member, n_resamples=4_000, seed=1)
    drawn = []
    for _ in range(4_000):
        chosen = rng.integers(0, 15, size=15)
        drawn.append(np.mean([values[member == c] for c in chosen]))
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist(), abs=0.03)


def test_cluster_bootstrap_covers_the_mean() -> None:
    rng = np.random.default_rng(6)
    hits = []
    for seed in range(400):
        values = (rng.normal(size=(40, 1)) + rng.normal(size=(40, 3))).ravel()
        _, low, high = cluster_bootstrap_mean(values, np.repeat(np.arange(40), 3), n_resamples=400, seed=seed)
        hits.append(low <= 0 <= high)
    # Percentile intervals run a little short: 40 clusters give about 0.94; the error of 400 is 0.012.
    assert 0.90 < np.mean(hits) < 0.98


def test_cluster_bootstrap_is_the_same_for_the_same_seed() -> None:
    assert cluster_bootstrap_mean([1, 2, 5], seed=3) == cluster_bootstrap_mean([1, 2, 5], seed=3)


def test_cluster_bootstrap_is_undefined_rather_than_without_width() -> None:
    assert np.isnan(cluster_bootstrap_mean([])).all()
    assert np.isnan(cluster_bootstrap_mean([np.nan])).all()
    for values, member in (([1, 2], ["a", "a"]), ([3, 3, 3], None)):
        mean, low, high = cluster_bootstrap_mean(values, member)
        assert not np.isnan(mean)
        assert np.isnan(low)
        assert np.isnan(high)


def test_cluster_bootstrap_refuses_clusters_that_do_not_pair_up() -> None:
    with pytest.raises(UsageError, match="one cluster a value"):
        cluster_bootstrap_mean([1, 2], ["a"])
