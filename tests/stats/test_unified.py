"""Unified intervals hold a length as often as they say, one-sided where nothing may be there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import norm, t

from stereotrope.stats import scatter_likeness, unified_interval


@pytest.mark.parametrize(("dimensions", "freedom"), [(1, np.inf), (1, 8), (3, 20), (8, 6)])
@pytest.mark.parametrize("length", [0.0, 0.7, 1.5, 3.0, 7.0])
def test_a_length_is_held_in_95_of_100(dimensions: int, freedom: float, length: float) -> None:
    rng, n = np.random.default_rng(1), 8_000
    vector = rng.normal(size=(n, dimensions))
    if np.isfinite(freedom):
        vector /= np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
    vector[:, 0] += length
    low, high = unified_interval(np.linalg.norm(vector, axis=1), dimensions, freedom)
    assert np.mean((low <= length) & (length <= high)) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize(("dimensions", "freedom"), [(1, 8), (3, 20), (8, 6)])
def test_it_begins_at_nothing_just_where_the_f_test_does_not_reject(dimensions: int, freedom: int) -> None:
    edge = np.sqrt(dimensions * f_distribution.ppf(0.95, dimensions, freedom))
    low, _ = unified_interval([0.98 * edge, 1.03 * edge], dimensions, freedom)
    assert low[0] == pytest.approx(0, abs=1e-6)
    assert low[1] > 0.01


def test_far_away_it_is_students_and_the_normal_one() -> None:
    for freedom, reach in ((10, t.ppf(0.975, 10)), (np.inf, norm.ppf(0.975))):
        low, high = unified_interval(30.0, 1, freedom)
        assert (30 - float(low), float(high) - 30) == pytest.approx((reach, reach), rel=0.03)


def test_what_is_seen_further_away_is_further_away() -> None:
    low, high = unified_interval(np.linspace(0, 25, 300), 4, 12)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert (low < high).all()


def test_deviations_are_as_alike_from_either_side() -> None:
    deviations = np.random.default_rng(1).normal(size=(3, 8))
    values = np.linalg.eigvalsh(deviations @ deviations.T)
    for of in (deviations, deviations.T):
        assert scatter_likeness(of) == pytest.approx((values**2).sum() / values.sum() ** 2)
    assert scatter_likeness(np.zeros((3, 8))) == 0
