"""p of divergences: several tests as one, with nothing drawn where counts allow it."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.measure.divergence import chance
from stereotrope.measure.divergence.chance import chance_of
from stereotrope.stats import (
    cauchy_combined,
    greatest_shift,
    js_tail,
    pairwise_js,
    permutation_p,
    shuffled_js,
)

Ints = np.ndarray


def found(codes: Ints, group: Ints, *, n_shuffles: int = 499, seed: int = 0) -> tuple[Ints, Ints]:
    js, null = pairwise_js(codes, group)[0], shuffled_js(codes, group, n_shuffles=n_shuffles, seed=seed)
    return chance_of(codes, group, np.append(js.mean(), js), np.column_stack([null.mean(axis=1), null]))


def drawn(rng: np.random.Generator, *, moved: int, n: int = 20, attributes: int = 8) -> tuple[Ints, Ints]:
    """Two sides of attributes of four values; in the first ``moved`` the shares are turned round."""
    shares = np.array([0.6, 0.2, 0.15, 0.05])
    sides = [rng.choice(4, (n, attributes), p=shares) for _ in range(2)]
    sides[1][:, :moved] = 3 - sides[1][:, :moved]
    return np.concatenate(sides).astype(np.int32), np.repeat([0, 1], n)


def test_an_attribute_of_two_groups_has_both_exact_tests() -> None:
    codes, group = drawn(np.random.default_rng(1), moved=2)
    p, least = found(codes, group)
    first, second = (np.stack([np.bincount(a, minlength=4) for a in codes[group == g].T]) for g in (0, 1))
    both = [js_tail(first, second), greatest_shift(first, second)]
    assert p[1:] == pytest.approx(cauchy_combined(np.stack([one[1] for one in both], axis=1)))
    assert least[1:] == pytest.approx(cauchy_combined(np.stack([one[2] / 2 for one in both], axis=1)))
    assert (least <= p).all()
    again = found(codes, group, n_shuffles=50, seed=9)
    assert again[0][1:].tolist() == p[1:].tolist()


def test_constant_attributes_tell_nothing_and_take_nothing_away() -> None:
    codes, group = drawn(np.random.default_rng(2), moved=1, attributes=1)
    alone = found(codes, group)
    beside = found(np.column_stack([codes, np.zeros((40, 3), np.int32)]), group)
    assert beside[0][2:].tolist() == beside[1][2:].tolist() == [1.0] * 3
    assert alone[0][0] == alone[0][1] == beside[0][1]
    # The shuffles of mean and attribute are the same ones.
    assert beside[0][0] < 3.1 * alone[0][1]


def test_few_attributes_that_differ_are_seen_in_all_and_more_often_than_by_the_mean() -> None:
    rng = np.random.default_rng(3)
    seen = mean = 0
    for seed in range(40):
        codes, group = drawn(rng, moved=1)
        js, null = pairwise_js(codes, group)[0], shuffled_js(codes, group, n_shuffles=499, seed=seed)
        mean += float(permutation_p(js.mean(), null.mean(axis=1))) <= 0.01
        seen += found(codes, group, seed=seed)[0][0] <= 0.01
    assert seen > mean + 8, (seen, mean)


@pytest.mark.parametrize("groups", [2, 3])
def test_nothing_planted_is_called_so_in_one_of_twenty(groups: int) -> None:
    rng = np.random.default_rng(groups)
    small = np.zeros(9)
    group = np.repeat(np.arange(groups), 15)
    n = 150
    for seed in range(n):
        shared = rng.random((len(group), 1)) < 0.5
        codes = np.where(
            shared, rng.choice(3, (len(group), 1)), rng.choice(3, (len(group), 8), p=[0.5, 0.3, 0.2])
        )
        small += found(codes.astype(np.int32), group, seed=seed)[0] <= 0.05
    assert small[0] / n < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    assert small[1:].mean() / n < 0.065


def test_of_three_groups_one_that_is_apart_has_a_p_that_no_shuffle_gives() -> None:
    codes = np.repeat([0, 1, 2], [15, 15, 15])[:, None].astype(np.int32)
    group = np.repeat([0, 1, 2], 15)
    p, least = found(codes, group)
    assert p[1] < 1e-9
    assert least[1] <= p[1]


def test_rows_that_score_as_high_are_counted_with_ties_and_without_what_is_not_known() -> None:
    rng = np.random.default_rng(0)
    scores = np.where(rng.random((200, 3)) < 0.1, np.nan, rng.integers(0, 30, (200, 3)) / 7)
    told = [
        [1.0 if np.isnan(s) else (column[~np.isnan(column)] >= s).mean() for s in column]
        for column in scores.T
    ]
    assert chance._upper(scores) == pytest.approx(np.array(told).T, abs=1e-12)
