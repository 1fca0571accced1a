from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stereotrope.stats import ICC_GRID, cluster_share_interval, effective_counts, wilson


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_ends_are_quantiles_of_the_beta_binomial_posterior(level: float) -> None:
    k, n = np.array([3, 0, 5, 1, 2]), np.array([6, 5, 7, 5, 6])
    angle = (np.arange(4_000) + 0.5) / 4_000 * np.pi / 2
    share, even = np.sin(angle) ** 2, 0.7 * np.gradient(ICC_GRID) / np.gradient(ICC_GRID).sum()
    density = (even[0] + 0.3) * stats.binom.pmf(k[:, None], n[:, None], share).prod(axis=0)
    for icc, weight in zip(ICC_GRID[1:], even[1:], strict=True):
        a, b = share * (1 / icc - 1), (1 - share) * (1 / icc - 1)
        density += weight * stats.betabinom.pmf(k[:, None], n[:, None], a, b).prod(axis=0)
    below = np.cumsum(density) / density.sum()
    expected = np.interp([(1 - level) / 2, (1 + level) / 2], below, share)
    assert cluster_share_interval(k, n, level=level) == pytest.approx(expected, abs=0.002)


def test_failures_have_the_mirrored_interval_and_order_does_not_count() -> None:
    k, n = np.array([3, 0, 5, 1]), np.array([5, 6, 7, 5])
    low, high = cluster_share_interval(k, n)
    assert cluster_share_interval((n - k)[::-1], n[::-1]) == pytest.approx((1 - high, 1 - low))
    assert cluster_share_interval([*k, 0], [*n, 0]) == (low, high)


def test_clusters_that_do_not_vary_have_an_end_at_the_value() -> None:
    low, high = cluster_share_interval([0] * 10, [20] * 10)
    assert low == 0.0
    assert 0.05 < high < 0.18
    assert cluster_share_interval([20] * 10, [20] * 10) == pytest.approx((1 - high, 1.0))


@pytest.mark.parametrize(
    ("k", "n"), [([1, 0, 1], [1, 1, 1]), ([7, 0], [20, 0]), ([1, 2, 3, 4, 0], [1, 4, 30, 5, 2])]
)
def test_single_members_one_cluster_and_unlike_sizes_have_wilsons(k: list[int], n: list[int]) -> None:
    assert cluster_share_interval(k, n) == pytest.approx(tuple(map(float, wilson(*effective_counts(k, n)))))


def test_without_a_trial_it_is_undefined() -> None:
    assert np.isnan(cluster_share_interval([0, 0], [0, 0])).all()


def test_many_members_are_counted_in_full_where_clusters_read_alike() -> None:
    low, high = cluster_share_interval(np.full(40, 5_000), np.full(40, 10_000))
    assert 0.0031 <= high - low < 0.0033


def test_what_others_say_of_the_correlation_counts() -> None:
    k, n = [3, 4, 5, 4], [10] * 4
    narrow, wide = (cluster_share_interval(k, n, told=-200.0 * np.abs(ICC_GRID - icc)) for icc in (0.0, 0.48))
    assert narrow == pytest.approx(stats.beta.ppf([0.025, 0.975], 16.5, 24.5), abs=0.003)
    assert wide[1] - wide[0] > 1.8 * (narrow[1] - narrow[0])


def simulated(m: int, icc: float, n: int, repeats: int) -> tuple[float, float]:
    """How often it covers, and its width over that of Wilson's interval where the correlation is known."""
    rng, held, widths = np.random.default_rng([m, n]), [], []
    for share in (0.1, 0.3, 0.5):
        of = (1 - icc) / icc if icc else 1e9
        k = rng.binomial(n, rng.beta(share * of, (1 - share) * of, size=(repeats, m)))
        low, high = np.transpose([cluster_share_interval(one, [n] * m) for one in k])
        known = np.full(repeats, m * n / (1 + icc * (n - 1)))
        best = np.subtract(*wilson(k.sum(axis=1) / (m * n) * known, known)[::-1])
        held.append((low <= share) & (share <= high))
        widths.append(float(np.mean(high - low) / np.mean(best)))
    return float(np.mean(held)), float(np.mean(widths))


@pytest.mark.parametrize(
    ("m", "icc", "width"), [(4, 0.0, 1.55), (5, 0.1, 1.3), (6, 0.3, 1.1), (10, 0.0, 1.25)]
)
def test_clusters_that_stand_alone_are_held_and_not_much_too_often(m: int, icc: float, width: float) -> None:
    covered, times = simulated(m, icc, 10, 100)
    assert 0.92 < covered < 0.995
    assert times < width


@pytest.mark.slow
@pytest.mark.parametrize("m", [4, 5, 6, 8, 10, 20])
@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
def test_clusters_that_stand_alone_are_held_in_many_cases(m: int, icc: float) -> None:
    for n in (5, 20):
        covered, _ = simulated(m, icc, n, 1_000)
        assert 0.935 < covered < 0.985, n


@pytest.mark.parametrize("k", [0, 1, 7, 30])
def test_clusters_of_one_member_have_wilsons_interval(k):
    successes, trials = np.arange(40) < k, np.arange(40) < 30
    found = cluster_share_interval(successes * trials, trials, level=0.9)
    assert found == tuple(
        float(end) for end in wilson(*effective_counts(successes * trials, trials), level=0.9)
    )
