"""Counts of frequent labels are drawn as normal numbers, alike those of images drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from stereotrope.stats import redraws, resampled_counts, shuffled_js, shuffles
from stereotrope.stats.counts import one_hot
from stereotrope.stats.distinct_rows import DistinctRows
from stereotrope.stats.frequent import LEAST, Frequent
from stereotrope.stats.redraws import redrawn_counts
from stereotrope.stats.shuffles import shuffled_counts


@pytest.fixture
def summed(monkeypatch):
    """Draw frequent labels as normal numbers, whatever is cheaper."""
    for module in (shuffles, redraws):
        monkeypatch.setattr(module, "sums_cost", lambda *_: -1e12)


def labels(n: int, rare: int = 40, missing: float = 0.3) -> np.ndarray:
    """Three attributes: two that go together, one with missing labels; some images have a rare value."""
    rng = np.random.default_rng(7)
    codes = rng.choice(3, (n, 3), p=[0.5, 0.3, 0.2])
    codes[:, 1] = np.where(rng.random(n) < 0.7, codes[:, 0], codes[:, 1])
    codes[rng.random(n) < missing, 2] = -1
    codes[:rare, 0] = 3
    codes[rare : 2 * rare, 2] = 3
    return codes


def test_only_images_without_a_rare_label_are_summed() -> None:
    codes = labels(20_000, missing=0.01)
    rows = DistinctRows.of(codes, np.zeros(len(codes), np.int64), 1)
    hot = one_hot(rows.codes, rows.totals)
    frequent = Frequent.of(hot)
    assert frequent is not None
    # Two hundred labels are missing, which is rare; a third value of an attribute has 40 images.
    odd = (codes[:, 2] == -1) | (codes == 3).any(axis=1)
    assert frequent.n == (~odd).sum()
    assert frequent.rest.weights.sum() == odd.sum()
    assert Frequent.of(hot, 0.3 * LEAST / len(codes)) is None


@pytest.mark.parametrize("sizes", [(9_000, 11_000), (4_500, 5_500, 10_000), (5_000, 5_000, 5_000, 5_000)])
@pytest.mark.parametrize("rest", ["bits", "rows"])
def test_shuffled_sums_have_the_moments_of_whole_images(summed, monkeypatch, sizes, rest) -> None:
    monkeypatch.setattr(shuffles, "shuffling", lambda *_, **__: (rest, 1e9))
    codes, n = labels(20_000), 20_000
    x = one_hot(codes).columns.astype(np.float64)
    hot, parts = shuffled_counts(codes, sizes, n_shuffles=4_000, seed=1)
    parts = list(parts)
    drawn = [np.concatenate([part[g] for part in parts], axis=1) for g in range(len(sizes) - 1)]
    drawn.append(hot.totals[:, None] - sum(drawn))
    cov = np.cov(x, ddof=0)
    expected = np.diag(sizes) - np.outer(sizes, sizes) / n
    for g, one in enumerate(drawn):
        # Complete attributes have as many labels as the group has images.
        assert (one[:4].sum(axis=0) == sizes[g]).all()
        spread = np.sqrt(np.diag(cov) * expected[g, g])
        assert (np.abs(one.mean(axis=1) - sizes[g] * x.mean(axis=1)) < 5 * spread / np.sqrt(4_000)).all()
        for h, other in enumerate(drawn[: g + 1]):
            both = np.cov(one, other)[: len(x), len(x) :]
            scale = np.outer(spread, np.sqrt(np.diag(cov) * expected[h, h]))
            np.testing.assert_array_less(np.abs(both - expected[g, h] * n / (n - 1) * cov) / scale, 0.09)


@pytest.mark.parametrize("rest", ["images", "rows"])
def test_redrawn_sums_have_the_moments_of_whole_images(summed, monkeypatch, rest) -> None:
    monkeypatch.setattr(redraws, "redrawing", lambda *_, **__: (rest, 1e9))
    codes, n = labels(20_000), 20_000
    x = one_hot(codes).columns.astype(np.float64)
    rows = DistinctRows.of(codes, np.zeros(n, np.int64), 1)
    counts = redrawn_counts(one_hot(rows.codes), rows.totals, 4_000, (3,))
    assert (counts[:4].sum(axis=0) == n).all()
    cov = n * np.cov(x, ddof=0)
    spread = np.sqrt(np.diag(cov))
    assert (np.abs(counts.mean(axis=1) - x.sum(axis=1)) < 5 * spread / np.sqrt(4_000)).all()
    np.testing.assert_array_less(np.abs(np.cov(counts) - cov) / np.outer(spread, spread), 0.09)


@pytest.mark.parametrize(
    ("share", "sizes"), [(0.5, (2_000, 2_000)), (0.2, (5_000, 50_000)), (0.9, (12_000, 90_000))]
)
def test_tails_of_shuffled_sums_are_those_of_a_hypergeometric(summed, share, sizes) -> None:
    n = sum(sizes)
    codes = (np.arange(n) < share * n).astype(np.int64)[:, None]
    _, parts = shuffled_counts(codes, sizes, n_shuffles=200_000, seed=2)
    drawn = np.concatenate([part[0][1] for part in parts])
    exact = hypergeom(n, int(codes.sum()), sizes[0])
    for p in (0.5, 0.05, 0.01, 0.001):
        low, high = exact.ppf(p), exact.isf(p)
        for true, beyond in ((exact.cdf(low), drawn <= low), (exact.sf(high - 1), drawn >= high)):
            # What skewness adds to one tail it takes from the other.
            assert beyond.mean() == pytest.approx(true, rel=0.15, abs=5 * np.sqrt(true / 200_000))


def test_tails_of_redrawn_sums_are_those_of_a_binomial(summed) -> None:
    codes = (np.arange(5_000) < 1_000).astype(np.int64)[:, None]
    drawn = resampled_counts(codes, n_resamples=200_000)[0][1]
    exact = binom(5_000, 0.2)
    for p in (0.5, 0.05, 0.01, 0.001):
        end = exact.isf(p)
        assert (drawn >= end).mean() == pytest.approx(exact.sf(end - 1), rel=0.15, abs=0.001)


def test_the_null_of_a_divergence_is_that_of_whole_images(monkeypatch) -> None:
    codes, groups = labels(30_000), np.repeat([0, 1], [12_000, 18_000])
    quick = shuffled_js(codes, groups, n_shuffles=4_000).mean(axis=1)
    monkeypatch.setattr(shuffles, "sums_cost", lambda *_: 1e12)
    whole = shuffled_js(codes, groups, n_shuffles=4_000).mean(axis=1)
    assert not np.array_equal(quick, whole)
    for p in (0.5, 0.9, 0.99):
        assert (quick > np.quantile(whole, p)).mean() == pytest.approx(
            1 - p, abs=5 * np.sqrt(p * (1 - p) / 2_000)
        )


def test_an_open_vocabulary_of_many_values_is_drawn_as_it_is() -> None:
    """Each of 3,000 values is rare, but for one: no matrix of all pairs of values is made."""
    rng = np.random.default_rng(5)
    codes = np.stack(
        [np.where(rng.random(9_000) < 0.5, 0, rng.integers(1, 3_000, 9_000)), rng.integers(0, 2, 9_000)],
        axis=1,
    )
    rows = DistinctRows.of(codes, np.zeros(9_000, np.int64), 1)
    frequent = Frequent.of(one_hot(rows.codes, rows.totals))
    assert frequent is not None
    assert frequent._moments[1].shape == (3, 3)
    counts = resampled_counts(codes, n_resamples=50)
    assert (counts[0].sum(axis=0) == 9_000).all()
