"""Scores of sums that are resampled together are those that are resampled one by one."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats import Across, Resample, ScoreOfSums


def gaps(sums):
    """Shares of all but the last group less that of the last; none where no image is of any."""
    total = sums.sum(axis=0)
    p = np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)
    return p[:-1] - p[-1]


def plain_interval(resample: Resample, of: ScoreOfSums, level: float) -> tuple[float, float]:
    drawn, truth = resample.replicates(of)
    known = np.sort(drawn[~np.isnan(drawn)])
    if len(known) < 2 or np.ptp(known) < 1e-12 or np.isnan(truth):
        return np.nan, np.nan
    ends = np.array([0.5 - level / 2, 0.5 + level / 2]) * (len(known) - 1)
    low, high = np.interp(ends, np.arange(len(known)), known).tolist()
    low, high = min(low, of.value), max(high, of.value)
    more = resample.across.reach(of.moved, level=level) - 1 if resample.across else 0.0
    return low - more * (of.value - low), high + more * (high - of.value)


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("seeds", [False, True])
@pytest.mark.parametrize("made_up", [False, True])
@pytest.mark.parametrize("groups", ["all", "one", "none"])
@pytest.mark.parametrize("n_resamples", [0, 1, 2, 300])
def test_intervals_of_several_scores_are_those_of_each(n, seeds, made_up, groups, n_resamples):
    rng = np.random.default_rng(n)
    of_image = rng.integers(-1, 3, n) if groups == "all" else np.full(n, 1 if groups == "one" else -1)
    features = np.array([of_image == g for g in range(3)], np.float64)
    units = np.arange(n) // 2
    across = Across(units, rng.integers(0, 5, n)) if seeds and n == 40 else None
    resample = Resample(units, n_resamples, 3, 1, across)
    pseudo = np.eye(3) if made_up else np.zeros((3, 0))
    several = ScoreOfSums(features, gaps, pseudo)
    single = [ScoreOfSums(features, lambda sums, at=at: gaps(sums)[at], pseudo) for at in range(2)]
    found = resample.percentiles(several, level=0.9)
    expected = [plain_interval(resample, one, 0.9) if n_resamples else (np.nan, np.nan) for one in single]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(several.values, [one.value for one in single])
    np.testing.assert_array_equal([resample.interval(one, level=0.9) for one in single], found)
