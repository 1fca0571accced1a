from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import cluster_bootstrap_mean, effective_counts, score_test, wilson


def test_clusters_of_one_image_change_nothing() -> None:
    assert effective_counts([1, 0, 1], [1, 1, 1]) == (2.0, 3.0)
    assert effective_counts([7], [20]) == (7.0, 20.0)


def test_effective_counts_by_hand() -> None:
    # p = 0.5, residuals ±5: v = 4/3 · 100 / 1600 = 1/12, n* = 0.25 · 12 = 3.
    k, n = effective_counts([10, 0, 10, 0], [10, 10, 10, 10], level=None)
    assert (k, n) == pytest.approx((1.5, 3.0))
    narrowed = (scipy_stats.norm.ppf(0.975) / scipy_stats.t.ppf(0.975, 3)) ** 2
    assert effective_counts([10, 0, 10, 0], [10] * 4)[1] == pytest.approx(3 * narrowed)


def test_effective_counts_keep_the_share_and_never_exceed_the_images() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(0, 12, size=6) + np.eye(6, dtype=int)[0]
        k = rng.binomial(n, rng.uniform())
        effective, trials = effective_counts(k, n)
        assert 0 < trials <= n.sum()
        assert effective / trials == pytest.approx(k.sum() / n.sum())


def test_wilson_at_effective_counts_covers_where_plain_wilson_does_not() -> None:
    rng = np.random.default_rng(11)
    covered, plain = [], []
    for _ in range(1_500):
        k = rng.binomial(20, rng.beta(2, 3, size=30))
        for out, (a, b) in ((covered, effective_counts(k, [20] * 30)), (plain, (k.sum(), 600))):
            low, high = wilson(a, b)
            out.append(low <= 0.4 <= high)
    assert 0.93 < np.mean(covered) < 0.97
    assert np.mean(plain) < 0.75


def test_score_test_keeps_its_size_under_clustering() -> None:
    rng = np.random.default_rng(12)
    p = []
    for _ in range(1_500):
        sides = [
            effective_counts(rng.binomial(20, rng.beta(2, 3, size=12)), [20] * 12, level=None) for _ in "ab"
        ]
        p.append(score_test(*sides[0], *sides[1], freedom=22))
    assert 0.03 < np.mean(np.array(p) <= 0.05) < 0.07


def test_score_test_edges() -> None:
    assert score_test(0, 10, 0, 10, freedom=3) == 1.0
    assert np.isnan(score_test(0, 0, 1, 2, freedom=3))
    with pytest.raises(UsageError, match="freedom must be at least 1"):
        score_test(1, 2, 1, 2, freedom=0)


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
