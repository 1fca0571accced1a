"""Whether members taken from strata show a value as the others do."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats import stratified_shift_p


def test_one_stratum_is_the_normal_limit_of_fishers_test_by_hand() -> None:
    # 8 of 10 taken, 10 of 20 in all: 3 above what is expected, of variance 10·10·10·10 / (400·19).
    z = (3 - 0.5) / np.sqrt(10_000 / 7_600)
    two_sided = float(stratified_shift_p([[8]], [10], [[10]], [20])[0])
    assert two_sided == pytest.approx(0.0293, abs=5e-4)
    assert z == pytest.approx(2.179, abs=1e-3)


def test_strata_that_were_taken_whole_or_not_at_all_say_nothing() -> None:
    assert stratified_shift_p([[10], [0]], [10, 0], [[10], [0]], [10, 10]).tolist() == [1.0]
    alone = stratified_shift_p([[8]], [10], [[10]], [20])
    beside = stratified_shift_p([[8], [5]], [10, 5], [[10], [5]], [20, 5])
    assert beside.tolist() == alone.tolist()


def test_strata_that_differ_are_no_shift() -> None:
    """All of one stratum show the value and none of the other, of which more were taken."""
    assert stratified_shift_p([[2], [0]], [2, 8], [[10], [0]], [10, 10]).tolist() == [1.0]


def test_its_level_holds_over_many_small_strata() -> None:
    rng = np.random.default_rng(0)
    total, hits = np.full(30, 6), rng.integers(0, 7, (2000, 30))
    taken = rng.hypergeometric(hits, total - hits, 2)
    p = stratified_shift_p(taken.T, np.full(30, 2), hits.T, total)
    assert 0.02 < (p <= 0.05).mean() <= 0.055
