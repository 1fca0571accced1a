"""Shuffles and bootstrap of divergences whose units are clusters of images."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import Clustered, js_divergence, shuffled_js

CODES = np.array([[0, 1], [0, 0], [1, -1], [1, 1], [0, 0], [2, 0], [2, 1], [1, 1], [0, 1]])
GROUPS = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
PROMPTS = np.array([3, 3, 5, 9, 1, 1, 2, 7, 7])


def by_counting(first: list[int], attribute: int) -> float:
    """JS with the prompts ``first`` on one side and the others on the other."""
    sides = [CODES[np.isin(PROMPTS, first, invert=other), attribute] for other in (False, True)]
    return float(js_divergence(*(np.bincount(one[one >= 0], minlength=3) for one in sides)))


def test_where_there_are_few_ways_each_but_the_one_seen_comes_once() -> None:
    found, every = Clustered.of(CODES, GROUPS, PROMPTS).shuffled(n_shuffles=100)
    others = [c for c in combinations([1, 2, 3, 5, 7, 9], 3) if set(c) != {3, 5, 9}]
    listed = np.array([[by_counting(list(c), a) for a in range(2)] for c in others])
    assert every
    assert found.shape == (19, 2)
    for attribute in range(2):
        assert np.sort(found[:, attribute]) == pytest.approx(np.sort(listed[:, attribute]), abs=1e-6)


def test_where_there_are_many_they_are_drawn_and_clusters_of_one_image_are_images() -> None:
    rng = np.random.default_rng(1)
    codes, groups = rng.integers(0, 4, (40, 2)), np.repeat([0, 1], 20)
    found, every = Clustered.of(codes, groups, np.arange(40)).shuffled(n_shuffles=20_000, seed=2)
    assert not every
    of_images = shuffled_js(codes, groups, n_shuffles=20_000, seed=3)
    assert found.mean(axis=0) == pytest.approx(of_images.mean(axis=0), rel=0.02)
    assert found.std(axis=0) == pytest.approx(of_images.std(axis=0), rel=0.03)


def test_three_groups_are_put_in_every_way() -> None:
    codes, groups = np.arange(6)[:, None] // 2, np.array([0, 0, 1, 1, 2, 2])
    found, every = Clustered.of(codes, groups, np.arange(6)).shuffled(n_shuffles=90)
    assert (every, len(found)) == (True, 89)
    # All pairs together is seen, and comes by the 3! names of the groups.
    assert (found > 1 - 1e-6).sum() == 5


def by_exchanging(codes: np.ndarray, flips: int) -> float:
    """JS of two groups of twelve clusters of three images, with the sides of some clusters exchanged."""
    sides = codes.reshape(2, 12, 3).copy()
    for at in range(12):
        if flips >> at & 1:
            sides[:, at] = sides[::-1, at].copy()
    return float(js_divergence(*(np.bincount(side.ravel(), minlength=3) for side in sides)))


def test_clusters_that_both_groups_have_are_exchanged_with_one_another() -> None:
    codes = np.random.default_rng(4).integers(0, 3, 72)
    groups, clusters = np.repeat([0, 1], 36), np.tile(np.repeat(np.arange(12), 3), 2)
    order = np.random.default_rng(5).permutation(72)
    one = Clustered.of(codes[order, None], groups[order], clusters[order])
    found, every = one.shuffled(n_shuffles=4096)
    assert (one.matched, one.freedom, one.ways, every) == (True, 11, 4096, True)
    listed = [by_exchanging(codes, flips) for flips in range(1, 4096)]
    assert np.sort(found[:, 0]) == pytest.approx(np.sort(listed), abs=1e-6)
    drawn, every = one.shuffled(n_shuffles=4095)
    assert not every
    assert np.isin(drawn.round(5), np.append(found.round(5), one.js.round(5))).all()


def test_clusters_are_matched_where_all_are_known_and_labelled_on_both_sides() -> None:
    codes, groups = np.arange(48)[:, None] % 2, np.repeat([0, 1], 24)
    clusters = np.tile(np.arange(24) // 2, 2)
    assert Clustered.of(codes, groups, clusters).matched
    assert not Clustered.of(codes, groups, np.where(groups, clusters + 1, clusters)).matched
    assert not Clustered.of(codes, groups, clusters - 1).matched
    unlabelled = np.where((clusters == 2) & (groups == 1), -1, codes[:, 0])[:, None]
    assert not Clustered.of(unlabelled, groups, clusters).matched
    few = clusters < 11
    assert not Clustered.of(codes[few], groups[few], clusters[few]).matched


def test_what_both_sides_of_a_cluster_have_in_common_is_no_noise() -> None:
    """Images of a cluster agree on both sides: shuffled, clusters differ; exchanged, nothing does."""
    codes, groups = np.tile(np.repeat(np.arange(12) % 2, 4), 2)[:, None], np.repeat([0, 1], 48)
    clusters = np.tile(np.arange(48) // 4, 2)
    one, apart = (Clustered.of(codes, groups, clusters + 100 * other * groups) for other in (0, 1))
    found, _ = one.shuffled(n_shuffles=2_000)
    assert found.max() < 1e-6 < apart.shuffled(n_shuffles=2_000)[0].mean()
    drawn = one.resampled(n_resamples=500, seed=1).mean(), apart.resampled(n_resamples=500, seed=1).mean()
    assert drawn[0] < 0.5 * drawn[1]


def test_clusters_that_agree_vary_by_what_the_pool_has() -> None:
    codes = np.repeat([0, 1], 20)[:, None]
    one = Clustered.of(codes, np.repeat([0, 1], 20), np.repeat(np.arange(10), 4))
    drawn = one.resampled(n_resamples=400, seed=1)
    assert one.freedom == 8
    assert drawn.std() > 0.05
    # Half of five and a half prompts is of both groups: shares 21/22 and 1/22. Few prompts read more.
    assert float(js_divergence([21, 1], [1, 21])) < drawn.mean() < 1.0


def test_attributes_of_a_prompt_stay_together_but_for_what_they_borrow() -> None:
    groups, prompts = np.repeat([0, 1], 40), np.repeat(np.arange(20), 4)
    mixed = np.random.default_rng(2).integers(0, 3, (80, 1)).repeat(2, axis=1)
    agreeing = groups[:, None].repeat(2, axis=1)
    for codes, least, most in ((mixed, 0.7, 0.99), (agreeing, -0.15, 0.15)):
        drawn = Clustered.of(codes, groups, prompts).resampled(n_resamples=600, seed=3)
        assert least < np.corrcoef(drawn.T)[0, 1] < most


def test_a_group_without_a_cluster_is_refused() -> None:
    with pytest.raises(UsageError, match="at least two groups with a cluster are needed"):
        Clustered.of(CODES[:3], [0, 0, 0], [0, 1, 2])
