"""Intervals of weighted sums of numbers that have intervals of their own."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats import linear_interval, newcombe, wilson


def test_of_a_difference_of_two_shares_it_is_newcombe_s() -> None:
    low, high = wilson([8, 3], [20, 30])
    found = linear_interval([0.4, 0.1], low, high, [1, -1])
    assert [float(end) for end in found] == pytest.approx([float(end) for end in newcombe(8, 20, 3, 30)])


def test_signs_of_weights_turn_intervals_round() -> None:
    # By hand: below, half of 0.1 of the first and half of 0.3, the upper reach, of the second.
    low, high = linear_interval([0.5, 0.2], [0.4, 0.1], [0.7, 0.5], [0.5, -0.5])
    assert float(low) == pytest.approx(0.15 - np.hypot(0.05, 0.15))
    assert float(high) == pytest.approx(0.15 + np.hypot(0.1, 0.05))


def test_ends_at_the_end_of_a_scale_are_added_in_full() -> None:
    values, lows, highs = [0.2, 0.4, 0.9], [0.1, 0.3, 0.8], [0.3, 0.6, 1.0]
    low, high = linear_interval(values, lows, highs, 1 / 3, floors=[0.1, 0.0, 0.0], tops=1.0)
    assert float(low) == pytest.approx(0.5 - (0.1 + np.hypot(0.1, 0.1)) / 3)
    assert float(high) == pytest.approx(0.5 + (0.1 + np.hypot(0.1, 0.2)) / 3)


def test_each_row_is_of_its_own_and_none_without_an_interval() -> None:
    low, high = linear_interval([[0.5, 0.2], [0.5, np.nan]], 0.1, 0.6, [0.5, 0.5])
    assert low.shape == high.shape == (2,)
    assert np.isfinite(low).tolist() == np.isfinite(high).tolist() == [True, False]
