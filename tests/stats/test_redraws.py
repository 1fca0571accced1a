"""Bootstrap counts of distinct rows have the distribution of images that are drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, poisson

from stereotrope.stats import bootstrap, redraws, resampled_js
from stereotrope.stats.counts import one_hot
from stereotrope.stats.redraws import drawn_weights, redrawn_counts, tally_whole


@pytest.fixture(params=["images", "rows"])
def way(request, monkeypatch):
    """Draw this way whatever the size."""
    monkeypatch.setattr(redraws, "redrawing", lambda *_, **__: (request.param, 0.0))
    return request.param


def alike(counts, others) -> None:
    """Two sets of resamples with the same means and covariances, within their errors."""
    spread = np.sqrt(np.diag(np.cov(others)))
    error = 5 * np.sqrt(2 / counts.shape[1])
    assert (np.abs(counts.mean(axis=1) - others.mean(axis=1)) <= error * spread + 1e-9).all()
    assert np.abs(np.cov(counts) - np.cov(others)).max() <= 2 * error * spread.max() ** 2


def test_rows_are_drawn_with_the_moments_of_a_multinomial(way):
    codes, weights = np.array([[0, 0], [0, 1], [1, 1], [2, 0]]), np.array([60, 5, 30, 0])
    hot = one_hot(codes)
    counts = redrawn_counts(hot, weights, 20_000, (0,))
    share = weights / 95
    cov = 95 * (np.diag(share) - np.outer(share, share))
    np.testing.assert_allclose(counts.mean(axis=1), hot.columns @ weights, atol=0.2)
    np.testing.assert_allclose(np.cov(counts), hot.columns @ cov @ hot.columns.T, atol=1.0)
    assert (counts[:3].sum(axis=0) == 95).all()


def test_smoothed_counts_are_those_of_labels_borrowed_image_by_image(way):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (48, 3))
    codes[:, 1] = np.where(rng.random(48) < 0.7, codes[:, 0], codes[:, 1])
    codes[rng.random(48) < 0.2, 2] = -1
    group, sizes = np.repeat([0, 1], [8, 40]), [8, 40]
    _, one_by_one = bootstrap._one_by_one(codes, group, sizes, 20_000, 0)
    _, by_rows = bootstrap._by_rows(codes, group, sizes, 20_000, 0)
    for mine, others in zip(by_rows, one_by_one, strict=True):
        alike(mine, others)


def test_smoothed_counts_of_many_groups_and_values_are_those_of_labels_borrowed_image_by_image():
    rng = np.random.default_rng(2)
    codes, group = rng.integers(0, 60, (90, 2)), np.repeat(np.arange(15), 6)
    codes[:, 1] %= 3
    sides = [of(codes, group, [6] * 15, 8_000, 0)[1] for of in (bootstrap._one_by_one, bootstrap._by_rows)]
    for g in (0, 7, 14):
        alike(sides[1][g], sides[0][g])


@pytest.mark.parametrize("n", [1, 7, 60, 1_000])
def test_weights_of_images_are_those_of_drawing_them_one_by_one(n):
    blocks = drawn_weights(n, np.full((3, 10_000), n), np.random.default_rng(5))
    drawn = blocks.transpose(1, 0, 2).reshape(n, -1)
    assert (drawn.sum(axis=0, dtype=np.int64) == n).all()
    # The weight of one image is binomial, and two images together as well.
    for images in (1, 2):
        found = np.bincount(drawn[:images].sum(axis=0), minlength=9)[:9] / 30_000
        expected = binom.pmf(np.arange(9), n, min(1.0, images / n))
        assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / 30_000) + 1e-9).all()


def test_poisson_numbers_are_exact_to_their_rarest():
    numbers = np.bincount(redraws._poisson(0.9, 20_000_000, np.random.default_rng(6)), minlength=12)
    expected = 20_000_000 * poisson.pmf(np.arange(12), 0.9)
    assert (np.abs(numbers - expected) <= 5 * np.sqrt(expected) + 1)[:12].all()


@pytest.mark.parametrize("n", [20, 255, 256, 2_048, 2_049, 5_000])
@pytest.mark.parametrize("greatest", [1, 2, 255])
def test_columns_that_are_counted_in_one_number_do_not_mix(n, greatest):
    # The last weights are so large that counts do not fit into the bits that are meant for them.
    rng = np.random.default_rng(n)
    columns = (rng.random((7, n)) < 0.5).astype(np.float32)
    weights = rng.integers(0, greatest, (3, n, 50), dtype=np.uint8, endpoint=True)
    exact = columns.astype(int) @ weights.transpose(1, 0, 2).reshape(n, -1).astype(int)
    np.testing.assert_array_equal(tally_whole(columns, 50)(weights), exact)


def test_borrowed_labels_have_the_distribution_that_can_be_counted_out():
    # Two images with one value each, a pool of three with the second and one without a label.
    drawn, pool, n = np.tile([[2], [0]], 40_000).astype(np.int32), np.array([0, 3, 1]), 2
    bootstrap._borrow(drawn, pool, bootstrap._borrowed(n, 4, 40_000, (2,)))
    keys, times = np.unique(drawn.T, axis=0, return_counts=True)
    found = {tuple(key): k / 40_000 for key, k in zip(keys.astype(int).tolist(), times.tolist(), strict=True)}
    # Each label is kept with 1/2, else the second value with 3/4 and none with 1/4.
    expected = {(2, 0): 1 / 4, (1, 1): 3 / 8, (1, 0): 1 / 8, (0, 2): 9 / 64, (0, 1): 6 / 64, (0, 0): 1 / 64}
    assert found.keys() == expected.keys()
    for key, p in expected.items():
        assert abs(found[key] - p) < 5 * np.sqrt(p * (1 - p) / 40_000)


def test_it_depends_on_the_seed_and_not_on_the_order_of_images(way):
    rng = np.random.default_rng(3)
    codes, groups, order = rng.integers(-1, 3, (150, 2)), np.repeat([0, 1], [80, 70]), rng.permutation(150)
    first = resampled_js(codes, groups, n_resamples=200)
    again = resampled_js(codes[order], groups[order], n_resamples=200)
    np.testing.assert_array_equal(first.js, again.js)
    np.testing.assert_array_equal(first.floor, again.floor)
    assert not np.array_equal(first.js, resampled_js(codes, groups, n_resamples=200, seed=1).js)


@pytest.mark.parametrize("missing", [0.05, 0.4])
def test_floors_of_resamples_with_missing_labels_follow_the_exact_ones(monkeypatch, missing):
    rng = np.random.default_rng(4)
    codes = np.stack([rng.choice(6, 140, p=p) for p in rng.dirichlet(np.ones(6), 2)], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    groups = np.repeat([0, 1], [60, 80])
    quick = resampled_js(codes, groups, n_resamples=60).floor
    monkeypatch.setattr("stereotrope.stats.counts.few", lambda sizes: True)
    exact = resampled_js(codes, groups, n_resamples=60).floor
    np.testing.assert_allclose(quick, exact, rtol=0.025)
    assert np.abs(quick / exact - 1).mean() < 0.004
