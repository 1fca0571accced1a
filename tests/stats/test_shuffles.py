"""Groups that are drawn as bits or as numbers of distinct rows are those of a plain shuffle."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from stereotrope.stats import shuffled_js, shuffles
from stereotrope.stats.counts import one_hot
from stereotrope.stats.shuffles import shuffled_counts

WAYS = ("bits", "rows")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Draw this way whatever the size."""
    monkeypatch.setattr(shuffles, "few", lambda sizes: False)
    monkeypatch.setattr(shuffles, "shuffling", lambda *_: (request.param, 0.0))
    return request.param


def drawn(codes, sizes, n: int, seed: int = 0) -> list[NDArray[np.int32]]:
    hot, parts = shuffled_counts(np.asarray(codes), sizes, n_shuffles=n, seed=seed)
    told = list(parts)
    np.testing.assert_array_equal(hot.totals, one_hot(np.asarray(codes)).totals)
    return [np.concatenate([part[g] for part in told], axis=1) for g in range(len(sizes) - 1)]


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (1, 2, 3)])
def test_every_split_comes_as_often_as_it_should(way, sizes):
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1], [2, -1]])
    hot = one_hot(codes)
    listed = {}
    for order in set(permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())):
        member = np.array(order)
        key = tuple(np.concatenate([hot.columns[:, member == g].sum(axis=1) for g in range(len(sizes) - 1)]))
        listed[key] = listed.get(key, 0) + 1
    n = 30_000
    found = np.concatenate(drawn(codes, sizes, n)).T
    keys, counts = np.unique(found, axis=0, return_counts=True)
    assert {tuple(key) for key in keys.tolist()} == set(listed)
    total = sum(listed.values())
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        share = listed[tuple(key)] / total
        assert abs(count / n - share) < 5 * np.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("sizes", [(70, 70), (40, 100), (3, 137), (20, 50, 70)])
def test_counts_have_the_moments_of_whole_images_that_change_groups(way, sizes):
    rng, n = np.random.default_rng(2), sum(sizes)
    codes = rng.integers(0, 3, (n, 2))
    codes[:, 1] = np.where(rng.random(n) < 0.7, codes[:, 0], codes[:, 1])
    codes[rng.random(n) < 0.1, 1] = -1
    x = one_hot(codes).columns.astype(np.float64)
    shuffled = drawn(codes, sizes, 8_000)
    cov = np.cov(x, ddof=0)
    for size, counts in zip(sizes, shuffled, strict=False):
        np.testing.assert_array_less(np.abs(counts.mean(axis=1) - size * x.mean(axis=1)), 0.25)
        expected = size * (n - size) / (n - 1) * cov
        np.testing.assert_allclose(np.cov(counts), expected, atol=0.08 * expected.max())


def test_it_depends_on_the_seed_and_not_on_the_order_of_images(way):
    rng = np.random.default_rng(3)
    codes, groups = rng.integers(0, 3, (150, 2)), np.repeat([0, 1], [80, 70])
    first, order = shuffled_js(codes, groups, n_shuffles=300), rng.permutation(150)
    np.testing.assert_array_equal(first, shuffled_js(codes[order], groups, n_shuffles=300))
    np.testing.assert_array_equal(first, shuffled_js(codes, 1 - groups, n_shuffles=300))
    assert not np.array_equal(first, shuffled_js(codes, groups, n_shuffles=300, seed=1))


@pytest.mark.parametrize("sizes", [(64, 64), (100, 130), (40, 50, 60)])
def test_bits_have_the_sizes_of_their_groups_and_share_no_image(sizes):
    for groups in shuffles._subsets(np.repeat(np.array(sizes)[:, None], 700, axis=1), [0]):
        assert [set(np.bitwise_count(one).sum(axis=0).tolist()) for one in groups] == [
            {size} for size in sizes[:-1]
        ]
        assert not np.bitwise_and.reduce(groups).any() or len(groups) == 1


def test_what_many_groups_are_drawn_by_is_not_kept():
    sizes, codes = (3,) * 60, np.arange(180)[:, None] % 2
    before = shuffles._one_by_one.cache_info().currsize
    first = drawn(codes, sizes, 2_000)
    assert shuffles._one_by_one.cache_info().currsize == before
    np.testing.assert_array_equal(first, drawn(codes, sizes, 2_000))
