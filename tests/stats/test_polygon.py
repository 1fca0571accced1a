"""Areas of radar polygons against geometry, and their means against every order of the axes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import (
    any_order_weights,
    axis_orders,
    pairwise_interval,
    pairwise_score,
    radar_weights,
)


def shoelace(scores: np.ndarray) -> float:
    """Area of the polygon drawn on equally spaced axes, from its corners."""
    angles = 2 * np.pi * np.arange(len(scores)) / len(scores)
    x, y = scores * np.cos(angles), scores * np.sin(angles)
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


@pytest.mark.parametrize("m", range(3, 9))
def test_the_area_is_that_of_the_drawn_polygon_as_a_share_of_the_greatest(m: int) -> None:
    scores = np.random.default_rng(m).random((4, m))
    expected = [shoelace(one) / shoelace(np.ones(m)) for one in scores]
    assert pairwise_score(radar_weights(m), scores) == pytest.approx(expected)


@pytest.mark.parametrize("m", range(3, 8))
def test_the_mean_over_all_orders_is_that_of_every_permutation(m: int) -> None:
    scores = np.random.default_rng(m).random(m)
    areas = [shoelace(scores[list(order)]) / shoelace(np.ones(m)) for order in permutations(range(m))]
    assert float(pairwise_score(any_order_weights(m), scores)) == pytest.approx(np.mean(areas))


@pytest.mark.parametrize(("m", "n"), [(3, 1), (4, 3), (5, 12), (8, 2_520), (9, 5_000)])
def test_orders_stand_once_each_or_are_drawn(m: int, n: int) -> None:
    orders = axis_orders(m)
    assert orders.shape == (n, m)
    assert (np.sort(orders, axis=1) == np.arange(m)).all()
    if m <= 8:
        turned = {min(tuple(order), (order[0], *order[:0:-1])) for order in orders.tolist()}
        assert len(turned) == n
    else:
        assert (axis_orders(m) == orders).all()
        assert (axis_orders(m, seed=1) != orders).any()


def test_a_polygon_needs_three_axes() -> None:
    for make in (radar_weights, any_order_weights, axis_orders):
        with pytest.raises(UsageError, match="at least 3 axes, found 2"):
            make(2)


def test_the_interval_is_as_wide_as_normal_scores_spread() -> None:
    rng = np.random.default_rng(0)
    middle, spread = np.array([0.3, 0.0, 0.7, 0.4, 0.1]), np.array([0.1, 0.2, 0.05, 0.15, 0.1])
    drawn = rng.normal(middle, spread, (200_000, 5))
    for linear, weights in (
        (np.full(5, 0.2), np.zeros((5, 5))),
        (np.zeros(5), radar_weights(5)),
        (np.zeros(5), any_order_weights(5)),
    ):
        low, high = pairwise_interval(linear, weights, middle - spread, middle + spread)
        scores = drawn @ linear + pairwise_score(weights, drawn)
        assert (low + high) / 2 == pytest.approx(scores.mean(), abs=2e-3)
        assert (high - low) / 2 == pytest.approx(scores.std(), rel=0.02)


def test_biases_of_scores_add_up_and_chance_errors_cancel() -> None:
    mean, none, z = np.full(4, 0.25), np.zeros((4, 4)), 1.959964
    bias, spread = 0.04, 0.05
    middle, half = 0.5 - bias / 2, z * np.hypot(bias, spread)
    ends = np.full(4, middle - half), np.full(4, middle + half)
    low, high = pairwise_interval(mean, none, *ends, scores=np.full(4, 0.5))
    assert (low + high) / 2 == pytest.approx(middle)
    assert (high - low) / 2 == pytest.approx(z * np.hypot(bias, spread / 2), rel=1e-6)


def test_scores_whose_intervals_reach_a_limit_stand_there_for_that_end() -> None:
    mean, none = np.full(3, 1 / 3), np.zeros((3, 3))
    low, high = pairwise_interval(mean, none, [0.0] * 3, [0.2] * 3, scores=[0.15] * 3, limits=(0.0, 1.0))
    assert low == 0.0
    assert high == pytest.approx(0.1 + 0.1 / np.sqrt(3))
    low, high = pairwise_interval(mean, none, [0.8] * 3, [1.0] * 3, scores=[0.95] * 3, limits=(0.0, 1.0))
    assert low == pytest.approx(0.9 - 0.1 / np.sqrt(3))
    assert high == 1.0


def test_an_interval_without_an_end_is_none() -> None:
    low, high = pairwise_interval(np.full(3, 1 / 3), np.zeros((3, 3)), [0.1, np.nan, 0.2], [0.3, 0.4, 0.5])
    assert np.isnan(low)
    assert np.isnan(high)
