"""Shuffles of whole images, and the p-values made of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import expected_js, js_divergence, pairwise_js, permutation, permutation_p, shuffled_js

Ints = NDArray[np.int64]


def images(sizes: tuple[int, ...], k: int, n_attributes: int, seed: int) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, k, (sum(sizes), n_attributes)), np.repeat(np.arange(len(sizes)), sizes)


def plain_js(codes: Ints, groups: Ints, attribute: int) -> float:
    """Mean over pairs by counting, one attribute at a time."""
    scores = []
    for g in range(groups.max() + 1):
        for h in range(g + 1, groups.max() + 1):
            one, other = (codes[groups == x, attribute] for x in (g, h))
            width = codes[:, attribute].max() + 1
            p, q = (np.bincount(x[x >= 0], minlength=width) for x in (one, other))
            scores.append(float(js_divergence(p, q)))
    known = [s for s in scores if not np.isnan(s)]
    return float(np.mean(known)) if known else float("nan")


@pytest.mark.parametrize(("n_p", "n_q"), [(20, 20), (20, 17), (20, 200)])
def test_closed_form_floor_is_the_mean_of_100_000_shuffles(n_p: int, n_q: int) -> None:
    codes, groups = images((n_p, n_q), 5, 2, seed=n_q)
    null = shuffled_js(codes, groups, n_shuffles=100_000, seed=1)
    error = null.std(axis=0) / np.sqrt(len(null))
    for attribute in range(2):
        floor = float(expected_js(np.bincount(codes[:, attribute]), n_p, n_q))
        assert abs(null[:, attribute].mean() - floor) < 4 * error[attribute]


def test_shuffles_have_the_scores_of_a_plain_shuffle() -> None:
    # 3 + 3 images: all 20 splits are as likely, so every score and its frequency can be listed.
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1], [2, -1]])
    groups = np.array([0, 0, 0, 1, 1, 1])
    null = shuffled_js(codes, groups, n_shuffles=40_000, seed=3)
    listed: list[tuple[float, float]] = []
    for mask in range(64):
        member = np.array([(mask >> i) & 1 for i in range(6)])
        if member.sum() == 3:
            listed.append((plain_js(codes, member, 0), plain_js(codes, member, 1)))
    expected = np.round(np.array(listed), 9)
    for row in np.unique(expected, axis=0):
        share = np.mean(np.all(expected == row, axis=1))
        found = np.mean(np.all(np.abs(null - row) < 1e-8, axis=1))
        assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / len(null))


def test_shuffles_of_several_groups_in_which_values_stand_alone_have_the_scores_of_a_plain_shuffle() -> None:
    # 2 + 2 + 2 images: 90 ways, and values of one image, of two and of three.
    codes = np.array([[0, 0, 0], [0, 1, 1], [1, 2, 2], [1, 3, 3], [2, 3, 4], [3, 3, 5]])
    null = shuffled_js(codes, np.repeat(np.arange(3), 2), n_shuffles=40_000, seed=3)
    ways = [way for way in itertools.product(range(3), repeat=6) if all(way.count(g) == 2 for g in range(3))]
    listed = np.array([[plain_js(codes, np.array(way), a) for a in range(3)] for way in ways])
    for row in np.unique(np.round(listed, 9), axis=0):
        share = np.mean(np.all(np.abs(listed - row) < 1e-8, axis=1))
        found = np.mean(np.all(np.abs(null - row) < 1e-8, axis=1))
        assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / len(null))
    assert (null[:, 2] == 1.0).all()


@pytest.mark.parametrize("sizes", [(20, 20), (20,) * 5, (100, 100), (100,) * 3])
def test_values_that_stand_alone_are_left_out_of_shuffles_and_counted_in_scores(
    sizes: tuple[int, ...], monkeypatch
) -> None:
    codes, groups = images(sizes, 3 * sum(sizes), 2, seed=8)
    codes[:, 1] %= 7
    lacking = codes.copy()
    lacking[5, 0] = -1
    n = 2_000
    quick, unlike = (shuffled_js(one, groups, n_shuffles=n, seed=2) for one in (codes, lacking))
    monkeypatch.setattr(permutation, "_without_lone", lambda codes, _: (codes, np.zeros(codes.shape[1])))
    plain = shuffled_js(codes, groups, n_shuffles=n, seed=2)
    if max(sizes) == 20:
        np.testing.assert_allclose(quick, plain, atol=1e-12)
        np.testing.assert_array_equal(unlike[:, 0], shuffled_js(lacking, groups, n_shuffles=n, seed=2)[:, 0])
    # Of more images distinct rows are shuffled, and others are distinct.
    sd = plain.std(axis=0)
    assert (np.abs(quick.mean(axis=0) - plain.mean(axis=0)) < 5 * sd * np.sqrt(2 / n)).all()
    np.testing.assert_allclose(quick.std(axis=0), sd, rtol=0.12)


@pytest.mark.parametrize("sizes", [(20, 20), (6, 9, 4), (40, 33), (3, 900)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_observed_scores_agree_with_counting_whatever_the_path(
    sizes: tuple[int, ...], missing: float
) -> None:
    codes, groups = images(sizes, 4, 3, seed=5)
    codes[np.random.default_rng(6).random(codes.shape) < missing] = -1
    js, floor = pairwise_js(codes, groups)
    for attribute in range(3):
        assert js[attribute] == pytest.approx(plain_js(codes, groups, attribute), abs=1e-12)
        if len(sizes) == 2:
            labelled = codes[:, attribute] >= 0
            pool = np.bincount(codes[labelled, attribute])
            n = np.bincount(groups[labelled])
            assert floor[attribute] == pytest.approx(float(expected_js(pool, n[0], n[1])), abs=1e-12)


def test_an_attribute_nobody_has_is_undefined_and_leaves_the_others_alone() -> None:
    codes, groups = images((8, 8), 3, 2, seed=7)
    alone = shuffled_js(codes, groups, n_shuffles=50)
    with_empty = np.insert(codes, 1, -1, axis=1)
    null = shuffled_js(with_empty, groups, n_shuffles=50)
    assert np.isnan(null[:, 1]).all()
    np.testing.assert_allclose(null[:, [0, 2]], alone, atol=1e-15)


def test_same_seed_gives_the_same_shuffles_and_another_does_not() -> None:
    codes, groups = images((12, 8), 3, 1, seed=8)
    first = shuffled_js(codes, groups, n_shuffles=100, seed=1)
    np.testing.assert_array_equal(first, shuffled_js(codes, groups, n_shuffles=100, seed=1))
    np.testing.assert_array_equal(first, shuffled_js(codes, 1 - groups, n_shuffles=100, seed=1))
    assert not np.array_equal(first, shuffled_js(codes, groups, n_shuffles=100, seed=2))


def test_p_counts_ties_as_reaching_the_score() -> None:
    null = np.array([[0.1], [0.2], [0.3], [0.3 - 1e-13]])
    np.testing.assert_array_equal(permutation_p([0.3], null), [3 / 5])
    np.testing.assert_array_equal(permutation_p([0.9], null), [1 / 5])


def test_p_leaves_undefined_shuffles_out() -> None:
    null = np.array([[0.1, np.nan], [np.nan, np.nan], [0.5, np.nan]])
    p = permutation_p([0.4, 0.4], null)
    assert p[0] == 2 / 3
    assert np.isnan(p[1])
    assert np.isnan(permutation_p([np.nan], null[:, :1]))[0]


def test_p_is_small_no_more_often_than_chance_when_nothing_differs() -> None:
    rng = np.random.default_rng(9)
    n_nulls = 400
    groups = np.repeat([0, 1], [20, 20])
    found = np.empty((n_nulls, 2))
    for index in range(n_nulls):
        codes = np.stack([rng.choice(k, 40, p=rng.dirichlet(np.ones(k))) for k in (2, 3, 5, 5)], axis=1)
        null = shuffled_js(codes, groups, n_shuffles=499, seed=index)
        js, _ = pairwise_js(codes, groups)
        found[index] = permutation_p([js.mean(), js[2]], np.stack([null.mean(axis=1), null[:, 2]], axis=1))
    for level in (0.05, 0.2, 0.5):
        error = np.sqrt(level * (1 - level) / n_nulls)
        assert np.all((found <= level).mean(axis=0) <= level + 3 * error)
    assert (found[:, 0] <= 0.5).mean() > 0.5 - 4 * np.sqrt(0.25 / n_nulls)


@pytest.mark.parametrize("groups", [[0, 0, 0], [0, 2, 2]])
def test_a_group_without_an_image_is_refused(groups: list[int]) -> None:
    with pytest.raises(UsageError, match="at least two groups with an image are needed"):
        shuffled_js(np.zeros((3, 1), dtype=int), groups, n_shuffles=5)
