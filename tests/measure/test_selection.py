from __future__ import annotations

import numpy as np
import pytest

from stereotrope.measure.selection import at_level, chosen_level, standing_out
from stereotrope.stats import wilson


def test_the_error_is_shared_among_what_is_told() -> None:
    assert chosen_level(0.95, 1, 1) == pytest.approx(0.95)
    assert chosen_level(0.95, 3, 200) == pytest.approx(1 - 0.05 * 3 / 200)
    assert chosen_level(0.95, 0, 200) == pytest.approx(1 - 0.05 / 200)
    assert chosen_level(0.95, 5, 0) == pytest.approx(0.95)


def test_as_many_stand_out_as_can_together() -> None:
    value = np.full(6, 0.9)
    n = np.array([10, 40, 80, 200, 1000, 4000])
    low = wilson(value * n, n)[0]
    stay, level = standing_out(value, low, 0.8, level=0.95)
    assert level == pytest.approx(chosen_level(0.95, int(stay.sum()), 6))
    more = wilson(value * n, n, level=chosen_level(0.95, int(stay.sum()) + 1, 6))[0] > 0.8
    assert (wilson(value * n, n, level=level)[0] > 0.8).tolist() == stay.tolist()
    assert more.sum() < stay.sum() + 1


def test_scores_below_an_edge_and_without_an_interval() -> None:
    value, high, floor = [0.1, 0.1, 0.1, 0.1], [0.15, 0.29, np.nan, 0.35], [0.3, 0.3, 0.3, 0.3]
    stay, level = standing_out(value, high, floor, level=0.95, below=True)
    assert stay.tolist() == [True, False, False, False]
    assert level == pytest.approx(1 - 0.05 / 3)


def test_nothing_stands_out_of_nothing() -> None:
    stay, level = standing_out([], [], 0.5, level=0.95)
    assert stay.tolist() == []
    assert level == pytest.approx(0.95)


def test_a_score_without_an_end_stays_without() -> None:
    assert at_level((0.4, None, 0.6), 0.95, 0.99)[1] is None


def test_what_is_told_of_many_true_rates_at_the_edge_is_held() -> None:
    """200 rates, most exactly at the edge: of the intervals told at most one in twenty misses."""
    rng = np.random.default_rng(5)
    rates = np.full(200, 0.8)
    rates[:20] = 0.97
    missed, plainly = [], []
    for _ in range(300):
        n = 100
        k = rng.binomial(n, rates)
        for told, wrong in ((True, missed), (False, plainly)):
            low = wilson(k, n)[0]
            stay, level = standing_out(k / n, low, 0.8, level=0.95) if told else (low > 0.8, 0.95)
            low, high = wilson(k, n, level=level)
            misses = stay & ((rates < low) | (rates > high))
            wrong.append(misses.sum() / max(1, stay.sum()))
    assert np.mean(missed) < 0.05
    assert np.mean(plainly) > 0.1
